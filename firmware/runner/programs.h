// Programs as the runner sees them; a firmware without a runtime for them has none.
#pragma once

#include <cstddef>
#include <cstdint>

#include "program.h"

namespace bench {

class Programs {
 public:
  virtual ProgramRuntime runtime() = 0;
  virtual const char* error_name(int error) = 0;
  virtual int load(const uint8_t* pte, size_t size, const char* method, bool traced,
                   ProgramInfo* info) = 0;
  virtual int execute(const uint8_t* const* inputs, uint8_t* const* outputs,
                      OperatorCounters* counters) = 0;
  // Leaves nothing of an earlier execution in the program's memory.
  virtual void poison(uint8_t byte) = 0;
  virtual size_t trace(uint8_t* to, size_t capacity) = 0;

 protected:
  ~Programs() = default;
};

}  // namespace bench
