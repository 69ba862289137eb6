// ETDump traces of programs. A port links trace_etdump.cpp where it has ExecuTorch's library for
// them, else trace_none.cpp.
#pragma once

#include <executorch/runtime/core/event_tracer.h>

#include <cstddef>
#include <cstdint>

namespace bench {

bool can_trace();

// A tracer for the program that is loaded next; ends an unfinished trace. Null if there are none.
executorch::runtime::EventTracer* begin_trace();

// Ends the trace and copies it, an ETDump. Returns its bytes, or 0 if there is none or no room.
size_t end_trace(uint8_t* to, size_t capacity);

}  // namespace bench
