// Wrong on purpose: divides by the power of two without rounding.
#include "mul_int8.h"

#include <algorithm>

namespace bench {

PathCount mul_int8_native(const int8_t* x, const int8_t* y, int8_t* out, size_t n,
                          const MulInt8Params& params) {
  const int64_t scale = int64_t{params.multiplier} << std::clamp(params.shift, 0, 9);
  const int right_shift = std::max(-params.shift, 0);
  for (size_t i = 0; i < n; ++i) {
    const int64_t p = (x[i] - params.zero_point1) * (y[i] - params.zero_point2);
    const int64_t v = (p * scale) >> (31 + right_shift);
    out[i] = static_cast<int8_t>(std::clamp<int64_t>(
        v + params.zero_point_out, params.activation_min, params.activation_max));
  }
  return {0, static_cast<uint32_t>(n)};
}

}  // namespace bench
