#include "program.h"

#include <executorch/extension/data_loader/buffer_data_loader.h>
#include <executorch/runtime/core/exec_aten/util/dim_order_util.h>
#include <executorch/runtime/executor/memory_manager.h>
#include <executorch/runtime/executor/method.h>
#include <executorch/runtime/executor/program.h>
#include <executorch/runtime/kernel/operator_registry.h>
#include <executorch/runtime/platform/runtime.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <optional>
#include <utility>

#include "native_mul_int8.h"
#include "trace.h"

namespace bench {
namespace {

using executorch::aten::Tensor;
using executorch::aten::TensorImpl;
using executorch::extension::BufferDataLoader;
using executorch::runtime::Error;
using executorch::runtime::EValue;
using executorch::runtime::HierarchicalAllocator;
using executorch::runtime::MemoryAllocator;
using executorch::runtime::MemoryManager;
using executorch::runtime::Method;
using executorch::runtime::MethodMeta;
using executorch::runtime::Program;
using executorch::runtime::Result;
using executorch::runtime::Span;
using executorch::runtime::Tag;

constexpr size_t kMaxTensors = sizeof(ProgramInfo::tensors) / sizeof(TensorInfo);
constexpr size_t kMaxRank = sizeof(TensorInfo::sizes) / sizeof(uint32_t);
constexpr size_t kAlignment = 16;  // of the program and of every planned buffer

// Temporaries of operators and delegates: what a loaded method leaves of its pool. The runtime
// wants the allocator before it can be known how much that is.
class TemporaryAllocator final : public MemoryAllocator {
 public:
  TemporaryAllocator() : MemoryAllocator(0, nullptr) {}

  void use(uint8_t* begin, size_t size) {
    begin_ = begin;
    left_ = size;
    size_ = size;
  }
  void* allocate(size_t size, size_t alignment) override {
    void* start = begin_ + (size_ - left_);
    if (!isPowerOf2(alignment) || std::align(alignment, size, start, left_) == nullptr) {
      return nullptr;
    }
    left_ -= size;
    return start;
  }
  void reset() override { left_ = size_; }
  uint8_t* base_address() const override { return begin_; }
  uint32_t size() const override { return static_cast<uint32_t>(size_); }
  size_t used_size() const override { return size_ - left_; }
  size_t free_size() const override { return left_; }

 private:
  uint8_t* begin_ = nullptr;
  size_t left_ = 0;
  size_t size_ = 0;
};

// Describes one input or output; anything but a tensor of few dimensions is not supported.
Error describe(const Result<Tag>& tag, const Result<executorch::runtime::TensorInfo>& meta,
               TensorInfo* info) {
  if (!tag.ok() || *tag != Tag::Tensor || !meta.ok() || meta->sizes().size() > kMaxRank ||
      meta->nbytes() > UINT32_MAX) {
    return Error::NotSupported;
  }
  *info = TensorInfo{};
  info->dtype = static_cast<uint8_t>(meta->scalar_type());
  info->rank = static_cast<uint8_t>(meta->sizes().size());
  for (size_t i = 0; i < meta->sizes().size(); ++i) {
    info->sizes[i] = static_cast<uint32_t>(meta->sizes()[i]);
  }
  info->bytes = static_cast<uint32_t>(meta->nbytes());
  return Error::Ok;
}

Error describe(const MethodMeta& meta, ProgramInfo* info) {
  *info = ProgramInfo{};
  const size_t inputs = meta.num_inputs();
  const size_t outputs = meta.num_outputs();
  if (inputs > kMaxTensors || outputs > kMaxTensors || inputs + outputs > kMaxTensors) {
    return Error::NotSupported;
  }
  info->inputs = static_cast<uint8_t>(inputs);
  info->outputs = static_cast<uint8_t>(outputs);
  for (size_t i = 0; i < inputs; ++i) {
    const Error error = describe(meta.input_tag(i), meta.input_tensor_meta(i), &info->tensors[i]);
    if (error != Error::Ok) {
      return error;
    }
  }
  for (size_t i = 0; i < outputs; ++i) {
    const Error error =
        describe(meta.output_tag(i), meta.output_tensor_meta(i), &info->tensors[inputs + i]);
    if (error != Error::Ok) {
      return error;
    }
  }
  return Error::Ok;
}

}  // namespace

// Stands at the front of the method pool; the runtime's own allocations follow it.
struct ProgramRunner::Loaded {
  Loaded(const uint8_t* pte, size_t size, uint8_t* pool, size_t pool_size)
      : loader(pte, size),
        method_allocator(static_cast<uint32_t>(pool_size), pool),
        pool_end(pool + pool_size) {}

  Error load(const char* method_name, bool traced, uint8_t* planned_pool,
             size_t planned_pool_size, ProgramInfo* info);
  Error plan_memory(const MethodMeta& meta, uint8_t* pool, size_t pool_size, uint32_t* bytes);
  Error make_inputs(const MethodMeta& meta);
  Error execute(const uint8_t* const* inputs, uint8_t* const* outputs);

  BufferDataLoader loader;
  MemoryAllocator method_allocator;
  uint8_t* pool_end;
  TemporaryAllocator temporaries;
  std::optional<Program> program;
  std::optional<HierarchicalAllocator> planned;
  std::optional<MemoryManager> memory;
  TensorImpl* inputs[kMaxTensors] = {};
  std::optional<Method> method;
};

Error ProgramRunner::Loaded::plan_memory(const MethodMeta& meta, uint8_t* pool, size_t pool_size,
                                         uint32_t* bytes) {
  const size_t count = meta.num_memory_planned_buffers();
  auto* buffers = method_allocator.allocateList<Span<uint8_t>>(count);
  if (count > 0 && buffers == nullptr) {
    return Error::MemoryAllocationFailed;
  }
  const size_t pool_left_at_start = pool_size;
  void* next = pool;
  for (size_t i = 0; i < count; ++i) {
    const Result<int64_t> size = meta.memory_planned_buffer_size(i);
    if (!size.ok() || *size < 0) {
      return Error::InvalidProgram;
    }
    const auto wanted = static_cast<uint64_t>(*size);
    if (wanted > pool_size ||
        std::align(kAlignment, static_cast<size_t>(wanted), next, pool_size) == nullptr) {
      return Error::MemoryAllocationFailed;
    }
    auto* begin = static_cast<uint8_t*>(next);
    new (&buffers[i]) Span<uint8_t>(begin, static_cast<size_t>(wanted));
    next = begin + wanted;
    pool_size -= static_cast<size_t>(wanted);
  }
  *bytes = static_cast<uint32_t>(pool_left_at_start - pool_size);
  planned.emplace(Span<Span<uint8_t>>(buffers, count));
  return Error::Ok;
}

Error ProgramRunner::Loaded::make_inputs(const MethodMeta& meta) {
  for (size_t i = 0; i < meta.num_inputs(); ++i) {
    const auto input = meta.input_tensor_meta(i);
    if (!input.ok()) {
      return input.error();
    }
    const size_t rank = input->sizes().size();
    auto* impl = method_allocator.allocateInstance<TensorImpl>();
    auto* sizes = method_allocator.allocateList<TensorImpl::SizesType>(rank);
    auto* order = method_allocator.allocateList<TensorImpl::DimOrderType>(rank);
    auto* strides = method_allocator.allocateList<TensorImpl::StridesType>(rank);
    if (impl == nullptr || sizes == nullptr || order == nullptr || strides == nullptr) {
      return Error::MemoryAllocationFailed;
    }
    if (rank > 0) {
      std::memcpy(sizes, input->sizes().data(), rank * sizeof(*sizes));
      std::memcpy(order, input->dim_order().data(), rank * sizeof(*order));
    }
    const Error error =
        executorch::runtime::dim_order_to_stride(sizes, order, rank, strides);
    if (error != Error::Ok) {
      return error;
    }
    inputs[i] = new (impl) TensorImpl(input->scalar_type(), static_cast<ssize_t>(rank), sizes,
                                      nullptr, order, strides);
  }
  return Error::Ok;
}

Error ProgramRunner::Loaded::load(const char* method_name, bool traced, uint8_t* planned_pool,
                                  size_t planned_pool_size, ProgramInfo* info) {
  Result<Program> loaded_program =
      Program::load(&loader, Program::Verification::InternalConsistency);
  if (!loaded_program.ok()) {
    return loaded_program.error();
  }
  program.emplace(std::move(*loaded_program));
  const Result<MethodMeta> meta = program->method_meta(method_name);
  if (!meta.ok()) {
    return meta.error();
  }
  Error error = describe(*meta, info);
  if (error == Error::Ok) {
    error = plan_memory(*meta, planned_pool, planned_pool_size, &info->planned_bytes);
  }
  if (error == Error::Ok) {
    error = make_inputs(*meta);
  }
  if (error != Error::Ok) {
    return error;
  }
  memory.emplace(&method_allocator, &*planned, &temporaries);
  Result<Method> loaded_method =
      program->load_method(method_name, &*memory, traced ? begin_trace() : nullptr);
  if (!loaded_method.ok()) {
    return loaded_method.error();
  }
  method.emplace(std::move(*loaded_method));
  info->method_bytes = static_cast<uint32_t>(method_allocator.used_size());
  temporaries.use(pool_end - method_allocator.free_size(), method_allocator.free_size());
  return Error::Ok;
}

Error ProgramRunner::Loaded::execute(const uint8_t* const* in, uint8_t* const* out) {
  // Memory planning reuses the memory of inputs, so they are set before every execution.
  for (size_t i = 0; i < method->inputs_size(); ++i) {
    inputs[i]->set_data(const_cast<uint8_t*>(in[i]));
    const Error error = method->set_input(EValue(Tensor(inputs[i])), i);
    if (error != Error::Ok) {
      return error;
    }
  }
  const MethodMeta meta = method->method_meta();
  for (size_t i = 0; i < method->outputs_size(); ++i) {
    const auto output = meta.output_tensor_meta(i);
    if (output.ok() && !output->is_memory_planned() &&
        method->get_output(i).toTensor().const_data_ptr() == nullptr) {
      const Error error = method->set_output_data_ptr(out[i], output->nbytes(), i);
      if (error != Error::Ok) {
        return error;
      }
    }
  }
  const Error error = method->execute();
  if (error != Error::Ok) {
    return error;
  }
  for (size_t i = 0; i < method->outputs_size(); ++i) {
    const Tensor output = method->get_output(i).toTensor();
    if (output.const_data_ptr() != out[i] && output.nbytes() > 0) {
      std::memcpy(out[i], output.const_data_ptr(), output.nbytes());
    }
  }
  return Error::Ok;
}

ProgramRuntime program_runtime() {
  return {"executorch " BENCH_EXECUTORCH_VERSION,
          static_cast<uint32_t>(executorch::runtime::get_registered_kernels().size()),
          can_trace()};
}

const char* program_error_name(int error) {
  return executorch::runtime::to_string(static_cast<Error>(error));
}

int ProgramRunner::load(const uint8_t* pte, size_t size, const char* method, bool traced,
                        ProgramInfo* info) {
  executorch::runtime::runtime_init();
  unload();
  if (reinterpret_cast<uintptr_t>(pte) % kAlignment != 0) {
    return static_cast<int>(Error::InvalidArgument);
  }
  void* place = method_pool_;
  size_t space = method_pool_size_;
  if (space > UINT32_MAX ||
      std::align(alignof(Loaded), sizeof(Loaded), place, space) == nullptr) {
    return static_cast<int>(Error::MemoryAllocationFailed);
  }
  loaded_ = new (place) Loaded(pte, size, static_cast<uint8_t*>(place) + sizeof(Loaded),
                               space - sizeof(Loaded));
  const Error error = loaded_->load(method, traced, planned_pool_, planned_pool_size_, info);
  if (error != Error::Ok) {
    unload();
  }
  planned_bytes_ = info->planned_bytes;
  return static_cast<int>(error);
}

int ProgramRunner::execute(const uint8_t* const* inputs, uint8_t* const* outputs,
                           OperatorCounters* counters) {
  if (loaded_ == nullptr) {
    return static_cast<int>(Error::InvalidState);
  }
  operator_counters() = OperatorCounters{};
  const Error error = loaded_->execute(inputs, outputs);
  *counters = operator_counters();
  return static_cast<int>(error);
}

void ProgramRunner::poison(uint8_t byte) {
  if (loaded_ != nullptr) {
    std::memset(planned_pool_, byte, planned_bytes_);
  }
}

size_t ProgramRunner::trace(uint8_t* to, size_t capacity) {
  unload();
  return end_trace(to, capacity);
}

void ProgramRunner::unload() {
  if (loaded_ != nullptr) {
    loaded_->~Loaded();
    loaded_ = nullptr;
  }
}

}  // namespace bench
