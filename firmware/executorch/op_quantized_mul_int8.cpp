// esp_nn::quantized_mul_int8.out: the operator library's multiply, on the port's native kernel.
#include <executorch/extension/kernel_util/make_boxed_from_unboxed_functor.h>
#include <executorch/runtime/kernel/kernel_includes.h>

#include <cstdint>

#include "native_mul_int8.h"

namespace bench {
namespace {

using executorch::aten::ScalarType;
using executorch::aten::Tensor;
using executorch::runtime::KernelRuntimeContext;

// Whether two tensors of one shape have their elements in one order. The stride of a dimension of
// size 1 says nothing about that, though a dim order follows from it.
bool have_same_layout(const Tensor& a, const Tensor& b) {
  if (a.sizes() != b.sizes()) {
    return false;
  }
  for (ssize_t i = 0; i < a.dim(); ++i) {
    if (a.size(i) != 1 && a.strides()[i] != b.strides()[i]) {
      return false;
    }
  }
  return true;
}

bool fits_int32(int64_t value) { return value >= INT32_MIN && value <= INT32_MAX; }

// Plain zero points; the rescale factor is output_multiplier * 2^(output_shift - 31).
Tensor& quantized_mul_int8_out(KernelRuntimeContext& context, const Tensor& self,
                               int64_t self_zero_point, const Tensor& other,
                               int64_t other_zero_point, int64_t output_zero_point,
                               int64_t output_multiplier, int64_t output_shift, Tensor& out) {
  ET_KERNEL_CHECK_MSG(context,
                      self.scalar_type() == ScalarType::Char &&
                          other.scalar_type() == ScalarType::Char &&
                          out.scalar_type() == ScalarType::Char,
                      InvalidArgument, out, "quantized_mul_int8 takes int8 tensors only");
  ET_KERNEL_CHECK_MSG(context,
                      have_same_layout(self, other) && have_same_layout(self, out),
                      InvalidArgument, out,
                      "quantized_mul_int8 takes tensors of one shape and memory layout only");
  ET_KERNEL_CHECK_MSG(context,
                      fits_int32(self_zero_point) && fits_int32(other_zero_point) &&
                          fits_int32(output_zero_point) && fits_int32(output_multiplier) &&
                          fits_int32(output_shift),
                      InvalidArgument, out, "quantized_mul_int8 parameters do not fit 32 bits");
  MulInt8Params params{};
  params.zero_point1 = static_cast<int32_t>(self_zero_point);
  params.zero_point2 = static_cast<int32_t>(other_zero_point);
  params.zero_point_out = static_cast<int32_t>(output_zero_point);
  params.multiplier = static_cast<int32_t>(output_multiplier);
  params.shift = static_cast<int32_t>(output_shift);
  params.activation_min = INT8_MIN;
  params.activation_max = INT8_MAX;
  ET_KERNEL_CHECK_MSG(context, mul_int8_params_valid(params), InvalidArgument, out,
                      "quantized_mul_int8 parameters are out of range");
  run_native_mul_int8(self.const_data_ptr<int8_t>(), other.const_data_ptr<int8_t>(),
                      out.mutable_data_ptr<int8_t>(), static_cast<size_t>(out.numel()), params);
  ++operator_counters().native_calls;
  return out;
}

EXECUTORCH_LIBRARY(esp_nn, "quantized_mul_int8.out", quantized_mul_int8_out);

}  // namespace
}  // namespace bench
