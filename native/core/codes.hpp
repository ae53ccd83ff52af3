// Packed rows: symbols ⇄ rows ⇄ bit slices.
#pragma once
#include "core/layout.hpp"

namespace rankhash {

void pack_rows(const uint8_t* symbols, int64_t n, const Layout& layout, uint8_t* rows);
void unpack_rows(const uint8_t* rows, int64_t n, const Layout& layout, uint8_t* symbols);

// The first row with a symbol of layout.arity or above or with padding bits that are not 0, or -1.
int64_t first_invalid_row(const uint8_t* rows, int64_t n, const Layout& layout);

// The first position below `size` in blocks whose code has a symbol of layout.arity or above, or -1.
int64_t first_invalid_position(const uint8_t* blocks, int64_t size, const Layout& layout);

// Rows written to the positions first, first + 1, … of blocks; to given positions; read from given positions.
void write_slices(uint8_t* blocks, int n_bits, int64_t first, const uint8_t* rows, int64_t n);
void write_slices_at(uint8_t* blocks, int n_bits, const int64_t* positions, const uint8_t* rows, int64_t n);
void read_slices(const uint8_t* blocks, int n_bits, const int64_t* positions, uint8_t* rows, int64_t n);

// The first n rows of one block.
void read_block(const uint8_t* block, int n_bits, uint8_t* rows, int64_t n);

// Bits first … first + count - 1 of a row, count <= 8; the row has n_bytes bytes.
inline unsigned row_bits(const uint8_t* row, int n_bytes, int first, int count) {
  const int byte = first >> 3;
  unsigned value = row[byte];
  if (byte + 1 < n_bytes) value |= static_cast<unsigned>(row[byte + 1]) << 8;
  return value >> (first & 7) & ((1u << count) - 1);
}

// Symbol s of a row. Values of the arity or above, which only a damaged row holds, are clamped to arity - 1, so that
// tables indexed by symbols are never read out of bounds.
inline unsigned symbol_at(const uint8_t* row, const Layout& layout, int s) {
  const unsigned value = row_bits(row, layout.n_bytes, s * layout.symbol_bits, layout.symbol_bits);
  const unsigned largest = static_cast<unsigned>(layout.arity - 1);
  return value < largest ? value : largest;
}

}  // namespace rankhash
