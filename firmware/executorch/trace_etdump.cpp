#include <executorch/devtools/etdump/etdump_flatcc.h>

#include <cstdlib>
#include <cstring>
#include <optional>

#include "trace.h"

namespace bench {
namespace {

using executorch::etdump::ETDumpGen;
using executorch::etdump::ETDumpResult;

std::optional<ETDumpGen> generator;

}  // namespace

bool can_trace() { return true; }

executorch::runtime::EventTracer* begin_trace() {
  generator.emplace();
  return &*generator;
}

size_t end_trace(uint8_t* to, size_t capacity) {
  if (!generator) {
    return 0;
  }
  // The buffer is the caller's to free.
  const ETDumpResult trace = generator->get_etdump_data();
  generator.reset();
  const bool fits = trace.buf != nullptr && trace.size <= capacity;
  if (fits) {
    std::memcpy(to, trace.buf, trace.size);
  }
  std::free(trace.buf);
  return fits ? trace.size : 0;
}

}  // namespace bench
