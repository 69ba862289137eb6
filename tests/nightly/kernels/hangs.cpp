// Never returns; asleep, so that it takes no other board's time.
#include <unistd.h>

#include "mul_int8.h"

namespace bench {

PathCount mul_int8_native(const int8_t*, const int8_t*, int8_t*, size_t, const MulInt8Params&) {
  while (true) {
    pause();
  }
}

}  // namespace bench
