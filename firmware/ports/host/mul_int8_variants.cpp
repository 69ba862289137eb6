#include "mul_int8.h"

namespace bench {

const MulInt8Variant* mul_int8_variants(size_t* count) {
  static constexpr MulInt8Variant kVariants[] = {
      {"native", mul_int8_native},
      {"portable", mul_int8_portable},
  };
  *count = sizeof(kVariants) / sizeof(kVariants[0]);
  return kVariants;
}

}  // namespace bench
