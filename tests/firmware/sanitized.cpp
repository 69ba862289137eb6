// Runs both kernels over extreme parameters, sizes and offsets, for the sanitizers to watch: every
// buffer is a heap block of exactly the size it needs.
#include <cstdint>
#include <cstdio>
#include <initializer_list>
#include <memory>

#include "mul_int8.h"

namespace {

constexpr int32_t kMultipliers[] = {0, 1 << 30, 3 << 29, 0x7fff7fff, 0x7fff8000, INT32_MAX};
constexpr int32_t kZeroPoints[] = {-128, 0, 127};

unsigned run(size_t n, size_t offset, const bench::MulInt8Params& params) {
  unsigned sum = 0;
  for (const bench::MulInt8Kernel kernel : {bench::mul_int8_native, bench::mul_int8_portable}) {
    const auto x = std::make_unique<int8_t[]>(n + offset);
    const auto y = std::make_unique<int8_t[]>(n + offset);
    const auto out = std::make_unique<int8_t[]>(n + offset);
    for (size_t i = 0; i < n; ++i) {
      x[offset + i] = static_cast<int8_t>(i * 37 - 128);
      y[offset + i] = i % 2 == 0 ? int8_t{-128} : static_cast<int8_t>(i * 91);
    }
    const bench::PathCount paths =
        kernel(x.get() + offset, y.get() + offset, out.get() + offset, n, params);
    sum += paths.vector_elements + paths.scalar_elements;
  }
  return sum;
}

}  // namespace

int main() {
  unsigned sum = 0;
  unsigned expected = 0;
  for (const int32_t multiplier : kMultipliers) {
    for (int32_t shift = -31; shift <= 30; ++shift) {
      for (const int32_t z1 : kZeroPoints) {
        for (const int32_t zo : kZeroPoints) {
          for (const double scale : {1e-45, 1e-3, 1.0, 1e19, 1e38, 1e39}) {
            const bench::MulInt8Params params{z1, -z1 - 1, zo,    multiplier, shift,
                                              -128, 127,   scale, scale,      scale};
            const size_t n = static_cast<size_t>(shift + 31 + z1 + 128) % 100;
            sum += run(n, n % 16, params);
            expected += 2 * static_cast<unsigned>(n);
          }
        }
      }
    }
  }
  std::printf("%u elements\n", sum);
  return sum == expected ? 0 : 1;
}
