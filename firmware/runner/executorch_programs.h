// The runner's programs on ExecuTorch, for ports that are linked with it.
#pragma once

#include "programs.h"

namespace bench {

class ExecutorchPrograms final : public Programs {
 public:
  explicit ExecutorchPrograms(ProgramRunner& runner) : runner_(runner) {}

  ProgramRuntime runtime() override { return program_runtime(); }
  const char* error_name(int error) override { return program_error_name(error); }
  int load(const uint8_t* pte, size_t size, const char* method, bool traced,
           ProgramInfo* info) override {
    return runner_.load(pte, size, method, traced, info);
  }
  int execute(const uint8_t* const* inputs, uint8_t* const* outputs,
              OperatorCounters* counters) override {
    return runner_.execute(inputs, outputs, counters);
  }
  void poison(uint8_t byte) override { runner_.poison(byte); }
  size_t trace(uint8_t* to, size_t capacity) override { return runner_.trace(to, capacity); }

 private:
  ProgramRunner& runner_;
};

}  // namespace bench
