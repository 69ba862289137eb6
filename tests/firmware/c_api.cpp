// The kernels for ctypes.
#include <cstddef>
#include <cstdint>

#include "mul_int8.h"

extern "C" {

void native(const int8_t* x, const int8_t* y, int8_t* out, size_t n,
            const bench::MulInt8Params* params, bench::PathCount* paths) {
  *paths = bench::mul_int8_native(x, y, out, n, *params);
}

void portable(const int8_t* x, const int8_t* y, int8_t* out, size_t n,
              const bench::MulInt8Params* params, bench::PathCount* paths) {
  *paths = bench::mul_int8_portable(x, y, out, n, *params);
}

bool params_valid(const bench::MulInt8Params* params) {
  return bench::mul_int8_params_valid(*params);
}

}  // extern "C"
