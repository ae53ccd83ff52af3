// The input of a search (blocks of codes, which of them are live, their ids) and its output.
#pragma once
#include <cstring>
#include <vector>

#include "core/layout.hpp"
#include "core/topk.hpp"

namespace rankhash {

struct CodesView {
  const uint8_t* blocks;
  int64_t size;
  Layout layout;
  const uint8_t* live;  // one bit per position, kSlice bytes per block; null: all codes are live
  IdView ids;

  int64_t n_blocks() const { return (size + kBlock - 1) / kBlock; }
  const uint8_t* block(int64_t i) const { return blocks + i * layout.n_bits * kSlice; }
  // Prefetches blocks.
  void fetch(int64_t first_block, int64_t last_block) const {
    const uint8_t* const end = block(last_block);
    for (const uint8_t* at = block(first_block); at < end; at += 64) __builtin_prefetch(at, 0, 2);
  }
  bool ordered(int64_t block) const { return (block + 1) * kBlock <= ids.n_ordered || size <= ids.n_ordered; }
};

// The masks of live codes, one block or a few consecutive blocks at a time.
class LiveMask {
 public:
  // Readers read the bytes of `together` blocks at a time.
  explicit LiveMask(const CodesView& view, int together = 1) : view_(view), together_(together) {
    std::memset(full_, 0xFF, sizeof full_);
  }

  // Whether every code of the blocks is live.
  bool all(int64_t first, int64_t n_blocks) const { return !view_.live && (first + n_blocks) * kBlock <= view_.size; }

  // The bytes of n_blocks <= together blocks, 0 after the last code; null if none of their codes is live.
  const uint8_t* at(int64_t first, int n_blocks = 1) {
    if (n_blocks == together_ && all(first, n_blocks)) return full_;
    const uint8_t* bytes = inside(first, n_blocks);
    for (int i = 0; i < n_blocks * kSlice; i += 8) {
      uint64_t word;
      std::memcpy(&word, bytes + i, 8);
      if (word) return bytes;
    }
    return nullptr;
  }

 private:
  static constexpr int kMostBlocks = 2;

  const uint8_t* inside(int64_t first, int n_blocks) {
    const int64_t left = view_.size - first * kBlock;
    const uint8_t* live = view_.live ? view_.live + first * kSlice : full_;
    if (n_blocks == together_ && left >= n_blocks * kBlock) return live;
    for (int i = 0; i < kMostBlocks * kSlice; ++i) {
      const int64_t here = i < n_blocks * kSlice ? left - 8 * i : 0;
      const unsigned mask = here >= 8 ? 0xFFu : here > 0 ? (1u << here) - 1 : 0u;
      part_[i] = static_cast<uint8_t>(mask ? mask & live[i] : 0u);
    }
    return part_;
  }

  const CodesView& view_;
  int together_;
  uint8_t full_[kMostBlocks * kSlice], part_[kMostBlocks * kSlice];
};

// Rows of hits of different lengths, concatenated.
struct RadiusHits {
  std::vector<int64_t> offsets;
  std::vector<int64_t> ids;
  std::vector<float> distances;
};

}  // namespace rankhash
