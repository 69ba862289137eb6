// The int8 elementwise multiply: out = requantize((x - zero_point1) * (y - zero_point2)).
#pragma once

#include <cstddef>
#include <cstdint>

namespace bench {

// Zero points are plain (not negated). `multiplier` is Q31: 0, or in [2^30, 2^31 - 1]; a positive
// `shift` shifts left, so the rescale factor is multiplier * 2^(shift - 31). The scales are read
// by the portable variant only.
struct MulInt8Params {
  int32_t zero_point1;
  int32_t zero_point2;
  int32_t zero_point_out;
  int32_t multiplier;
  int32_t shift;
  int32_t activation_min;
  int32_t activation_max;
  double scale1;
  double scale2;
  double scale_out;
};

// Which path of a kernel computed how many elements.
struct PathCount {
  uint32_t vector_elements;
  uint32_t scalar_elements;
};

// A kernel reads n elements of x and y and writes n of out, at any alignment; n may be 0, and out
// may be x or y itself (other overlaps are not allowed).
using MulInt8Kernel = PathCount (*)(const int8_t* x, const int8_t* y, int8_t* out, size_t n,
                                    const MulInt8Params& params);

struct MulInt8Variant {
  const char* name;
  MulInt8Kernel run;
};

// The integer contract: SRDHM, rounding divide half away from zero, zero point, clamp.
PathCount mul_int8_native(const int8_t* x, const int8_t* y, int8_t* out, size_t n,
                          const MulInt8Params& params);

// What ExecuTorch computes without an int8 kernel: dequantize, float32 multiply, quantize.
PathCount mul_int8_portable(const int8_t* x, const int8_t* y, int8_t* out, size_t n,
                            const MulInt8Params& params);

// The variants a port offers; the first is the one the operator runs.
const MulInt8Variant* mul_int8_variants(size_t* count);

// Whether the integers are in the range that every variant accepts.
inline bool mul_int8_params_valid(const MulInt8Params& params) {
  const auto is_int8 = [](int32_t value) { return value >= -128 && value <= 127; };
  return is_int8(params.zero_point1) && is_int8(params.zero_point2) &&
         is_int8(params.zero_point_out) && is_int8(params.activation_min) &&
         is_int8(params.activation_max) && params.activation_min <= params.activation_max &&
         (params.multiplier == 0 || params.multiplier >= (int32_t{1} << 30)) &&
         params.shift >= -31 && params.shift <= 30;
}

}  // namespace bench
