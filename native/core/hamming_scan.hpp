// The scan behind core/hamming.hpp: a tile of queries against one block after another.
#pragma once
#include <bit>
#include <cstring>
#include <span>
#include <utility>

#include "core/aligned.hpp"
#include "core/codes.hpp"
#include "core/tiles.hpp"
#include "kernels/kernels.hpp"

namespace rankhash {

inline constexpr int64_t kFewQueries = 6;  // up to here expanding a block costs more than it saves

// Collectors may hold hits already, as long as those come from smaller ids or no block is ordered.
template <class Collector>
class HammingScan {
 public:
  HammingScan(const CodesView& view, const uint8_t* rows, std::vector<Collector> collectors)
      : view_(view),
        kernels_(active_kernels()),
        expanded_(static_cast<int64_t>(collectors.size()) > kFewQueries),
        together_(expanded_ ? kernels_.blocks_together(view.layout) : 1),
        counter_bits_(std::max(kMinCounter, bit_width(view.layout.n_symbols))),
        collectors_(std::move(collectors)),
        below_(collectors_.size(), -1),
        bias_(collectors_.size() * kBiasStride) {
    const int64_t n = static_cast<int64_t>(collectors_.size());
    expanded_ ? make_offsets(rows, n) : make_masks(rows, n);
    if constexpr (Collector::kPositions)
      for (Collector& collector : collectors_) sinks_.push_back(collector.sink());
    if (expanded_) planes_.resize(static_cast<size_t>(n_digits_) * planes_per_digit(view.layout) * plane_bytes());
  }

  void scan(int64_t first_block, int64_t last_block) {
    HammingTile tile{};
    tile.digits = digits_.data();
    tile.bias = bias_.data();
    tile.n_queries = static_cast<int>(collectors_.size());
    tile.n_digits = n_digits_;
    tile.counter_bits = counter_bits_;
    tile.layout = view_.layout;
    tile.context = this;
    tile.frequent = frequent_;
    if constexpr (Collector::kPositions) {
      tile.sinks = sinks_.data();
      tile.on_full = [](void* self, const uint16_t* queries, int n) {
        for (const uint16_t q : std::span(queries, n)) static_cast<HammingScan*>(self)->update(q);
      };
    } else {
      tile.on_hits = [](void* self, const HammingHits& hits) { static_cast<HammingScan*>(self)->take(hits); };
    }
    expanded_ ? scan_expanded(tile, first_block, last_block) : scan_direct(tile, first_block, last_block);
  }

  // To be asked after the scan.
  Collector& collector(int64_t query) {
    if constexpr (Collector::kPositions) collectors_[query].update(sinks_[query].next);
    return collectors_[query];
  }

  // Before the scan: about one step in `steps_per_hit` will have a hit.
  void expect_hits(double steps_per_hit) { frequent_ = steps_per_hit < kFrequent; }

 private:
  static constexpr double kFrequent = 8;
  static constexpr int kPrimed = 64;         // codes that give the first limit
  static constexpr int64_t kRunBlocks = 64;  // blocks that a single query goes through in one call; an even number

  uint32_t plane_bytes() const { return together_ * kSlice; }

  // A step is as ordered as its last block.
  void count(HammingTile& tile, int64_t first_block) {
    block_ = first_block;
    tile.first = first_block * kBlock;
    const bool ordered = view_.ordered(first_block + tile.n_blocks - 1);
    if (!started_ || ordered != ordered_) start(ordered);
    if (!primed_) return prime(tile);
    (expanded_ ? kernels_.count_expanded : kernels_.count_direct)(tile);
  }

  void scan_expanded(HammingTile& tile, int64_t first_block, int64_t last_block) {
    LiveMask live(view_, together_);
    tile.planes = planes_.data();
    for (int64_t block = first_block; block < last_block; block += together_) {
      if ((block - first_block) % kRunBlocks == 0) check_interrupt();
      tile.n_blocks = static_cast<int>(std::min<int64_t>(together_, last_block - block));
      tile.live = live.at(block, tile.n_blocks);
      if (!tile.live) continue;
      kernels_.expand(view_.block(block), tile.n_blocks, view_.layout, planes_.data());
      if (block + together_ < last_block) view_.fetch(block + together_, std::min(block + 2 * together_, last_block));
      count(tile, block);
    }
  }

  // Runs of blocks whose codes are all alive go through one call, others through a call each.
  void scan_direct(HammingTile& tile, int64_t first_block, int64_t last_block) {
    LiveMask live(view_);
    for (int64_t block = first_block, n; block < last_block; block += n) {
      if ((block - first_block) % kRunBlocks == 0) check_interrupt();
      n = std::min(kRunBlocks - (block - first_block) % kRunBlocks, last_block - block);
      if (!primed_ || !live.all(block, n) || view_.ordered(block) != view_.ordered(block + n - 1)) n = 1;
      tile.live = live.at(block);
      if (!tile.live) continue;
      tile.planes = view_.block(block);
      tile.n_blocks = static_cast<int>(n);
      count(tile, block);
    }
  }

  // Without a limit all codes of the first blocks were hits: a few of them, counted before the others, give one.
  void prime(HammingTile tile) {
    primed_ = true;
    if (!Collector::kFixed && collectors_[0].wanted() <= kPrimed && below_[0] > view_.layout.n_symbols) {
      constexpr int n_first = kPrimed / 8;
      std::memset(primed_live_, 0, sizeof primed_live_);
      std::memcpy(primed_live_, tile.live, n_first);
      const uint8_t* all = std::exchange(tile.live, primed_live_);
      count(tile, block_);
      std::memset(primed_live_, 0, n_first);
      std::memcpy(primed_live_ + n_first, all + n_first, tile.n_blocks * kSlice - n_first);
    }
    count(tile, block_);
  }

  void make_masks(const uint8_t* rows, int64_t n) {
    n_digits_ = view_.layout.n_bits;
    digits_.reserve(n * n_digits_);
    for (int64_t q = 0; q < n; ++q, rows += view_.layout.n_bytes)
      for (int t = 0; t < n_digits_; ++t) digits_.push_back(rows[t >> 3] >> (t & 7) & 1 ? ~0u : 0u);
  }

  void make_offsets(const uint8_t* rows, int64_t n) {
    const Layout& layout = view_.layout;
    n_digits_ = digits_of(layout);
    digits_.reserve(n * n_digits_);
    const bool binary = layout.arity == 2;
    const int bits = binary ? kBinaryGroup : layout.symbol_bits;
    const uint32_t value_bytes = (binary ? 2 : 1) * plane_bytes();
    for (int64_t q = 0; q < n; ++q, rows += layout.n_bytes)
      for (int i = 0; i < n_digits_; ++i) {
        const uint32_t value = row_bits(rows, layout.n_bytes, i * bits, bits);
        digits_.push_back(i * planes_per_digit(layout) * plane_bytes() + value * value_bytes);
      }
  }

  void start(bool ordered) {
    ordered_ = ordered;
    started_ = true;
    for (size_t q = 0; q < collectors_.size(); ++q) set_bias(q);
  }

  void set_bias(size_t q) {
    const int below = collectors_[q].below(ordered_);
    if (below == below_[q]) return;
    below_[q] = below;
    const int bias = (1 << counter_bits_) - below;
    for (int i = 0; i <= counter_bits_; ++i) bias_[q * kBiasStride + i] = bias >> i & 1 ? ~0u : 0u;
    if constexpr (Collector::kPositions) sinks_[q].start = static_cast<uint64_t>(-int64_t{bias});
  }

  // A sink has reached its stop.
  void update(int q) {
    const uint64_t start = sinks_[q].start;
    sinks_[q] = collectors_[q].update(sinks_[q].next);
    sinks_[q].start = start;
    set_bias(q);
  }

  void take(const HammingHits& hits) {
    const int64_t first = (block_ + hits.block) * kBlock;
    for (const CountedCode& code : std::span(hits.codes, hits.n)) {
      Collector& collector = collectors_[code.query];
      const int distance = static_cast<int>(code.counter) - (1 << counter_bits_) + below_[code.query];
      if (distance >= collector.below(ordered_)) continue;
      if (collector.push(distance, view_.ids[first + code.place])) changed_.push_back(code.query);
    }
    if (!hits.last) return;
    for (const int q : changed_) set_bias(q);
    changed_.clear();
  }

  const CodesView& view_;
  const Kernels& kernels_;
  bool expanded_;
  int together_;  // blocks per step
  bool started_ = false, primed_ = false, ordered_ = true, frequent_ = false;
  int counter_bits_;
  int n_digits_ = 0;
  int64_t block_ = 0;
  std::vector<Collector> collectors_;
  std::vector<int> below_;
  std::vector<int> changed_;    // queries whose limit has fallen
  std::vector<HitSink> sinks_;  // of collectors of positions, which need no calls per hit
  std::vector<uint32_t> bias_;
  std::vector<uint32_t> digits_;
  AlignedVector<uint8_t> planes_;
  uint8_t primed_live_[kMostTogether * kSlice];
};

}  // namespace rankhash
