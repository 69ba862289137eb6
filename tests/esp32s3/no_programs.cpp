// The host board without ExecuTorch.
#include "host_programs.h"

namespace bench {

Programs* host_programs() { return nullptr; }

}  // namespace bench
