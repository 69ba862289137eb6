// Wrong on purpose: the last size % 8 elements are one too high, where that fits the range.
#include "mul_int8.h"
#include "requantize.h"

namespace bench {

PathCount mul_int8_native(const int8_t* x, const int8_t* y, int8_t* out, size_t n,
                          const MulInt8Params& params) {
  const Requantizer requantize(params);
  for (size_t i = 0; i < n; ++i) {
    out[i] = requantize((x[i] - params.zero_point1) * (y[i] - params.zero_point2));
    if (i >= n - n % 8 && out[i] < params.activation_max) {
      ++out[i];
    }
  }
  return {0, static_cast<uint32_t>(n)};
}

}  // namespace bench
