// The integer types of the chip's C library, where int32_t is a long, in front of the host's own
// header, so that code which takes int32_t for an int does not compile. For -m32.
#pragma once

// The host's C library must not define the same names otherwise.
#define _STDINT_H 1
#define _BITS_STDINT_INTN_H 1
#define _BITS_STDINT_UINTN_H 1
#define _BITS_STDINT_LEAST_H 1

#undef __INT32_TYPE__
#undef __UINT32_TYPE__
#undef __INT_LEAST32_TYPE__
#undef __UINT_LEAST32_TYPE__
#define __INT32_TYPE__ long int
#define __UINT32_TYPE__ long unsigned int
#define __INT_LEAST32_TYPE__ long int
#define __UINT_LEAST32_TYPE__ long unsigned int
#undef __INT32_MAX__
#undef __UINT32_MAX__
#define __INT32_MAX__ 2147483647L
#define __UINT32_MAX__ 4294967295UL

#include <stdint-gcc.h>
