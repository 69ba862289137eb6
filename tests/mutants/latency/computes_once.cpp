// Wrong on purpose: computes in the first call on an output and not again while nothing changes.
#include "mul_int8.h"

#define mul_int8_native mul_int8_whole
#include "mul_int8_native.cpp"
#undef mul_int8_native

namespace bench {

PathCount mul_int8_native(const int8_t* x, const int8_t* y, int8_t* out, size_t n,
                          const MulInt8Params& params) {
  static const int8_t* done = nullptr;
  static size_t elements = 0;
  if (out == done && n == elements) {
    return {0, static_cast<uint32_t>(n)};
  }
  done = out;
  elements = n;
  return mul_int8_whole(x, y, out, n, params);
}

}  // namespace bench
