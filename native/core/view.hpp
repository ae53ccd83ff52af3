// What a search reads: blocks of codes, which of them are alive, their ids; and what it gives.
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
  const uint8_t* live;  // a bit a position, kSlice bytes a block; null: all of them
  IdView ids;

  int64_t n_blocks() const { return (size + kBlock - 1) / kBlock; }
  const uint8_t* block(int64_t i) const { return blocks + i * layout.n_bits * kSlice; }
  bool ordered(int64_t block) const { return (block + 1) * kBlock <= ids.n_ordered || size <= ids.n_ordered; }
};

// The living codes of one block after another.
class LiveMask {
 public:
  explicit LiveMask(const CodesView& view) : view_(view) { std::memset(bytes_, 0xFF, kSlice); }

  // kSlice bytes, or null if no code of the block is alive.
  const uint8_t* at(int64_t block) {
    const int64_t left = view_.size - block * kBlock;
    if (left >= kBlock) {
      if (!view_.live) return bytes_;
      const uint8_t* live = view_.live + block * kSlice;
      return any(live) ? live : nullptr;
    }
    for (int i = 0; i < kSlice; ++i) {
      const int64_t here = left - 8 * i;
      const unsigned inside = here >= 8 ? 0xFFu : here > 0 ? (1u << here) - 1 : 0u;
      bytes_[i] = static_cast<uint8_t>(inside & (view_.live ? view_.live[block * kSlice + i] : 0xFFu));
    }
    return any(bytes_) ? bytes_ : nullptr;
  }

 private:
  static bool any(const uint8_t* bytes) {
    uint64_t words[kSlice / 8];
    std::memcpy(words, bytes, kSlice);
    return words[0] | words[1] | words[2] | words[3];
  }

  const CodesView& view_;
  uint8_t bytes_[kSlice];
};

// Rows of hits of different length, one after another.
struct RadiusHits {
  std::vector<int64_t> offsets;
  std::vector<int64_t> ids;
  std::vector<float> distances;
};

}  // namespace rankhash
