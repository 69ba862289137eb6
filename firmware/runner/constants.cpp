#include "constants.h"

namespace bench {
namespace {

struct Constants {
  uint8_t bytes[kConstantBytes];
};

// Every byte value equally often, in no order a prefetcher or a kernel could use: 181 is odd, and
// the second term shifts each run of 256 against the one before.
constexpr Constants make_constants() {
  Constants constants = {};
  for (uint32_t i = 0; i < kConstantBytes; ++i) {
    constants.bytes[i] = static_cast<uint8_t>(i * 181 + (i >> 8) * 59);
  }
  return constants;
}

alignas(64) constexpr Constants kConstants = make_constants();

}  // namespace

Memory constant_memory(const char* name) {
  // Nothing is written there: `read_only` tells the runner.
  return {name, const_cast<uint8_t*>(kConstants.bytes), kConstantBytes, true};
}

}  // namespace bench
