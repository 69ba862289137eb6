// The native kernel of ports without one of their own: the integer contract, element by element,
// with the host's vector unit for as much of the front as it takes.
#include "mul_int8.h"
#include "mul_int8_vector.h"
#include "requantize.h"

namespace bench {

PathCount mul_int8_native(const int8_t* x, const int8_t* y, int8_t* out, size_t n,
                          const MulInt8Params& params) {
  const size_t vector_elements = mul_int8_vector(x, y, out, n, params);
  const Requantizer requantize(params);
  for (size_t i = vector_elements; i < n; ++i) {
    out[i] = requantize((x[i] - params.zero_point1) * (y[i] - params.zero_point2));
  }
  return {static_cast<uint32_t>(vector_elements), static_cast<uint32_t>(n - vector_elements)};
}

}  // namespace bench
