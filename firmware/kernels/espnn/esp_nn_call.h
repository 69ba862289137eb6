// How the variants call ESP-NN.
#pragma once

#include "sdkconfig.h"  // ESP-NN's header chooses its code by it and does not include it

#include <esp_nn.h>

#include <cstddef>
#include <cstdint>

#include "mul_int8.h"

#if !defined(CONFIG_NN_OPTIMIZED) || !defined(CONFIG_IDF_TARGET_ESP32S3)
#error "esp_nn_mul_elementwise_s8 must be the ESP32-S3's: set CONFIG_NN_OPTIMIZED"
#endif

namespace bench {

// The library's vector loop computes 8 elements at a time and loads them as 16 aligned bytes of
// both inputs; every other element goes through its scalar code.
constexpr size_t kEspNnBlock = 8;
constexpr uintptr_t kEspNnInputAlignment = 16;
constexpr uintptr_t kEspNnOutputAlignment = 8;

inline bool is_aligned(const int8_t* place, uintptr_t alignment) {
  return reinterpret_cast<uintptr_t>(place) % alignment == 0;
}

// ESP-NN's input offsets are negated zero points; its output offset is the zero point.
template <class Function>
inline void call_esp_nn(Function function, const int8_t* x, const int8_t* y, int8_t* out, size_t n,
                        const MulInt8Params& params, int32_t shift) {
  function(x, y, -params.zero_point1, -params.zero_point2, out, params.zero_point_out,
           params.multiplier, shift, params.activation_min, params.activation_max,
           static_cast<int32_t>(n));
}

}  // namespace bench
