// 256-bit vectors on AVX2 + FMA. The same names and meanings as vec_scalar.hpp.
#include <immintrin.h>

namespace rankhash::RANKHASH_ISA {

struct Bits {
  __m256i v;
};
static inline Bits load_bits(const void* p) { return {_mm256_loadu_si256(static_cast<const __m256i*>(p))}; }
static inline void store_bits(void* p, Bits a) { _mm256_storeu_si256(static_cast<__m256i*>(p), a.v); }
static inline Bits zero_bits() { return {_mm256_setzero_si256()}; }
static inline Bits fill_bits(uint32_t word) { return {_mm256_set1_epi32(static_cast<int>(word))}; }
static inline Bits operator&(Bits a, Bits b) { return {_mm256_and_si256(a.v, b.v)}; }
static inline Bits operator|(Bits a, Bits b) { return {_mm256_or_si256(a.v, b.v)}; }
static inline Bits operator^(Bits a, Bits b) { return {_mm256_xor_si256(a.v, b.v)}; }
static inline Bits and_not(Bits a, Bits b) { return {_mm256_andnot_si256(b.v, a.v)}; }  // a & ~b
static inline unsigned nonzero_words(Bits a) {  // bit i: word i of 64 bits is not 0
  const __m256i zero = _mm256_cmpeq_epi64(a.v, _mm256_setzero_si256());
  return static_cast<unsigned>(_mm256_movemask_pd(_mm256_castsi256_pd(zero))) ^ 0xFu;
}

}  // namespace rankhash::RANKHASH_ISA

#ifndef RANKHASH_TERNARY_LOGIC
#include "kernels/vec_single.hpp"
#endif

namespace rankhash::RANKHASH_ISA {

template <int N>
static inline Bits shift_right16(Bits a) {
  return {_mm256_srli_epi16(a.v, N)};
}
template <int N>
static inline Bits shift_left16(Bits a) {
  return {_mm256_slli_epi16(a.v, N)};
}

// Bytes and 16-bit words of the same 256 bits.
static inline Bits fill_bytes(uint8_t byte) { return {_mm256_set1_epi8(static_cast<char>(byte))}; }
static inline Bits load_table_bits(const uint8_t* p) {
  return {_mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)))};
}
#ifndef RANKHASH_TERNARY_LOGIC
template <class V>
static inline V load_table(const uint8_t* p) {  // 16 bytes, in every lane of 16
  return load_table_bits(p);
}
#endif
static inline Bits look_up(Bits table, Bits index) { return {_mm256_shuffle_epi8(table.v, index.v)}; }
static inline Bits add_bytes(Bits a, Bits b) { return {_mm256_add_epi8(a.v, b.v)}; }
static inline Bits add_bytes_saturated(Bits a, Bits b) { return {_mm256_adds_epu8(a.v, b.v)}; }
static inline Bits mean_bytes(Bits a, Bits b) { return {_mm256_avg_epu8(a.v, b.v)}; }  // rounded up
static inline Bits add_words_saturated(Bits a, Bits b) { return {_mm256_adds_epu16(a.v, b.v)}; }
static inline Bits min_bytes(Bits a, Bits b) { return {_mm256_min_epu8(a.v, b.v)}; }
static inline Bits min_words(Bits a, Bits b) { return {_mm256_min_epu16(a.v, b.v)}; }
static inline uint32_t byte_signs(Bits a) { return static_cast<uint32_t>(_mm256_movemask_epi8(a.v)); }
// One bit per byte: the byte is at most the bound. For words, even[i] and odd[i] belong to the bytes 2i and 2i + 1.
static inline uint32_t bytes_at_most(Bits a, Bits bound) {
  return byte_signs({_mm256_cmpeq_epi8(_mm256_min_epu8(a.v, bound.v), a.v)});
}
static inline uint32_t words_at_most(Bits even, Bits odd, Bits bound) {
  const __m256i low = _mm256_cmpeq_epi16(_mm256_min_epu16(even.v, bound.v), even.v);
  const __m256i high = _mm256_cmpeq_epi16(_mm256_min_epu16(odd.v, bound.v), odd.v);
  return byte_signs({_mm256_blendv_epi8(high, low, _mm256_set1_epi16(0x00FF))});
}

static inline Bits add_words(Bits a, Bits b) { return {_mm256_add_epi16(a.v, b.v)}; }
static inline Bits multiply_high(Bits a, Bits b) { return {_mm256_mulhi_epu16(a.v, b.v)}; }  // words: a · b / 2¹⁶
static inline Bits fold_words(Bits a) { return a; }  // the sums of a register's halves, if it is wider than a slice

struct Floats {
  __m256 v;
};
// The smallest of all lanes of both.
static inline float smallest(Floats a, Floats b) {
  const __m256 m = _mm256_min_ps(a.v, b.v);
  __m128 r = _mm_min_ps(_mm256_castps256_ps128(m), _mm256_extractf128_ps(m, 1));
  r = _mm_min_ps(r, _mm_movehl_ps(r, r));
  return _mm_cvtss_f32(_mm_min_ss(r, _mm_shuffle_ps(r, r, 1)));
}
// The non-negative lanes of both, truncated to integers and at most kMostLevel, as 16 bytes.
static inline void store_bytes(uint8_t* p, Floats a, Floats b) {
  const __m256 top = _mm256_set1_ps(kMostLevel);
  const __m256i x = _mm256_cvttps_epi32(_mm256_min_ps(a.v, top)), y = _mm256_cvttps_epi32(_mm256_min_ps(b.v, top));
  const __m256i words = _mm256_permute4x64_epi64(_mm256_packs_epi32(x, y), 0xD8);
  const __m128i bytes = _mm_packus_epi16(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p), bytes);
}
constexpr int kLanes = 8;
static inline Floats load_floats(const float* p) { return {_mm256_loadu_ps(p)}; }
static inline void store_floats(float* p, Floats a) { _mm256_storeu_ps(p, a.v); }
static inline Floats load_first_floats(const float* p, int n) {  // 0 in the other lanes, which are not read
  const __m256i lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  return {_mm256_maskload_ps(p, _mm256_cmpgt_epi32(_mm256_set1_epi32(n), lanes))};
}
static inline float sum_lanes(Floats a) {  // halves are added, then halves of these
  __m128 r = _mm_add_ps(_mm256_castps256_ps128(a.v), _mm256_extractf128_ps(a.v, 1));
  r = _mm_add_ps(r, _mm_movehl_ps(r, r));
  return _mm_cvtss_f32(_mm_add_ss(r, _mm_shuffle_ps(r, r, 1)));
}
static inline Floats load_halves(const uint16_t* p) {
  return {_mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)))};
}
static inline Floats load_small_integers(const int8_t* p) {
  return {_mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p))))};
}
static inline Floats fill_floats(float x) { return {_mm256_set1_ps(x)}; }
static inline Floats multiply_add(Floats a, Floats b, Floats c) { return {_mm256_fmadd_ps(a.v, b.v, c.v)}; }
static inline Floats operator*(Floats a, Floats b) { return {_mm256_mul_ps(a.v, b.v)}; }
static inline Floats operator+(Floats a, Floats b) { return {_mm256_add_ps(a.v, b.v)}; }
static inline Floats operator-(Floats a, Floats b) { return {_mm256_sub_ps(a.v, b.v)}; }
static inline Bits greater(Floats a, Floats b) { return {_mm256_castps_si256(_mm256_cmp_ps(a.v, b.v, _CMP_GT_OQ))}; }
static inline Floats choose(Bits mask, Floats yes, Floats no) {
  return {_mm256_blendv_ps(no.v, yes.v, _mm256_castsi256_ps(mask.v))};
}
static inline Bits choose(Bits mask, Bits yes, Bits no) { return {_mm256_blendv_epi8(no.v, yes.v, mask.v)}; }
static inline Bits shift_left32(Bits a, int n) { return {_mm256_sll_epi32(a.v, _mm_cvtsi32_si128(n))}; }
static inline Bits shift_right32(Bits a, int n) { return {_mm256_srl_epi32(a.v, _mm_cvtsi32_si128(n))}; }

// out[j][i] = in[i][j] for 8 rows of 8 floats.
static inline void transpose(Floats (&r)[kLanes]) {
  __m256 t[8], u[8];
  for (int i = 0; i < 4; ++i) {
    t[2 * i] = _mm256_unpacklo_ps(r[2 * i].v, r[2 * i + 1].v);
    t[2 * i + 1] = _mm256_unpackhi_ps(r[2 * i].v, r[2 * i + 1].v);
  }
  for (int i = 0; i < 2; ++i) {
    u[4 * i] = _mm256_shuffle_ps(t[4 * i], t[4 * i + 2], 0x44);
    u[4 * i + 1] = _mm256_shuffle_ps(t[4 * i], t[4 * i + 2], 0xEE);
    u[4 * i + 2] = _mm256_shuffle_ps(t[4 * i + 1], t[4 * i + 3], 0x44);
    u[4 * i + 3] = _mm256_shuffle_ps(t[4 * i + 1], t[4 * i + 3], 0xEE);
  }
  for (int i = 0; i < 4; ++i) {
    r[i].v = _mm256_permute2f128_ps(u[i], u[i + 4], 0x20);
    r[i + 4].v = _mm256_permute2f128_ps(u[i], u[i + 4], 0x31);
  }
}

}  // namespace rankhash::RANKHASH_ISA
