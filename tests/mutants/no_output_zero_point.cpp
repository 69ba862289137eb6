// Wrong on purpose: the output zero point is not added.
#include "mul_int8.h"
#include "requantize.h"

namespace bench {

PathCount mul_int8_native(const int8_t* x, const int8_t* y, int8_t* out, size_t n,
                          const MulInt8Params& params) {
  MulInt8Params without = params;
  without.zero_point_out = 0;
  const Requantizer requantize(without);
  for (size_t i = 0; i < n; ++i) {
    out[i] = requantize((x[i] - params.zero_point1) * (y[i] - params.zero_point2));
  }
  return {0, static_cast<uint32_t>(n)};
}

}  // namespace bench
