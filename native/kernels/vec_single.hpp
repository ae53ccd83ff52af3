// Instruction sets whose widest register holds 256 bits, one slice of one block: no register spans two blocks. Included
// by their vec_<isa>.hpp.

namespace rankhash::RANKHASH_ISA {

// sum + a + b = sum + 2 carry, in every bit.
static inline void full_add(Bits& sum, Bits& carry, Bits a, Bits b) {
  const Bits half = sum ^ a;
  carry = (sum & a) | (half & b);
  sum = half ^ b;
}
static inline Bits or_xor(Bits a, Bits b, Bits c) { return a | (b ^ c); }

using Wide = Bits;
template <class V>
static inline V load_as(const void* p) {
  return load_bits(p);
}
template <class V>
static inline V fill_as(uint32_t word) {
  return fill_bits(word);
}
// The same slice of consecutive blocks that lie `stride` bytes apart.
template <class V>
static inline V gather_as(const uint8_t* slice, int64_t, int) {
  return load_bits(slice);
}

}  // namespace rankhash::RANKHASH_ISA
