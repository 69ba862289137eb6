// ESP-NN as it comes, so that a board can show what its own choice of code does.
#include "esp_nn_call.h"
#include "mul_int8_espnn.h"

namespace bench {

PathCount mul_int8_espnn_raw(const int8_t* x, const int8_t* y, int8_t* out, size_t n,
                             const MulInt8Params& params) {
  call_esp_nn(esp_nn_mul_elementwise_s8, x, y, out, n, params, params.shift);
  // The library does not say which code it ran; this is the choice it makes, without a look at
  // the output's alignment.
  const bool vector =
      is_aligned(x, kEspNnInputAlignment) && is_aligned(y, kEspNnInputAlignment);
  const size_t blocks = vector ? n - n % kEspNnBlock : 0;
  return {static_cast<uint32_t>(blocks), static_cast<uint32_t>(n - blocks)};
}

}  // namespace bench
