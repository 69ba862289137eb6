// Wrong on purpose: the portable float32 code stands where the native kernel should.
#include "mul_int8.h"

namespace bench {

PathCount mul_int8_native(const int8_t* x, const int8_t* y, int8_t* out, size_t n,
                          const MulInt8Params& params) {
  return mul_int8_portable(x, y, out, n, params);
}

}  // namespace bench
