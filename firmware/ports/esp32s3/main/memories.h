// The memories the host lays its buffers out in, taken from the heap once.
#pragma once

#include "port.h"

namespace bench {

// Takes them; `with_programs` if programs are to be stored as well. To be called when all else
// that needs the heap has been set up.
void take_memories(bool with_programs);

const Memory* memories(size_t* count);

}  // namespace bench
