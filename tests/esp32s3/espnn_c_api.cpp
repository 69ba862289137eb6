// The variants of a board with ESP-NN, for Python, by name.
#include <cstring>

#include "mul_int8.h"

extern "C" bool run(const char* name, const int8_t* x, const int8_t* y, int8_t* out, size_t n,
                    const bench::MulInt8Params* params, bench::PathCount* paths) {
  size_t count = 0;
  const bench::MulInt8Variant* variants = bench::mul_int8_variants(&count);
  for (size_t i = 0; i < count; ++i) {
    if (strcmp(variants[i].name, name) == 0) {
      *paths = variants[i].run(x, y, out, n, *params);
      return true;
    }
  }
  return false;
}
