// 256-bit vectors as two registers of 128 bits on ARM NEON (AArch64). The same names and meanings as vec_scalar.hpp.
#include <arm_neon.h>

namespace rankhash::RANKHASH_ISA {

struct Bits {
  uint8x16_t lo, hi;
};
static inline Bits load_bits(const void* p) {
  const uint8_t* bytes = static_cast<const uint8_t*>(p);
  return {vld1q_u8(bytes), vld1q_u8(bytes + 16)};
}
static inline void store_bits(void* p, Bits a) {
  uint8_t* bytes = static_cast<uint8_t*>(p);
  vst1q_u8(bytes, a.lo);
  vst1q_u8(bytes + 16, a.hi);
}
static inline Bits both(uint8x16_t half) { return {half, half}; }
static inline Bits zero_bits() { return both(vdupq_n_u8(0)); }
static inline Bits fill_bits(uint32_t word) { return both(vreinterpretq_u8_u32(vdupq_n_u32(word))); }
static inline Bits operator&(Bits a, Bits b) { return {vandq_u8(a.lo, b.lo), vandq_u8(a.hi, b.hi)}; }
static inline Bits operator|(Bits a, Bits b) { return {vorrq_u8(a.lo, b.lo), vorrq_u8(a.hi, b.hi)}; }
static inline Bits operator^(Bits a, Bits b) { return {veorq_u8(a.lo, b.lo), veorq_u8(a.hi, b.hi)}; }
static inline Bits and_not(Bits a, Bits b) { return {vbicq_u8(a.lo, b.lo), vbicq_u8(a.hi, b.hi)}; }  // a & ~b
static inline unsigned nonzero_words(Bits a) {  // bit i: word i of 64 bits is not 0
  const uint64x2_t lo = vreinterpretq_u64_u8(a.lo), hi = vreinterpretq_u64_u8(a.hi);
  const auto bit = [](uint64_t word, int i) { return static_cast<unsigned>(word != 0) << i; };
  return bit(vgetq_lane_u64(lo, 0), 0) | bit(vgetq_lane_u64(lo, 1), 1) | bit(vgetq_lane_u64(hi, 0), 2) |
         bit(vgetq_lane_u64(hi, 1), 3);
}

}  // namespace rankhash::RANKHASH_ISA

#include "kernels/vec_single.hpp"

namespace rankhash::RANKHASH_ISA {

static inline uint16x8_t words(uint8x16_t a) { return vreinterpretq_u16_u8(a); }
static inline uint32x4_t longs(uint8x16_t a) { return vreinterpretq_u32_u8(a); }
static inline uint8x16_t bytes(uint16x8_t a) { return vreinterpretq_u8_u16(a); }
static inline uint8x16_t bytes(uint32x4_t a) { return vreinterpretq_u8_u32(a); }

template <int N>
static inline Bits shift_right16(Bits a) {
  return {bytes(vshrq_n_u16(words(a.lo), N)), bytes(vshrq_n_u16(words(a.hi), N))};
}
template <int N>
static inline Bits shift_left16(Bits a) {
  return {bytes(vshlq_n_u16(words(a.lo), N)), bytes(vshlq_n_u16(words(a.hi), N))};
}

// Bytes and 16-bit words of the same 256 bits.
static inline Bits fill_bytes(uint8_t byte) { return both(vdupq_n_u8(byte)); }
template <class V>
static inline V load_table(const uint8_t* p) {  // 16 bytes, in every lane of 16
  return both(vld1q_u8(p));
}
static inline Bits look_up(Bits table, Bits index) {  // indexes are below 16
  return {vqtbl1q_u8(table.lo, index.lo), vqtbl1q_u8(table.hi, index.hi)};
}
static inline Bits add_bytes(Bits a, Bits b) { return {vaddq_u8(a.lo, b.lo), vaddq_u8(a.hi, b.hi)}; }
static inline Bits add_bytes_saturated(Bits a, Bits b) { return {vqaddq_u8(a.lo, b.lo), vqaddq_u8(a.hi, b.hi)}; }
static inline Bits mean_bytes(Bits a, Bits b) {
  return {vrhaddq_u8(a.lo, b.lo), vrhaddq_u8(a.hi, b.hi)};
}  // rounded up
static inline Bits add_words_saturated(Bits a, Bits b) {
  return {bytes(vqaddq_u16(words(a.lo), words(b.lo))), bytes(vqaddq_u16(words(a.hi), words(b.hi)))};
}
static inline Bits min_bytes(Bits a, Bits b) { return {vminq_u8(a.lo, b.lo), vminq_u8(a.hi, b.hi)}; }
static inline Bits min_words(Bits a, Bits b) {
  return {bytes(vminq_u16(words(a.lo), words(b.lo))), bytes(vminq_u16(words(a.hi), words(b.hi)))};
}
// Bit i of the result is the highest bit of byte i: each byte's bit is put into its place, then neighbours are added.
static inline uint32_t half_signs(uint8x16_t a) {
  const int8x16_t places = {0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3, 4, 5, 6, 7};
  const uint8x16_t placed = vshlq_u8(vshrq_n_u8(a, 7), places);
  return vaddv_u8(vget_low_u8(placed)) | static_cast<uint32_t>(vaddv_u8(vget_high_u8(placed))) << 8;
}
static inline uint32_t byte_signs(Bits a) { return half_signs(a.lo) | half_signs(a.hi) << 16; }
// One bit per byte: the byte is at most the bound. For words, even[i] and odd[i] belong to the bytes 2i and 2i + 1.
static inline uint32_t bytes_at_most(Bits a, Bits bound) {
  return byte_signs({vcleq_u8(a.lo, bound.lo), vcleq_u8(a.hi, bound.hi)});
}
static inline uint8x16_t words_at_most_half(uint8x16_t even, uint8x16_t odd, uint8x16_t bound) {
  const uint8x16_t low_bytes = bytes(vdupq_n_u16(0x00FF));
  return vbslq_u8(low_bytes, bytes(vcleq_u16(words(even), words(bound))), bytes(vcleq_u16(words(odd), words(bound))));
}
static inline uint32_t words_at_most(Bits even, Bits odd, Bits bound) {
  return byte_signs({words_at_most_half(even.lo, odd.lo, bound.lo), words_at_most_half(even.hi, odd.hi, bound.hi)});
}

static inline Bits add_words(Bits a, Bits b) {
  return {bytes(vaddq_u16(words(a.lo), words(b.lo))), bytes(vaddq_u16(words(a.hi), words(b.hi)))};
}
static inline uint8x16_t multiply_high_half(uint16x8_t a, uint16x8_t b) {
  const uint32x4_t low = vmull_u16(vget_low_u16(a), vget_low_u16(b)), high = vmull_high_u16(a, b);
  return bytes(vcombine_u16(vshrn_n_u32(low, 16), vshrn_n_u32(high, 16)));
}
static inline Bits multiply_high(Bits a, Bits b) {  // words: a · b / 2¹⁶
  return {multiply_high_half(words(a.lo), words(b.lo)), multiply_high_half(words(a.hi), words(b.hi))};
}
static inline Bits fold_words(Bits a) { return a; }  // the sums of a register's halves, if it is wider than a slice

struct Floats {
  float32x4_t lo, hi;
};
constexpr int kLanes = 8;
static inline Floats load_floats(const float* p) { return {vld1q_f32(p), vld1q_f32(p + 4)}; }
static inline void store_floats(float* p, Floats a) {
  vst1q_f32(p, a.lo);
  vst1q_f32(p + 4, a.hi);
}
static inline Floats load_first_floats(const float* p, int n) {  // 0 in the other lanes, which are not read
  float lanes[kLanes] = {};
  for (int i = 0; i < n; ++i) lanes[i] = p[i];
  return load_floats(lanes);
}
static inline float sum_lanes(Floats a) {  // halves are added, then halves of these
  const float32x4_t quarter = vaddq_f32(a.lo, a.hi);
  const float32x2_t pair = vadd_f32(vget_low_f32(quarter), vget_high_f32(quarter));
  return vget_lane_f32(pair, 0) + vget_lane_f32(pair, 1);
}
static inline float smallest(Floats a, Floats b) {
  return vminvq_f32(vminq_f32(vminq_f32(a.lo, a.hi), vminq_f32(b.lo, b.hi)));
}
static inline uint16x8_t to_words(Floats a) {
  return vcombine_u16(vqmovn_u32(vcvtq_u32_f32(a.lo)), vqmovn_u32(vcvtq_u32_f32(a.hi)));
}
static inline void store_bytes(uint8_t* p, Floats a, Floats b) {
  const uint8x16_t bytes = vcombine_u8(vqmovn_u16(to_words(a)), vqmovn_u16(to_words(b)));
  vst1q_u8(p, vminq_u8(bytes, vdupq_n_u8(kMostLevel)));
}
static inline Floats load_halves(const uint16_t* p) {
  const float16x8_t halves = vreinterpretq_f16_u16(vld1q_u16(p));
  return {vcvt_f32_f16(vget_low_f16(halves)), vcvt_high_f32_f16(halves)};
}
static inline Floats load_small_integers(const int8_t* p) {
  const int16x8_t wide = vmovl_s8(vld1_s8(p));
  return {vcvtq_f32_s32(vmovl_s16(vget_low_s16(wide))), vcvtq_f32_s32(vmovl_high_s16(wide))};
}
static inline Floats fill_floats(float x) { return {vdupq_n_f32(x), vdupq_n_f32(x)}; }
static inline Floats multiply_add(Floats a, Floats b, Floats c) {
  return {vfmaq_f32(c.lo, a.lo, b.lo), vfmaq_f32(c.hi, a.hi, b.hi)};
}
static inline Floats operator*(Floats a, Floats b) { return {vmulq_f32(a.lo, b.lo), vmulq_f32(a.hi, b.hi)}; }
static inline Floats operator+(Floats a, Floats b) { return {vaddq_f32(a.lo, b.lo), vaddq_f32(a.hi, b.hi)}; }
static inline Floats operator-(Floats a, Floats b) { return {vsubq_f32(a.lo, b.lo), vsubq_f32(a.hi, b.hi)}; }
static inline Bits greater(Floats a, Floats b) { return {bytes(vcgtq_f32(a.lo, b.lo)), bytes(vcgtq_f32(a.hi, b.hi))}; }
static inline Floats choose(Bits mask, Floats yes, Floats no) {
  return {vbslq_f32(longs(mask.lo), yes.lo, no.lo), vbslq_f32(longs(mask.hi), yes.hi, no.hi)};
}
static inline Bits choose(Bits mask, Bits yes, Bits no) {
  return {vbslq_u8(mask.lo, yes.lo, no.lo), vbslq_u8(mask.hi, yes.hi, no.hi)};
}
static inline Bits shift_left32(Bits a, int n) {
  const int32x4_t by = vdupq_n_s32(n);
  return {bytes(vshlq_u32(longs(a.lo), by)), bytes(vshlq_u32(longs(a.hi), by))};
}
static inline Bits shift_right32(Bits a, int n) { return shift_left32(a, -n); }

// out[j][i] = in[i][j] for 4 rows of 4 floats.
static inline void transpose4(float32x4_t& a, float32x4_t& b, float32x4_t& c, float32x4_t& d) {
  const float64x2_t t0 = vreinterpretq_f64_f32(vtrn1q_f32(a, b)), t1 = vreinterpretq_f64_f32(vtrn2q_f32(a, b));
  const float64x2_t t2 = vreinterpretq_f64_f32(vtrn1q_f32(c, d)), t3 = vreinterpretq_f64_f32(vtrn2q_f32(c, d));
  a = vreinterpretq_f32_f64(vtrn1q_f64(t0, t2));
  b = vreinterpretq_f32_f64(vtrn1q_f64(t1, t3));
  c = vreinterpretq_f32_f64(vtrn2q_f64(t0, t2));
  d = vreinterpretq_f32_f64(vtrn2q_f64(t1, t3));
}
static inline void transpose(Floats (&r)[kLanes]) {
  transpose4(r[0].lo, r[1].lo, r[2].lo, r[3].lo);
  transpose4(r[0].hi, r[1].hi, r[2].hi, r[3].hi);
  transpose4(r[4].lo, r[5].lo, r[6].lo, r[7].lo);
  transpose4(r[4].hi, r[5].hi, r[6].hi, r[7].hi);
  for (int i = 0; i < 4; ++i) {
    const float32x4_t upper = r[i].hi;
    r[i].hi = r[i + 4].lo;
    r[i + 4].lo = upper;
  }
}

}  // namespace rankhash::RANKHASH_ISA
