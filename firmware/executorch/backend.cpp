// EspNNBackend: a delegate that is a list of int8 multiplies, on the port's native kernel.
//
// Its blob is little-endian:
//   u32 magic "ESN1", version, n_inputs, n_outputs, n_values, n_ops
//   u32 output_value[n_outputs]
//   n_ops * { u32 a, b, out; i32 zero_point1, zero_point2, zero_point_out, multiplier, shift }
// Values 0..n_inputs-1 are the delegate's inputs; each op defines one value more, from values
// defined before it. All values of a delegate have the same number of elements.
#include <executorch/runtime/backend/interface.h>
#include <executorch/runtime/core/exec_aten/exec_aten.h>
#include <executorch/runtime/platform/log.h>

#include <cstdint>
#include <cstring>
#include <new>

#include "native_mul_int8.h"

namespace bench {
namespace {

using executorch::aten::ScalarType;
using executorch::aten::Tensor;
using executorch::runtime::ArrayRef;
using executorch::runtime::Backend;
using executorch::runtime::BackendExecutionContext;
using executorch::runtime::BackendInitContext;
using executorch::runtime::BackendInterface;
using executorch::runtime::CompileSpec;
using executorch::runtime::DelegateHandle;
using executorch::runtime::Error;
using executorch::runtime::EValue;
using executorch::runtime::FreeableBuffer;
using executorch::runtime::MemoryAllocator;
using executorch::runtime::Result;
using executorch::runtime::Span;

constexpr uint32_t kMagic = 0x314E5345;  // "ESN1"
constexpr uint32_t kVersion = 1;

struct Header {
  uint32_t magic, version, n_inputs, n_outputs, n_values, n_ops;
};
struct Op {
  uint32_t a, b, out;
  int32_t zero_point1, zero_point2, zero_point_out, multiplier, shift;
};
static_assert(sizeof(Header) == 24 && sizeof(Op) == 32, "as in the blob, without padding");

struct Delegate {
  Header header;
  const uint32_t* output_values;
  const Op* ops;
  int8_t** values;  // where each value stands during an execution
};

MulInt8Params params_of(const Op& op) {
  MulInt8Params params{};
  params.zero_point1 = op.zero_point1;
  params.zero_point2 = op.zero_point2;
  params.zero_point_out = op.zero_point_out;
  params.multiplier = op.multiplier;
  params.shift = op.shift;
  params.activation_min = INT8_MIN;
  params.activation_max = INT8_MAX;
  return params;
}

bool counts_are_sound(const Header& header, size_t blob_size) {
  const uint64_t needed = sizeof(Header) + uint64_t{header.n_outputs} * sizeof(uint32_t) +
                          uint64_t{header.n_ops} * sizeof(Op);
  return needed == blob_size && header.n_inputs > 0 && header.n_outputs > 0 && header.n_ops > 0 &&
         header.n_outputs <= header.n_ops && header.n_inputs <= uint64_t{2} * header.n_ops &&
         uint64_t{header.n_inputs} + header.n_ops == header.n_values;
}

// Every op reads values that are there and defines one that is not; every output is an op's own.
// `defined` has one byte, 0 at first, for each value.
bool values_are_sound(const Delegate& delegate, uint8_t* defined) {
  const Header& header = delegate.header;
  std::memset(defined, 1, header.n_inputs);
  for (uint32_t i = 0; i < header.n_ops; ++i) {
    const Op& op = delegate.ops[i];
    if (op.a >= header.n_values || op.b >= header.n_values || op.out >= header.n_values ||
        defined[op.a] == 0 || defined[op.b] == 0 || defined[op.out] != 0 ||
        !mul_int8_params_valid(params_of(op))) {
      return false;
    }
    defined[op.out] = 1;
  }
  for (uint32_t i = 0; i < header.n_outputs; ++i) {
    const uint32_t value = delegate.output_values[i];
    if (value < header.n_inputs || value >= header.n_values || defined[value] != 1) {
      return false;
    }
    defined[value] = 2;  // an output is listed once
  }
  return true;
}

class EspNNBackend final : public BackendInterface {
 public:
  bool is_available() const override { return true; }

  Result<DelegateHandle*> init(BackendInitContext& context, FreeableBuffer* processed,
                               ArrayRef<CompileSpec>) const override {
    const auto* blob = static_cast<const uint8_t*>(processed->data());
    Header header{};
    if (blob == nullptr || processed->size() < sizeof(Header)) {
      ET_LOG(Error, "EspNNBackend: the delegate's data has no header");
      return Error::DelegateInvalidCompatibility;
    }
    std::memcpy(&header, blob, sizeof(Header));
    if (header.magic != kMagic || header.version != kVersion) {
      ET_LOG(Error, "EspNNBackend: this firmware reads version 1 of the delegate's data only");
      return Error::DelegateInvalidCompatibility;
    }
    if (!counts_are_sound(header, processed->size())) {
      ET_LOG(Error, "EspNNBackend: the delegate's counts do not fit its size");
      return Error::InvalidProgram;
    }
    MemoryAllocator* allocator = context.get_runtime_allocator();
    auto* delegate = allocator->allocateInstance<Delegate>();
    auto* outputs = allocator->allocateList<uint32_t>(header.n_outputs);
    auto* ops = allocator->allocateList<Op>(header.n_ops);
    auto** values = allocator->allocateList<int8_t*>(header.n_values);
    if (delegate == nullptr || outputs == nullptr || ops == nullptr || values == nullptr) {
      return Error::MemoryAllocationFailed;
    }
    // Copied, because nothing says that the blob is aligned for them.
    const size_t outputs_size = header.n_outputs * sizeof(uint32_t);
    std::memcpy(outputs, blob + sizeof(Header), outputs_size);
    std::memcpy(ops, blob + sizeof(Header) + outputs_size, header.n_ops * sizeof(Op));
    processed->Free();
    new (delegate) Delegate{header, outputs, ops, values};
    std::memset(values, 0, header.n_values * sizeof(*values));
    if (!values_are_sound(*delegate, reinterpret_cast<uint8_t*>(values))) {
      ET_LOG(Error, "EspNNBackend: an operation of the delegate is invalid");
      return Error::InvalidProgram;
    }
    return static_cast<DelegateHandle*>(delegate);
  }

  Error execute(BackendExecutionContext& context, DelegateHandle* handle,
                Span<EValue*> args) const override {
    const auto& delegate = *static_cast<const Delegate*>(handle);
    const Header& header = delegate.header;
    size_t n = 0;
    Error error = check_arguments(header, args, &n);
    if (error != Error::Ok) {
      return error;
    }
    std::memset(delegate.values, 0, header.n_values * sizeof(*delegate.values));
    for (uint32_t i = 0; i < header.n_inputs; ++i) {
      delegate.values[i] = args[i]->toTensor().mutable_data_ptr<int8_t>();
    }
    for (uint32_t i = 0; i < header.n_outputs; ++i) {
      delegate.values[delegate.output_values[i]] =
          args[header.n_inputs + i]->toTensor().mutable_data_ptr<int8_t>();
    }
    for (uint32_t i = 0; i < header.n_ops; ++i) {
      const Op& op = delegate.ops[i];
      if (delegate.values[op.out] == nullptr) {
        delegate.values[op.out] = static_cast<int8_t*>(allocate_temporary(context, n));
      }
      if (n > 0 && delegate.values[op.out] == nullptr) {
        return Error::MemoryAllocationFailed;
      }
      run_native_mul_int8(delegate.values[op.a], delegate.values[op.b], delegate.values[op.out], n,
                          params_of(op));
    }
    ++operator_counters().delegate_calls;
    return Error::Ok;
  }

 private:
  static void* allocate_temporary(BackendExecutionContext& context, size_t size) {
    constexpr size_t kVectorAlignment = 16;  // what the native kernels' fast paths want
    MemoryAllocator* allocator = context.get_temp_allocator();
    return allocator == nullptr ? nullptr : allocator->allocate(size, kVectorAlignment);
  }

  static Error check_arguments(const Header& header, Span<EValue*> args, size_t* n) {
    if (args.size() != uint64_t{header.n_inputs} + header.n_outputs) {
      ET_LOG(Error, "EspNNBackend: the delegate is called with another number of tensors");
      return Error::InvalidArgument;
    }
    for (size_t i = 0; i < args.size(); ++i) {
      if (!args[i]->isTensor()) {
        ET_LOG(Error, "EspNNBackend: an argument is not a tensor");
        return Error::InvalidArgument;
      }
      const Tensor& tensor = args[i]->toTensor();
      const auto elements = static_cast<size_t>(tensor.numel());
      if (i == 0) {
        *n = elements;
      }
      if (tensor.scalar_type() != ScalarType::Char || elements != *n) {
        ET_LOG(Error, "EspNNBackend: the tensors must be int8 and of one size");
        return Error::InvalidArgument;
      }
    }
    return Error::Ok;
  }
};

EspNNBackend backend;
[[maybe_unused]] const auto registered =
    executorch::runtime::register_backend(Backend{"EspNNBackend", &backend});

}  // namespace
}  // namespace bench
