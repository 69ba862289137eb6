// The arithmetic of ESP-NN's C code, and three ways in which the S3's assembly departs from it:
//
//   A  sizes below 8 and inputs that are not 16-byte aligned skip the code that loads the rounding
//      constant, so the high multiply floors;
//   B  the scalar code rounds negative values the wrong way in the division by a power of two;
//   C  the vector store drops the low three bits of its address.
#include "esp_nn.h"

#include <algorithm>
#include <cstring>

namespace {

constexpr int32_t kBlock = 8;

struct Parameters {
  int32_t offset1, offset2, out_offset, multiplier, shift, minimum, maximum;
};

struct Rounding {
  bool in_high_multiply;
  int32_t sign_correction;  // added to a negative value before the division
};

constexpr Rounding kExact = {true, -1};

int8_t multiply(int8_t a, int8_t b, const Parameters& p, Rounding rounding) {
  const int64_t product = int64_t{a + p.offset1} * (b + p.offset2);
  const int64_t scaled = product * (int64_t{1} << std::max<int32_t>(p.shift, 0)) * p.multiplier;
  int64_t value = (scaled + (rounding.in_high_multiply ? int64_t{1} << 30 : 0)) >> 31;
  const int32_t right = std::max<int32_t>(-p.shift, 0);
  if (right > 0) {
    const int64_t half = int64_t{1} << (right - 1);
    value = (value + half + (value < 0 ? rounding.sign_correction : 0)) >> right;
  }
  value += p.out_offset;
  return static_cast<int8_t>(
      std::max<int64_t>(p.minimum, std::min<int64_t>(value, p.maximum)));
}

bool is_aligned(const int8_t* place, uintptr_t alignment) {
  return reinterpret_cast<uintptr_t>(place) % alignment == 0;
}

void store_block(const int8_t* block, int8_t* place) {
  const uintptr_t address = reinterpret_cast<uintptr_t>(place) & ~uintptr_t{7};  // C
  memcpy(reinterpret_cast<int8_t*>(address), block, kBlock);
}

}  // namespace

extern "C" void esp_nn_mul_elementwise_s8_ansi(
    const int8_t* input1, const int8_t* input2, int32_t input1_offset, int32_t input2_offset,
    int8_t* output, int32_t out_offset, int32_t out_mult, int32_t out_shift,
    int32_t activation_min, int32_t activation_max, int32_t size) {
  const Parameters p = {input1_offset, input2_offset,  out_offset,    out_mult,
                        out_shift,     activation_min, activation_max};
  for (int32_t i = 0; i < size; ++i) {
    output[i] = multiply(input1[i], input2[i], p, kExact);
  }
}

extern "C" void esp_nn_mul_elementwise_s8_esp32s3(
    const int8_t* input1, const int8_t* input2, int32_t input1_offset, int32_t input2_offset,
    int8_t* output, int32_t out_offset, int32_t out_mult, int32_t out_shift,
    int32_t activation_min, int32_t activation_max, int32_t size) {
  const Parameters p = {input1_offset, input2_offset,  out_offset,    out_mult,
                        out_shift,     activation_min, activation_max};
  const bool vector = size >= kBlock && is_aligned(input1, 16) && is_aligned(input2, 16);
  int32_t i = 0;
  for (; vector && i + kBlock <= size; i += kBlock) {
    int8_t block[kBlock];
    for (int32_t lane = 0; lane < kBlock; ++lane) {
      block[lane] = multiply(input1[i + lane], input2[i + lane], p, kExact);
    }
    store_block(block, output + i);
  }
  const Rounding scalar = {vector /* A */, 1 /* B */};
  for (; i < size; ++i) {
    output[i] = multiply(input1[i], input2[i], p, scalar);
  }
}
