// What ExecuTorch wants of the platform.
#pragma once

#include <cstddef>
#include <cstdint>

namespace bench {

using LogSink = void (*)(const uint8_t* text, size_t size);

// Where ExecuTorch's log lines go, each in one call; nowhere before this, since operators log
// while they register, before the line is open.
void log_to(LogSink sink);

}  // namespace bench
