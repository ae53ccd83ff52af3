// Hash tables over a run of codes: what exact look-up reads.
//
//   offsets   key ─▶ first … end of its bucket          a key is the value of a run of symbols, base arity
//   places    the bucket's codes: position - start      ascending within a bucket
//   rows      the same codes, packed rows, in the order of places
//
// A block of 256 rows that lies wholly within one bucket is bit-sliced as in core/layout.hpp, so that the scan's
// kernel reads heavy buckets. It takes no more room than its rows did.
#pragma once
#include <cstddef>
#include <vector>

#include "core/view.hpp"

namespace rankhash {

constexpr int kRowPadding = 8;  // bytes behind the last row that kernels may read

// The symbols that make a key.
struct KeySpan {
  int first;
  int count;
};

struct KeyTable {
  KeySpan span;
  std::vector<uint64_t> span_bits;  // the bits of a packed row that make the key
  uint32_t n_keys;                  // arity^count
  const uint32_t* offsets;          // n_keys + 1
  const uint64_t* occupied;         // a bit a key: its bucket is not empty
  const uint32_t* places;           // size
  const uint8_t* rows;              // size × n_bytes, and kRowPadding

  bool is_occupied(uint32_t key) const { return occupied[key >> 6] >> (key & 63) & 1; }
  uint32_t bucket_size(uint32_t key) const { return offsets[key + 1] - offsets[key]; }
};

struct Segment {
  Layout layout;
  int64_t start;  // the first position, a multiple of kBlock
  int64_t size;
  std::vector<KeyTable> tables;
};

// Where the arrays of a table are written.
struct KeyTableOut {
  KeySpan span;
  uint32_t n_keys;
  uint32_t* offsets;
  uint32_t* places;
  uint8_t* rows;
};

// The bits of a packed row, in words, that make the key.
std::vector<uint64_t> bits_of(const Layout& layout, const KeySpan& span);

// The key of a packed row that is readable for kRowPadding bytes behind its end; below arity^count for any row.
uint32_t key_of(const uint8_t* row, const Layout& layout, const KeySpan& span);

// Fills the tables of the codes at start … start + size - 1; start is a multiple of kBlock.
void build_tables(const CodesView& view, int64_t start, int64_t size, const std::vector<KeyTableOut>& tables,
                  int n_threads);

// The bits of occupied buckets.
void mark_occupied(const uint32_t* offsets, uint32_t n_keys, uint64_t* occupied);

// The blocks of 256 rows that a bucket covers wholly: first, and behind the last.
struct BlockRun {
  uint32_t first, end;
};
inline BlockRun sliced_blocks(uint32_t begin, uint32_t end) {
  const uint32_t first = (begin + kBlock - 1) / kBlock, last = end / kBlock;
  return {first, last > first ? last : first};
}

}  // namespace rankhash
