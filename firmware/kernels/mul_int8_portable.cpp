// What ExecuTorch computes for dequantize_per_tensor -> mul -> quantize_per_tensor, fused, bit for
// bit: float32 at every step (compile with -ffp-contract=off), scales rounded to float32, the
// quantizer multiplying by the float32 inverse and rounding half to even.
#include <algorithm>
#include <cmath>

#include "mul_int8.h"

namespace bench {
namespace {

// Clamps before the conversion to int, which is undefined for large values and NaN. For NaN, which
// only scales outside the float32 guard can make, both comparisons fail and the minimum is taken.
int8_t to_int8(float value, int32_t minimum, int32_t maximum) {
  const auto low = static_cast<float>(minimum);
  const auto high = static_cast<float>(maximum);
  return static_cast<int8_t>(value > low ? std::min(value, high) : low);
}

}  // namespace

PathCount mul_int8_portable(const int8_t* x, const int8_t* y, int8_t* out, size_t n,
                            const MulInt8Params& params) {
  const auto scale1 = static_cast<float>(params.scale1);
  const auto scale2 = static_cast<float>(params.scale2);
  const float inverse = 1.0F / static_cast<float>(params.scale_out);
  const auto zero_point = static_cast<float>(params.zero_point_out);
  for (size_t i = 0; i < n; ++i) {
    const float a = static_cast<float>(x[i] - params.zero_point1) * scale1;
    const float b = static_cast<float>(y[i] - params.zero_point2) * scale2;
    const float product = a * b;
    out[i] = to_int8(zero_point + std::nearbyint(inverse * product), params.activation_min,
                     params.activation_max);
  }
  return {0, static_cast<uint32_t>(n)};
}

}  // namespace bench
