#include "core/codes.hpp"

#include <bit>
#include <cstring>

namespace rankhash {
namespace {

// Bit j of byte i becomes bit i of byte j.
uint64_t transpose8(uint64_t x) {
  uint64_t t = (x ^ (x >> 7)) & 0x00AA00AA00AA00AAull;
  x ^= t ^ (t << 7);
  t = (x ^ (x >> 14)) & 0x0000CCCC0000CCCCull;
  x ^= t ^ (t << 14);
  t = (x ^ (x >> 28)) & 0x00000000F0F0F0F0ull;
  return x ^ t ^ (t << 28);
}

int bytes_of(int n_bits) { return (n_bits + 7) / 8; }

uint8_t* slices_of(uint8_t* blocks, int n_bits, int64_t position) {
  return blocks + position / kBlock * n_bits * kSlice;
}

// Eight codes whose positions start at a multiple of eight.
void write_eight(uint8_t* blocks, int n_bits, int64_t position, const uint8_t* rows) {
  const int n_bytes = bytes_of(n_bits);
  uint8_t* out = slices_of(blocks, n_bits, position) + position % kBlock / 8;
  for (int byte = 0; byte < n_bytes; ++byte) {
    uint64_t square = 0;
    for (int i = 0; i < 8; ++i) square |= static_cast<uint64_t>(rows[i * n_bytes + byte]) << (8 * i);
    square = transpose8(square);
    const int count = n_bits - 8 * byte < 8 ? n_bits - 8 * byte : 8;
    for (int i = 0; i < count; ++i) out[(8 * byte + i) * kSlice] = static_cast<uint8_t>(square >> (8 * i));
  }
}

void write_one(uint8_t* blocks, int n_bits, int64_t position, const uint8_t* row) {
  uint8_t* out = slices_of(blocks, n_bits, position) + position % kBlock / 8;
  const uint8_t bit = static_cast<uint8_t>(1u << (position % 8));
  for (int t = 0; t < n_bits; ++t) {
    uint8_t& byte = out[t * kSlice];
    byte = row[t >> 3] >> (t & 7) & 1 ? byte | bit : byte & ~bit;
  }
}

}  // namespace

void pack_rows(const uint8_t* symbols, int64_t n, const Layout& layout, uint8_t* rows) {
  const int b = layout.symbol_bits;
  std::memset(rows, 0, static_cast<size_t>(n) * layout.n_bytes);
  for (int64_t i = 0; i < n; ++i, symbols += layout.n_symbols, rows += layout.n_bytes)
    for (int s = 0, at = 0; s < layout.n_symbols; ++s, at += b) {
      const unsigned value = static_cast<unsigned>(symbols[s]) << (at & 7);
      rows[at >> 3] |= static_cast<uint8_t>(value);
      if (value >> 8) rows[(at >> 3) + 1] |= static_cast<uint8_t>(value >> 8);
    }
}

void unpack_rows(const uint8_t* rows, int64_t n, const Layout& layout, uint8_t* symbols) {
  const int b = layout.symbol_bits;
  for (int64_t i = 0; i < n; ++i, symbols += layout.n_symbols, rows += layout.n_bytes)
    for (int s = 0; s < layout.n_symbols; ++s)
      symbols[s] = static_cast<uint8_t>(row_bits(rows, layout.n_bytes, s * b, b));
}

int64_t first_invalid_row(const uint8_t* rows, int64_t n, const Layout& layout) {
  const int b = layout.symbol_bits, spare = 8 * layout.n_bytes - layout.n_bits;
  const bool whole = layout.arity == 1 << b;
  if (whole && !spare) return -1;
  for (int64_t i = 0; i < n; ++i, rows += layout.n_bytes) {
    if (spare && rows[layout.n_bytes - 1] >> (8 - spare)) return i;
    if (whole) continue;
    for (int s = 0; s < layout.n_symbols; ++s)
      if (row_bits(rows, layout.n_bytes, s * b, b) >= static_cast<unsigned>(layout.arity)) return i;
  }
  return -1;
}

int64_t first_invalid_position(const uint8_t* blocks, int64_t size, const Layout& layout) {
  const int b = layout.symbol_bits;
  if (layout.arity == 1 << b) return -1;
  for (int64_t first = 0; first < size; first += 64) {
    const uint8_t* slices = blocks + first / kBlock * layout.n_bits * kSlice + first % kBlock / 8;
    uint64_t invalid = 0;
    for (int s = 0; s < layout.n_symbols; ++s, slices += b * kSlice) {
      uint64_t above = 0, equal = ~uint64_t{0};  // the symbol's leading bits compared with those of the arity
      for (int p = b; p-- > 0;) {
        uint64_t bits;
        std::memcpy(&bits, slices + p * kSlice, 8);
        if (!(layout.arity >> p & 1)) above |= equal & bits;
        equal &= layout.arity >> p & 1 ? bits : ~bits;
      }
      invalid |= above | equal;
    }
    if (size - first < 64) invalid &= (uint64_t{1} << (size - first)) - 1;
    if (invalid) return first + std::countr_zero(invalid);
  }
  return -1;
}

void write_slices(uint8_t* blocks, int n_bits, int64_t first, const uint8_t* rows, int64_t n) {
  const int n_bytes = bytes_of(n_bits);
  int64_t i = 0;
  for (; i < n && (first + i) % 8; ++i) write_one(blocks, n_bits, first + i, rows + i * n_bytes);
  for (; i + 8 <= n; i += 8) write_eight(blocks, n_bits, first + i, rows + i * n_bytes);
  for (; i < n; ++i) write_one(blocks, n_bits, first + i, rows + i * n_bytes);
}

void write_slices_at(uint8_t* blocks, int n_bits, const int64_t* positions, const uint8_t* rows, int64_t n) {
  const int n_bytes = bytes_of(n_bits);
  for (int64_t i = 0; i < n; ++i) write_one(blocks, n_bits, positions[i], rows + i * n_bytes);
}

void read_slices(const uint8_t* blocks, int n_bits, const int64_t* positions, uint8_t* rows, int64_t n) {
  const int n_bytes = bytes_of(n_bits);
  std::memset(rows, 0, static_cast<size_t>(n) * n_bytes);
  for (int64_t i = 0; i < n; ++i, rows += n_bytes) {
    const uint8_t* in = slices_of(const_cast<uint8_t*>(blocks), n_bits, positions[i]) + positions[i] % kBlock / 8;
    const int shift = static_cast<int>(positions[i] % 8);
    for (int t = 0; t < n_bits; ++t) rows[t >> 3] |= static_cast<uint8_t>((in[t * kSlice] >> shift & 1) << (t & 7));
  }
}

void read_block(const uint8_t* block, int n_bits, uint8_t* rows, int64_t n) {
  const int n_bytes = bytes_of(n_bits);
  for (int64_t first = 0; first < n; first += 8)
    for (int byte = 0; byte < n_bytes; ++byte) {
      const uint8_t* in = block + 8 * byte * kSlice + first / 8;
      const int count = n_bits - 8 * byte < 8 ? n_bits - 8 * byte : 8;
      uint64_t square = 0;
      for (int i = 0; i < count; ++i) square |= static_cast<uint64_t>(in[i * kSlice]) << (8 * i);
      square = transpose8(square);
      for (int64_t i = first; i < n && i < first + 8; ++i, square >>= 8)
        rows[i * n_bytes + byte] = static_cast<uint8_t>(square);
    }
}

}  // namespace rankhash
