// The multiply by way of ESP-NN, for ports that are linked with it.
#pragma once

#include "mul_int8.h"

namespace bench {

// ESP-NN's vector code where that is exact, its C code for the rest.
PathCount mul_int8_espnn(const int8_t* x, const int8_t* y, int8_t* out, size_t n,
                         const MulInt8Params& params);

// ESP-NN as a program calls it, with whatever it does to tails and unaligned pointers.
PathCount mul_int8_espnn_raw(const int8_t* x, const int8_t* y, int8_t* out, size_t n,
                             const MulInt8Params& params);

// ESP-NN's reference in C.
PathCount mul_int8_ansi(const int8_t* x, const int8_t* y, int8_t* out, size_t n,
                        const MulInt8Params& params);

}  // namespace bench
