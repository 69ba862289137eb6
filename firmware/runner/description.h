// What the board says of itself, as JSON.
#pragma once

#include <cstddef>
#include <cstdint>

#include "port.h"
#include "programs.h"
#include "text.h"

namespace bench {

// Appends one JSON object; `programs` may be null.
void write_description(Text& json, Port& port, Programs* programs, uint32_t boot_id,
                       uint32_t chunk, uint32_t window);

}  // namespace bench
