// 512-bit registers that span two blocks, and three-operand logic. The 256-bit forms are those of vec_avx2.hpp, which
// the compiler translates for AVX-512 here. The same names and meanings as vec_scalar.hpp.
#define RANKHASH_TERNARY_LOGIC
#include "kernels/vec_avx2.hpp"
#undef RANKHASH_TERNARY_LOGIC

namespace rankhash::RANKHASH_ISA {

// Truth tables of vpternlog: bit 4a + 2b + c of the constant is the result.
constexpr int kXor3 = 0x96, kMajority = 0xE8, kOrXor = 0xF6, kChoose = 0xCA;

// sum + a + b = sum + 2 carry, in every bit.
static inline void full_add(Bits& sum, Bits& carry, Bits a, Bits b) {
  carry = {_mm256_ternarylogic_epi64(sum.v, a.v, b.v, kMajority)};
  sum = {_mm256_ternarylogic_epi64(sum.v, a.v, b.v, kXor3)};
}
static inline Bits or_xor(Bits a, Bits b, Bits c) { return {_mm256_ternarylogic_epi64(a.v, b.v, c.v, kOrXor)}; }

struct Wide {
  __m512i v;
};
static inline void store_bits(void* p, Wide a) { _mm512_storeu_si512(p, a.v); }
static inline Wide operator&(Wide a, Wide b) { return {_mm512_and_si512(a.v, b.v)}; }
static inline Wide operator|(Wide a, Wide b) { return {_mm512_or_si512(a.v, b.v)}; }
static inline Wide operator^(Wide a, Wide b) { return {_mm512_xor_si512(a.v, b.v)}; }
static inline Wide and_not(Wide a, Wide b) { return {_mm512_andnot_si512(b.v, a.v)}; }  // a & ~b
static inline unsigned nonzero_words(Wide a) { return _mm512_test_epi64_mask(a.v, a.v); }
static inline void full_add(Wide& sum, Wide& carry, Wide a, Wide b) {
  carry = {_mm512_ternarylogic_epi64(sum.v, a.v, b.v, kMajority)};
  sum = {_mm512_ternarylogic_epi64(sum.v, a.v, b.v, kXor3)};
}

template <class V>
static inline V load_as(const void* p) {
  if constexpr (sizeof(V) == sizeof(Bits)) return load_bits(p);
  else return {_mm512_loadu_si512(p)};
}
template <class V>
static inline V fill_as(uint32_t word) {
  if constexpr (sizeof(V) == sizeof(Bits)) return fill_bits(word);
  else return {_mm512_set1_epi32(static_cast<int>(word))};
}
// The same slice of consecutive blocks that lie `stride` bytes apart.
template <class V>
static inline V gather_as(const uint8_t* slice, int64_t stride, int n_blocks) {
  if constexpr (sizeof(V) == sizeof(Bits)) {
    return load_bits(slice);
  } else {
    const Bits second = n_blocks > 1 ? load_bits(slice + stride) : zero_bits();
    const __m512i both = _mm512_zextsi256_si512(load_bits(slice).v);
    return {_mm512_inserti64x4(both, second.v, 1)};
  }
}

// Bytes and 16-bit words. A lane of 16 bytes looks up in its own copy of the table.
template <class V>
static inline V load_table(const uint8_t* p) {
  return {_mm512_broadcast_i32x4(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)))};
}
static inline Wide look_up(Wide table, Wide index) { return {_mm512_shuffle_epi8(table.v, index.v)}; }
static inline Wide add_bytes(Wide a, Wide b) { return {_mm512_add_epi8(a.v, b.v)}; }
static inline Wide add_bytes_saturated(Wide a, Wide b) { return {_mm512_adds_epu8(a.v, b.v)}; }
static inline Wide mean_bytes(Wide a, Wide b) { return {_mm512_avg_epu8(a.v, b.v)}; }  // rounded up
static inline Wide add_words_saturated(Wide a, Wide b) { return {_mm512_adds_epu16(a.v, b.v)}; }
static inline Wide min_bytes(Wide a, Wide b) { return {_mm512_min_epu8(a.v, b.v)}; }
static inline Wide min_words(Wide a, Wide b) { return {_mm512_min_epu16(a.v, b.v)}; }
template <int N>
static inline Wide shift_right16(Wide a) {
  return {_mm512_srli_epi16(a.v, N)};
}
static inline uint64_t bytes_at_most(Wide a, Wide bound) { return _mm512_cmple_epu8_mask(a.v, bound.v); }
static inline uint64_t words_at_most(Wide even, Wide odd, Wide bound) {
  const __m512i low = _mm512_movm_epi16(_mm512_cmple_epu16_mask(even.v, bound.v));
  const __m512i high = _mm512_movm_epi16(_mm512_cmple_epu16_mask(odd.v, bound.v));
  const __m512i low_bytes = _mm512_set1_epi16(0x00FF);
  return _mm512_movepi8_mask(_mm512_ternarylogic_epi64(low_bytes, low, high, kChoose));
}

static inline Wide add_words(Wide a, Wide b) { return {_mm512_add_epi16(a.v, b.v)}; }
// The sums of a register's halves.
static inline Bits fold_words(Wide a) {
  return {_mm256_add_epi16(_mm512_castsi512_si256(a.v), _mm512_maskz_extracti64x4_epi64(0x0F, a.v, 1))};
}

}  // namespace rankhash::RANKHASH_ISA
