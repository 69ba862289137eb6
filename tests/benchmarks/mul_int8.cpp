// Times the native kernel against ExecuTorch's own operators for the same multiply, side by side
// in one run. Prints one JSON object.
#include <executorch/runtime/core/evalue.h>
#include <executorch/runtime/core/exec_aten/exec_aten.h>
#include <executorch/runtime/kernel/kernel_runtime_context.h>
#include <executorch/runtime/kernel/operator_registry.h>
#include <executorch/runtime/platform/runtime.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

#include "mul_int8.h"

namespace {

using executorch::aten::ScalarType;
using executorch::aten::Tensor;
using executorch::aten::TensorImpl;
using executorch::runtime::Error;
using executorch::runtime::EValue;
using executorch::runtime::KernelRuntimeContext;
using executorch::runtime::OpFunction;
using executorch::runtime::Span;
using executorch::runtime::TensorMeta;

constexpr int kRounds = 201;
// What calibration gives, with the multiplier and shift of scale1 * scale2 / scale_out.
constexpr bench::MulInt8Params kParams = {-3,   11,  -7,     1465959905, -6,
                                          -128, 127, 0.0235, 0.0187,     0.0412};

OpFunction find(const char* name, std::initializer_list<ScalarType> types) {
  static uint8_t order[] = {0};
  std::vector<TensorMeta> key;
  for (const ScalarType type : types) {
    key.emplace_back(type, Span<uint8_t>(order, 1));
  }
  const auto found =
      executorch::runtime::get_op_function_from_registry(name, {key.data(), key.size()});
  if (!found.ok()) {
    std::fprintf(stderr, "no operator %s\n", name);
    std::exit(1);
  }
  return *found;
}

// A tensor of one dimension over its own memory.
template <typename T>
class Array {
 public:
  Array(ScalarType type, size_t n)
      : data(n), size_(static_cast<int32_t>(n)), impl_(type, 1, &size_, data.data(), &order_,
                                                       &stride_) {}
  EValue value() { return EValue(Tensor(&impl_)); }

  std::vector<T> data;

 private:
  int32_t size_;
  uint8_t order_ = 0;
  int32_t stride_ = 1;
  TensorImpl impl_;
};

class Call {
 public:
  Call(OpFunction function, std::vector<EValue> arguments)
      : function_(function), arguments_(std::move(arguments)) {
    for (EValue& argument : arguments_) {
      stack_.push_back(&argument);
    }
  }
  void run() {
    KernelRuntimeContext context;
    function_(context, {stack_.data(), stack_.size()});
    if (context.failure_state() != Error::Ok) {
      std::fprintf(stderr, "an operator failed\n");
      std::exit(1);
    }
  }

 private:
  OpFunction function_;
  std::vector<EValue> arguments_;
  std::vector<EValue*> stack_;
};

// Seconds of one call; short calls are repeated so that the clock's own time does not count.
template <typename F>
double time(size_t n, F call) {
  const int repeats = n < 4096 ? 64 : 1;
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < repeats; ++i) {
    call();
  }
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
  return taken.count() / repeats;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

void measure(size_t n, bool last) {
  Array<int8_t> x(ScalarType::Char, n);
  Array<int8_t> y(ScalarType::Char, n);
  Array<int8_t> native_out(ScalarType::Char, n);
  Array<int8_t> portable_out(ScalarType::Char, n);
  Array<float> a(ScalarType::Float, n);
  Array<float> b(ScalarType::Float, n);
  Array<float> product(ScalarType::Float, n);
  std::mt19937 random(1);
  for (size_t i = 0; i < n; ++i) {
    x.data[i] = static_cast<int8_t>(random() & 0xff);
    y.data[i] = static_cast<int8_t>(random() & 0xff);
  }

  const EValue low(int64_t{-128});
  const EValue high(int64_t{127});
  const EValue int8(static_cast<int64_t>(ScalarType::Char));
  const OpFunction dequantize = find("quantized_decomposed::dequantize_per_tensor.out",
                                     {ScalarType::Char, ScalarType::Float, ScalarType::Float});
  Call calls[] = {
      Call(dequantize, {x.value(), EValue(kParams.scale1), EValue(int64_t{kParams.zero_point1}),
                        low, high, int8, EValue(), a.value(), a.value()}),
      Call(dequantize, {y.value(), EValue(kParams.scale2), EValue(int64_t{kParams.zero_point2}),
                        low, high, int8, EValue(), b.value(), b.value()}),
      Call(find("aten::mul.out", {ScalarType::Float, ScalarType::Float, ScalarType::Float,
                                  ScalarType::Float}),
           {a.value(), b.value(), product.value(), product.value()}),
      Call(find("quantized_decomposed::quantize_per_tensor.out",
                {ScalarType::Float, ScalarType::Char, ScalarType::Char}),
           {product.value(), EValue(kParams.scale_out), EValue(int64_t{kParams.zero_point_out}),
            low, high, int8, portable_out.value(), portable_out.value()}),
  };

  std::vector<double> native;
  std::vector<double> portable;
  for (int i = 0; i < kRounds; ++i) {
    native.push_back(time(n, [&] {
      bench::mul_int8_native(x.data.data(), y.data.data(), native_out.data.data(), n, kParams);
    }));
    portable.push_back(time(n, [&] {
      for (Call& call : calls) {
        call.run();
      }
    }));
  }
  int largest = 0;
  for (size_t i = 0; i < n; ++i) {
    largest = std::max(largest, std::abs(native_out.data[i] - portable_out.data[i]));
  }
  std::printf(
      "{\"elements\": %zu, \"native_us\": %.3f, \"portable_us\": %.3f, \"ratio\": %.2f, "
      "\"max_abs_diff\": %d}%s",
      n, median(native) * 1e6, median(portable) * 1e6, median(portable) / median(native), largest,
      last ? "" : ", ");
}

}  // namespace

int main() {
  executorch::runtime::runtime_init();
  std::printf("{\"rounds\": %d, \"sizes\": [", kRounds);
  measure(65536, false);
  measure(256, true);
  std::printf("]}\n");
  return 0;
}
