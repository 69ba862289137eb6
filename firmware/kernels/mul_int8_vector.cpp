// The integer contract on AVX2, 32 elements at a time, chosen at run time.
//
// Why it is exact. Let p = (x - z1) * (y - z2), |p| <= 65,025, rs = max(-shift, 0) and
// ls = max(shift, 0).
//
// 1. The two rounding steps of the contract are one floor each side of zero: with
//    a = floor(p * M / 2^(30 - ls)), which has the sign of p because M >= 2^30,
//      rs = 0:  (a + 1) >> 1
//      rs > 0:  (a + sign(a) + 2^rs) >> (1 + rs)
//    (p > 0 adds 2^30 + 2^(30 + rs) to p * M before the shift by 31 + rs, p < 0 adds 2^31 less, and
//    all of these are multiples of the 2^30 already divided away). A zero point added to the result
//    is 2^(1 + rs) times itself added before the shift.
// 2. The multiply-add of int16 pairs gives 32 bits, so p and M go in by parts. With b = z2 - y,
//    -p = x * b + (-z1) * b, and each term is at most 128 * 255 = 32,640 in magnitude. The negated
//    multiplier -M = hi * 2^16 + lo has int16 parts for every M in [2^30, 2^31 - 1]: lo is its low
//    half, signed, and hi lies in [-2^15, -2^14]. Both sums (-p) * hi and (-p) * lo are below
//    65,025 * 2^15 < 2^31, and (-p) * hi + floor((-p) * lo / 2^16) = floor(p * M / 2^16).
// 3. shift <= -17 always rounds to 0, as M = 0 does; a shift above 9 saturates as 9 does.
#include "mul_int8_vector.h"

#if defined(__x86_64__) && defined(__GNUC__)

#include <immintrin.h>

#include <algorithm>

namespace bench {
namespace {

#define BENCH_AVX2 __attribute__((target("avx2")))

constexpr size_t kBlock = 32;

struct Constants {
  __m256i z2, minus_z1, multiplier_high, multiplier_low, sign_unit, bias, minimum, maximum;
  __m128i first_shift, second_shift;
};

BENCH_AVX2 inline __m256i each16(int32_t value) {
  return _mm256_set1_epi16(static_cast<int16_t>(value));
}

BENCH_AVX2 Constants prepare(const MulInt8Params& params) {
  const bool vanishes = params.shift <= -17;
  const int32_t left = std::clamp(params.shift, 0, 9);
  const int32_t right = vanishes ? 0 : std::max(-params.shift, 0);
  const int32_t negated = vanishes ? 0 : -params.multiplier;
  const auto low = static_cast<int16_t>(negated & 0xffff);
  const auto high = static_cast<int16_t>((negated - low) / 65536);
  const int32_t half = int32_t{1} << right;
  Constants c;
  c.z2 = each16(params.zero_point2);
  c.minus_z1 = each16(-params.zero_point1);
  c.multiplier_high = each16(high);
  c.multiplier_low = each16(low);
  c.sign_unit = _mm256_set1_epi32(right > 0 ? 1 : 0);
  c.bias = _mm256_set1_epi32(half + params.zero_point_out * 2 * half);
  c.minimum = each16(params.activation_min);
  c.maximum = each16(params.activation_max);
  c.first_shift = _mm_cvtsi32_si128(14 - left);
  c.second_shift = _mm_cvtsi32_si128(1 + right);
  return c;
}

// Eight products, each as a pair of int16 terms of -p, to int32 results before the clamp.
BENCH_AVX2 inline __m256i requantize8(__m256i terms, const Constants& c) {
  const __m256i high = _mm256_madd_epi16(terms, c.multiplier_high);
  const __m256i low = _mm256_srai_epi32(_mm256_madd_epi16(terms, c.multiplier_low), 16);
  const __m256i a = _mm256_sra_epi32(_mm256_add_epi32(high, low), c.first_shift);
  const __m256i signed_a = _mm256_add_epi32(a, _mm256_sign_epi32(c.sign_unit, a));
  return _mm256_sra_epi32(_mm256_add_epi32(signed_a, c.bias), c.second_shift);
}

// Sixteen elements widened to int16, to int16 results within the activation range.
BENCH_AVX2 inline __m256i multiply16(__m256i x, __m256i y, const Constants& c) {
  const __m256i b = _mm256_sub_epi16(c.z2, y);
  const __m256i term1 = _mm256_mullo_epi16(x, b);
  const __m256i term2 = _mm256_mullo_epi16(c.minus_z1, b);
  const __m256i result =
      _mm256_packs_epi32(requantize8(_mm256_unpacklo_epi16(term1, term2), c),
                         requantize8(_mm256_unpackhi_epi16(term1, term2), c));
  return _mm256_min_epi16(_mm256_max_epi16(result, c.minimum), c.maximum);
}

BENCH_AVX2 void multiply(const int8_t* x, const int8_t* y, int8_t* out, size_t n,
                         const MulInt8Params& params) {
  const Constants c = prepare(params);
  for (size_t i = 0; i < n; i += kBlock) {
    const __m256i x8 = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(x + i));
    const __m256i y8 = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(y + i));
    // Unpacking a byte with itself and shifting right widens it; pack undoes the lane order.
    const __m256i low = multiply16(_mm256_srai_epi16(_mm256_unpacklo_epi8(x8, x8), 8),
                                   _mm256_srai_epi16(_mm256_unpacklo_epi8(y8, y8), 8), c);
    const __m256i high = multiply16(_mm256_srai_epi16(_mm256_unpackhi_epi8(x8, x8), 8),
                                    _mm256_srai_epi16(_mm256_unpackhi_epi8(y8, y8), 8), c);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + i), _mm256_packs_epi16(low, high));
  }
}

#undef BENCH_AVX2

}  // namespace

size_t mul_int8_vector(const int8_t* x, const int8_t* y, int8_t* out, size_t n,
                       const MulInt8Params& params) {
  const size_t blocks = n - n % kBlock;
  if (blocks == 0 || !__builtin_cpu_supports("avx2")) {
    return 0;
  }
  multiply(x, y, out, blocks, params);
  return blocks;
}

}  // namespace bench

#else

namespace bench {

size_t mul_int8_vector(const int8_t*, const int8_t*, int8_t*, size_t, const MulInt8Params&) {
  return 0;
}

}  // namespace bench

#endif
