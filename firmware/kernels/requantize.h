// The integer contract for one product, in its plain two-step form.
#pragma once

#include <algorithm>
#include <cstdint>

#include "mul_int8.h"

namespace bench {

// Requantizes p = (x - z1) * (y - z2), |p| <= 65,025, to int8:
//   v = floor((p * 2^max(shift, 0) * multiplier + 2^30) / 2^31)   high half, ties towards +inf
//   v / 2^max(-shift, 0), rounded half away from zero
//   + output zero point, clamped to the activation range.
class Requantizer {
 public:
  explicit Requantizer(const MulInt8Params& params)
      // A shift above 9 moves every p != 0 at least as far out of the int8 range as 9 does
      // (p * multiplier / 2^31 is 1/2 or more), so 9 gives the same int8 and keeps 64 bits enough.
      : scale_(int64_t{params.multiplier} << std::clamp<int32_t>(params.shift, 0, 9)),
        right_shift_(std::max<int32_t>(-params.shift, 0)),
        half_(right_shift_ > 0 ? int64_t{1} << (right_shift_ - 1) : 0),
        zero_point_(params.zero_point_out),
        min_(params.activation_min),
        max_(params.activation_max) {}

  int8_t operator()(int32_t p) const {
    int64_t v = (p * scale_ + (int64_t{1} << 30)) >> 31;
    if (right_shift_ > 0) {
      v = (v + half_ - (v < 0 ? 1 : 0)) >> right_shift_;
    }
    return static_cast<int8_t>(std::clamp(v + zero_point_, min_, max_));
  }

 private:
  int64_t scale_;
  int32_t right_shift_;
  int64_t half_;
  int64_t zero_point_;
  int64_t min_;
  int64_t max_;
};

}  // namespace bench
