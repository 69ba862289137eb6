// ESP-NN's vector code on whole blocks of aligned buffers, where it is exact, and its C code for
// the rest. Its own choice is not exact: the scalar code that it runs for tails and for unaligned
// inputs rounds wrongly, and its vector store drops the low bits of the output's address.
#include "mul_int8_espnn.h"

#include <algorithm>

#include "esp_nn_call.h"

namespace bench {
namespace {

// Beyond these shifts the int8 results do not change: every product but 0 saturates above, and
// rounds to 0 below. Within them no step of ESP-NN leaves 32 bits.
int32_t bounded_shift(int32_t shift) { return std::clamp<int32_t>(shift, -17, 9); }

}  // namespace

PathCount mul_int8_espnn(const int8_t* x, const int8_t* y, int8_t* out, size_t n,
                         const MulInt8Params& params) {
  const bool aligned = is_aligned(x, kEspNnInputAlignment) &&
                       is_aligned(y, kEspNnInputAlignment) &&
                       is_aligned(out, kEspNnOutputAlignment);
  const size_t blocks = aligned ? n - n % kEspNnBlock : 0;
  const size_t rest = n - blocks;
  const int32_t shift = bounded_shift(params.shift);
  if (blocks > 0) {
    call_esp_nn(esp_nn_mul_elementwise_s8, x, y, out, blocks, params, shift);
  }
  if (rest > 0) {
    call_esp_nn(esp_nn_mul_elementwise_s8_ansi, x + blocks, y + blocks, out + blocks, rest, params,
                shift);
  }
  return {static_cast<uint32_t>(blocks), static_cast<uint32_t>(rest)};
}

}  // namespace bench
