#include "native_mul_int8.h"

namespace bench {

OperatorCounters& operator_counters() {
  static OperatorCounters counters{};
  return counters;
}

void run_native_mul_int8(const int8_t* x, const int8_t* y, int8_t* out, size_t n,
                         const MulInt8Params& params) {
  size_t count = 0;
  const PathCount paths = mul_int8_variants(&count)[0].run(x, y, out, n, params);
  operator_counters().vector_elements += paths.vector_elements;
  operator_counters().scalar_elements += paths.scalar_elements;
}

}  // namespace bench
