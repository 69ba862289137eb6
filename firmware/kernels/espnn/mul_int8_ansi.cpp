// ESP-NN's reference in C, which is exact.
#include "esp_nn_call.h"
#include "mul_int8_espnn.h"

namespace bench {

PathCount mul_int8_ansi(const int8_t* x, const int8_t* y, int8_t* out, size_t n,
                        const MulInt8Params& params) {
  call_esp_nn(esp_nn_mul_elementwise_s8_ansi, x, y, out, n, params, params.shift);
  return {0, static_cast<uint32_t>(n)};
}

}  // namespace bench
