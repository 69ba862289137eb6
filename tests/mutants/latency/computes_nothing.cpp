// Wrong on purpose: returns at once and says it computed everything.
#include "mul_int8.h"

namespace bench {

PathCount mul_int8_native(const int8_t*, const int8_t*, int8_t*, size_t n, const MulInt8Params&) {
  return {0, static_cast<uint32_t>(n)};
}

}  // namespace bench
