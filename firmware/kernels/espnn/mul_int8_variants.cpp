// The variants of a port that is linked with ESP-NN.
#include "mul_int8.h"
#include "mul_int8_espnn.h"

namespace bench {

const MulInt8Variant* mul_int8_variants(size_t* count) {
  static constexpr MulInt8Variant kVariants[] = {
      {"espnn", mul_int8_espnn},
      {"espnn-raw", mul_int8_espnn_raw},
      {"ansi", mul_int8_ansi},
      {"portable", mul_int8_portable},
  };
  *count = sizeof(kVariants) / sizeof(kVariants[0]);
  return kVariants;
}

}  // namespace bench
