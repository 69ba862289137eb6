// The fast form of the native kernel, where the machine has one.
#pragma once

#include <cstddef>
#include <cstdint>

#include "mul_int8.h"

namespace bench {

// Computes a number of elements from the front and returns how many: 0 where there is no fast form
// for this machine. The caller computes the rest.
size_t mul_int8_vector(const int8_t* x, const int8_t* y, int8_t* out, size_t n,
                       const MulInt8Params& params);

}  // namespace bench
