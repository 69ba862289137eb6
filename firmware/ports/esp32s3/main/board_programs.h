// The board's programs; which implementation is linked depends on ExecuTorch being there.
#pragma once

#include "programs.h"

namespace bench {

// Null if the firmware has no runtime for them. To be called when the line is open: the runtime
// may log from then on.
Programs* board_programs();

}  // namespace bench
