// Loads and executes one ExecuTorch program at a time, all memory from given pools. Free of
// ExecuTorch's own headers, so that the runner needs none of them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace bench {

struct TensorInfo {
  uint8_t dtype;  // ExecuTorch's ScalarType
  uint8_t rank;
  uint32_t sizes[8];
  uint32_t bytes;
};

struct ProgramInfo {
  uint8_t inputs;
  uint8_t outputs;
  TensorInfo tensors[16];  // inputs, then outputs
  uint32_t planned_bytes;
  uint32_t method_bytes;
};

struct OperatorCounters {
  uint32_t native_calls;    // calls of esp_nn::quantized_mul_int8.out
  uint32_t delegate_calls;  // calls of a delegate of EspNNBackend
  uint32_t vector_elements;
  uint32_t scalar_elements;
};

struct ProgramRuntime {
  const char* name;    // "executorch 1.5.1"
  uint32_t operators;  // in the registry
  bool traces;         // can record ETDumps
};

ProgramRuntime program_runtime();

// The name of an ExecuTorch error code.
const char* program_error_name(int error);

class ProgramRunner {
 public:
  // The pools must outlive the runner. Operators' temporaries come from what the loaded program
  // leaves of the method pool.
  ProgramRunner(uint8_t* method_pool, size_t method_pool_size, uint8_t* planned_pool,
                size_t planned_pool_size)
      : method_pool_(method_pool),
        method_pool_size_(method_pool_size),
        planned_pool_(planned_pool),
        planned_pool_size_(planned_pool_size) {}
  ~ProgramRunner() { unload(); }
  ProgramRunner(const ProgramRunner&) = delete;
  ProgramRunner& operator=(const ProgramRunner&) = delete;

  // Replaces the loaded program. `pte` (16-byte aligned) is referred to until the next load.
  // `traced`: every execution is traced, if the port can, and takes longer for it.
  // Returns 0 or an ExecuTorch error code; after an error no program is loaded.
  int load(const uint8_t* pte, size_t size, const char* method, bool traced, ProgramInfo* info);

  // Copies the inputs in, runs the method, copies the outputs; buffers as sized in ProgramInfo.
  // Returns 0 or an ExecuTorch error code; `counters` tells what this one execution ran.
  int execute(const uint8_t* const* inputs, uint8_t* const* outputs, OperatorCounters* counters);

  // Fills the memory that the loaded program's tensors share, so that nothing of an earlier
  // execution is left. Programs keep no state there: their inputs and outputs are all there is.
  void poison(uint8_t byte);

  // Copies the ETDump of all executions since the load and unloads the program, which refers to
  // the tracer. Returns its bytes, or 0: not traced, or no room.
  size_t trace(uint8_t* to, size_t capacity);

  void unload();

 private:
  struct Loaded;

  uint8_t* method_pool_;
  size_t method_pool_size_;
  uint8_t* planned_pool_;
  size_t planned_pool_size_;
  size_t planned_bytes_ = 0;
  Loaded* loaded_ = nullptr;
};

}  // namespace bench
