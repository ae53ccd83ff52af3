// 256-bit vectors in portable C++: for every machine, and the reference for the other instruction sets.

namespace rankhash::RANKHASH_ISA {

struct Bits {
  uint64_t w[4];
};
static inline Bits load_bits(const void* p) {
  Bits r;
  __builtin_memcpy(r.w, p, sizeof r.w);
  return r;
}
static inline void store_bits(void* p, Bits a) { __builtin_memcpy(p, a.w, sizeof a.w); }
static inline Bits zero_bits() { return {{0, 0, 0, 0}}; }
static inline Bits fill_bits(uint32_t word) {
  const uint64_t w = static_cast<uint64_t>(word) << 32 | word;
  return {{w, w, w, w}};
}
template <class F>
static inline Bits map_words64(Bits a, Bits b, F f) {
  for (int i = 0; i < 4; ++i) a.w[i] = f(a.w[i], b.w[i]);
  return a;
}
static inline Bits operator&(Bits a, Bits b) {
  return map_words64(a, b, [](uint64_t x, uint64_t y) { return x & y; });
}
static inline Bits operator|(Bits a, Bits b) {
  return map_words64(a, b, [](uint64_t x, uint64_t y) { return x | y; });
}
static inline Bits operator^(Bits a, Bits b) {
  return map_words64(a, b, [](uint64_t x, uint64_t y) { return x ^ y; });
}
static inline Bits and_not(Bits a, Bits b) {
  return map_words64(a, b, [](uint64_t x, uint64_t y) { return x & ~y; });
}
static inline unsigned nonzero_words(Bits a) {  // bit i: word i of 64 bits is not 0
  unsigned words = 0;
  for (int i = 0; i < 4; ++i) words |= static_cast<unsigned>(a.w[i] != 0) << i;
  return words;
}

}  // namespace rankhash::RANKHASH_ISA

#include "kernels/vec_single.hpp"

namespace rankhash::RANKHASH_ISA {

// Applies f to lanes of type T.
template <class T, class F>
static inline Bits map_lanes(Bits a, Bits b, F f) {
  T x[32 / sizeof(T)], y[32 / sizeof(T)];
  __builtin_memcpy(x, a.w, 32);
  __builtin_memcpy(y, b.w, 32);
  for (unsigned i = 0; i < 32 / sizeof(T); ++i) x[i] = static_cast<T>(f(x[i], y[i]));
  __builtin_memcpy(a.w, x, 32);
  return a;
}
template <int N>
static inline Bits shift_right16(Bits a) {
  return map_lanes<uint16_t>(a, a, [](uint16_t x, uint16_t) { return x >> N; });
}
template <int N>
static inline Bits shift_left16(Bits a) {
  return map_lanes<uint16_t>(a, a, [](uint16_t x, uint16_t) { return x << N; });
}

static inline Bits fill_bytes(uint8_t byte) { return fill_bits(0x01010101u * byte); }
template <class V>
static inline V load_table(const uint8_t* p) {  // 16 bytes, in every lane of 16
  Bits r;
  __builtin_memcpy(r.w, p, 16);
  __builtin_memcpy(r.w + 2, p, 16);
  return r;
}
static inline Bits look_up(Bits table, Bits index) {
  uint8_t t[16];
  __builtin_memcpy(t, table.w, 16);
  return map_lanes<uint8_t>(index, index, [&](uint8_t i, uint8_t) { return t[i & 15]; });
}
static inline Bits add_bytes(Bits a, Bits b) {
  return map_lanes<uint8_t>(a, b, [](uint8_t x, uint8_t y) { return x + y; });
}
static inline Bits add_bytes_saturated(Bits a, Bits b) {
  return map_lanes<uint8_t>(a, b, [](int x, int y) { return x + y > 255 ? 255 : x + y; });
}
static inline Bits mean_bytes(Bits a, Bits b) {  // rounded up
  return map_lanes<uint8_t>(a, b, [](int x, int y) { return (x + y + 1) / 2; });
}
static inline Bits add_words_saturated(Bits a, Bits b) {
  return map_lanes<uint16_t>(a, b, [](int x, int y) { return x + y > 65535 ? 65535 : x + y; });
}
static inline Bits min_bytes(Bits a, Bits b) {
  return map_lanes<uint8_t>(a, b, [](uint8_t x, uint8_t y) { return x < y ? x : y; });
}
static inline Bits min_words(Bits a, Bits b) {
  return map_lanes<uint16_t>(a, b, [](uint16_t x, uint16_t y) { return x < y ? x : y; });
}
static inline uint32_t byte_signs(Bits a) {
  uint8_t x[32];
  __builtin_memcpy(x, a.w, 32);
  uint32_t mask = 0;
  for (int i = 0; i < 32; ++i) mask |= static_cast<uint32_t>(x[i] >> 7) << i;
  return mask;
}

// One bit per byte: the byte is at most the bound. For words, even[i] and odd[i] belong to the bytes 2i and 2i + 1.
static inline uint32_t bytes_at_most(Bits a, Bits bound) {
  return byte_signs(map_lanes<uint8_t>(a, bound, [](uint8_t x, uint8_t y) { return x <= y ? 255 : 0; }));
}
static inline uint32_t words_at_most(Bits even, Bits odd, Bits bound) {
  const auto at_most = [](uint16_t x, uint16_t y) { return x <= y ? 65535 : 0; };
  const Bits low = map_lanes<uint16_t>(even, bound, at_most), high = map_lanes<uint16_t>(odd, bound, at_most);
  return byte_signs((low & fill_bits(0x00FF00FFu)) | (high & fill_bits(0xFF00FF00u)));
}

static inline Bits add_words(Bits a, Bits b) {
  return map_lanes<uint16_t>(a, b, [](uint16_t x, uint16_t y) { return static_cast<uint16_t>(x + y); });
}
static inline Bits multiply_high(Bits a, Bits b) {  // words: a · b / 2¹⁶
  return map_lanes<uint16_t>(a, b, [](uint16_t x, uint16_t y) { return static_cast<uint16_t>(uint32_t{x} * y >> 16); });
}
static inline Bits fold_words(Bits a) { return a; }  // the sums of a register's halves, if it is wider than a slice

struct Floats {
  float f[8];
};
constexpr int kLanes = 8;
static inline Floats load_floats(const float* p) {
  Floats r;
  __builtin_memcpy(r.f, p, sizeof r.f);
  return r;
}
static inline void store_floats(float* p, Floats a) { __builtin_memcpy(p, a.f, sizeof a.f); }
static inline Floats load_first_floats(const float* p, int n) {  // 0 in the other lanes, which are not read
  Floats r{};
  for (int i = 0; i < n; ++i) r.f[i] = p[i];
  return r;
}
static inline float sum_lanes(Floats a) {  // halves are added, then halves of these
  for (int half = kLanes / 2; half; half /= 2)
    for (int i = 0; i < half; ++i) a.f[i] += a.f[i + half];
  return a.f[0];
}
// The smallest of all lanes of both.
static inline float smallest(Floats a, Floats b) {
  float least = a.f[0];
  for (int i = 0; i < kLanes; ++i) {
    least = a.f[i] < least ? a.f[i] : least;
    least = b.f[i] < least ? b.f[i] : least;
  }
  return least;
}
// The non-negative lanes of both, truncated to integers and at most kMostLevel, as 16 bytes.
static inline void store_bytes(uint8_t* p, Floats a, Floats b) {
  for (int i = 0; i < kLanes; ++i) {
    p[i] = static_cast<uint8_t>(a.f[i] < kMostLevel ? a.f[i] : kMostLevel);
    p[kLanes + i] = static_cast<uint8_t>(b.f[i] < kMostLevel ? b.f[i] : kMostLevel);
  }
}
// A half-precision number as float; its exponent is adjusted by a multiplication, which is exact.
static inline float from_half(uint16_t half) {
  const uint32_t sign = static_cast<uint32_t>(half & 0x8000) << 16, rest = static_cast<uint32_t>(half & 0x7FFF) << 13;
  uint32_t bits = rest;
  float value;
  __builtin_memcpy(&value, &bits, 4);
  value *= 0x1p112f;
  if (half >= 0x7C00 && (half & 0x7C00) == 0x7C00) bits = rest | 0x7F800000u;
  else __builtin_memcpy(&bits, &value, 4);
  bits |= sign;
  __builtin_memcpy(&value, &bits, 4);
  return value;
}
static inline Floats load_halves(const uint16_t* p) {
  Floats r;
  for (int i = 0; i < kLanes; ++i) r.f[i] = from_half(p[i]);
  return r;
}
static inline Floats load_small_integers(const int8_t* p) {
  Floats r;
  for (int i = 0; i < kLanes; ++i) r.f[i] = p[i];
  return r;
}
static inline Floats fill_floats(float x) { return {{x, x, x, x, x, x, x, x}}; }

// a·b + c with a single rounding, on machines without fused multiply-add. The product is exact in double precision; the
// sum is rounded to odd, so that the second rounding, to float, is correct (Boldo and Melquiond, 2008).
static inline float multiply_add_one(float a, float b, float c) {
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
  return __builtin_fmaf(a, b, c);
#else
  const double p = static_cast<double>(a) * b, q = c, sum = p + q;
  const double from_p = sum - q, error = (p - from_p) + (q - (sum - from_p));
  uint64_t bits;
  __builtin_memcpy(&bits, &sum, 8);
  if ((error > 0 || error < 0) && !(bits & 1)) bits += ((error > 0) == (sum > 0)) ? 1 : -1;
  double odd;
  __builtin_memcpy(&odd, &bits, 8);
  return static_cast<float>(odd);
#endif
}
static inline Floats multiply_add(Floats a, Floats b, Floats c) {
  for (int i = 0; i < kLanes; ++i) c.f[i] = multiply_add_one(a.f[i], b.f[i], c.f[i]);
  return c;
}
static inline Floats operator*(Floats a, Floats b) {
  for (int i = 0; i < kLanes; ++i) a.f[i] *= b.f[i];
  return a;
}
static inline Floats operator+(Floats a, Floats b) {
  for (int i = 0; i < kLanes; ++i) a.f[i] += b.f[i];
  return a;
}
static inline Floats operator-(Floats a, Floats b) {
  for (int i = 0; i < kLanes; ++i) a.f[i] -= b.f[i];
  return a;
}
static inline Bits greater(Floats a, Floats b) {
  uint32_t m[8];
  for (int i = 0; i < kLanes; ++i) m[i] = a.f[i] > b.f[i] ? ~0u : 0u;
  return load_bits(m);
}
static inline Bits choose(Bits mask, Bits yes, Bits no) { return (yes & mask) | and_not(no, mask); }
static inline Floats choose(Bits mask, Floats yes, Floats no) {
  const Bits r = choose(mask, load_bits(yes.f), load_bits(no.f));
  Floats out;
  store_bits(out.f, r);
  return out;
}
static inline Bits shift_left32(Bits a, int n) {
  return map_lanes<uint32_t>(a, a, [n](uint32_t x, uint32_t) { return x << n; });
}
static inline Bits shift_right32(Bits a, int n) {
  return map_lanes<uint32_t>(a, a, [n](uint32_t x, uint32_t) { return x >> n; });
}
static inline void transpose(Floats (&r)[kLanes]) {
  for (int i = 0; i < kLanes; ++i)
    for (int j = 0; j < i; ++j) {
      const float t = r[i].f[j];
      r[i].f[j] = r[j].f[i];
      r[j].f[i] = t;
    }
}

}  // namespace rankhash::RANKHASH_ISA
