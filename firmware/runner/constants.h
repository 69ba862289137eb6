// Constants the firmware is built with, as a read-only memory: on a chip they lie in flash, where a
// program's weights lie.
#pragma once

#include "port.h"

namespace bench {

// One operand of all int8 pairs, at any alignment.
constexpr uint32_t kConstantBytes = 65536 + 64;

Memory constant_memory(const char* name);

}  // namespace bench
