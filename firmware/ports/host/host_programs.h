// The host board's programs; a build without ExecuTorch links another implementation.
#pragma once

#include "programs.h"

namespace bench {

// Null if the firmware has no runtime for them.
Programs* host_programs();

}  // namespace bench
