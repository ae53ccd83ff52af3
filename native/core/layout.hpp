// The shape of a code, and of a block of codes in memory.
//
//   block  = 256 codes, bit-sliced: slice t (32 bytes) holds bit t of every code of the block
//   bit t of a code = bit t of its packed row (least significant first); symbol s takes bits s·b … s·b+b-1
//
// Plain data only: this header is also compiled with instruction-set flags, see kernels/kernels.hpp.
#pragma once
#include <cstdint>

namespace rankhash {

constexpr int kBlock = 256;
constexpr int kSlice = kBlock / 8;
constexpr int kMaxSymbols = 4096;
constexpr int kMaxArity = 16;

struct Layout {
  int n_symbols;
  int arity;
  int symbol_bits;
  int n_bits;
  int n_bytes;
};

constexpr int bit_width(unsigned value) {
  int width = 0;
  for (; value; value >>= 1) ++width;
  return width;
}

constexpr Layout make_layout(int n_symbols, int arity) {
  const int b = bit_width(static_cast<unsigned>(arity - 1));
  return {n_symbols, arity, b, n_symbols * b, (n_symbols * b + 7) / 8};
}

}  // namespace rankhash
