// Hash tables over a range of positions, for exact look-up.
//
//   offsets   key ─▶ first … end of its bucket          a key is the value of a run of symbols, base arity
//   places    the bucket's codes: position - start      ascending within a bucket
//   rows      the same codes, packed rows, in the order of places
//
// A block of 256 rows that lies wholly within one bucket is bit-sliced as in core/layout.hpp, so that large buckets are
// compared by the kernel of scans. It takes no more memory than its rows.
#pragma once
#include <cstddef>
#include <vector>

#include "core/view.hpp"

namespace rankhash {

constexpr int kRowPadding = 8;  // bytes after the last row that kernels may read

// The run of symbols whose value is the key.
struct KeySpan {
  int first;
  int count;
};

struct KeyTable {
  KeySpan span;
  std::vector<uint64_t> span_bits;  // mask of the key's bits in a packed row
  uint32_t n_keys;                  // arity^count
  const uint32_t* offsets;          // n_keys + 1
  const uint64_t* occupied;         // one bit per key: its bucket is not empty
  const uint32_t* places;           // size
  const uint8_t* rows;              // size × n_bytes, and kRowPadding bytes

  bool is_occupied(uint32_t key) const { return occupied[key >> 6] >> (key & 63) & 1; }
  uint32_t bucket_size(uint32_t key) const { return offsets[key + 1] - offsets[key]; }
};

struct Segment {
  Layout layout;
  int64_t start;  // the first position, a multiple of kBlock
  int64_t size;
  std::vector<KeyTable> tables;
};

// The output arrays of a table.
struct KeyTableOut {
  KeySpan span;
  uint32_t n_keys;
  uint32_t* offsets;
  uint32_t* places;
  uint8_t* rows;
};

// The mask of the key's bits in a packed row, in words.
std::vector<uint64_t> bits_of(const Layout& layout, const KeySpan& span);

// The key of a packed row that is readable for kRowPadding bytes beyond its end; below arity^count for any row.
uint32_t key_of(const uint8_t* row, const Layout& layout, const KeySpan& span);

// Fills the tables of the codes at start … start + size - 1; start is a multiple of kBlock.
void build_tables(const CodesView& view, int64_t start, int64_t size, const std::vector<KeyTableOut>& tables,
                  int n_threads);

// Sets the bits of the keys whose buckets are not empty.
void mark_occupied(const uint32_t* offsets, uint32_t n_keys, uint64_t* occupied);

// The blocks of 256 rows that a bucket covers wholly: first … end - 1.
struct BlockRun {
  uint32_t first, end;
};
inline BlockRun sliced_blocks(uint32_t begin, uint32_t end) {
  const uint32_t first = (begin + kBlock - 1) / kBlock, last = end / kBlock;
  return {first, last > first ? last : first};
}

}  // namespace rankhash
