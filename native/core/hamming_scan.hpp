// The scan behind core/hamming.hpp: a tile of queries against one block after another.
#pragma once
#include <bit>

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
  HammingScan(const CodesView& view, const uint8_t* rows, int64_t n, const Collector& empty)
      : view_(view),
        kernels_(active_kernels()),
        expanded_(n > kFewQueries),
        counter_bits_(std::max(kMinCounter, bit_width(view.layout.n_symbols))),
        collectors_(n, empty),
        below_(n, -1),
        bias_(n * kBiasStride) {
    expanded_ ? make_offsets(rows, n) : make_masks(rows, n);
    if (expanded_) planes_.resize(static_cast<size_t>(n_digits_) * planes_per_digit(view.layout) * kSlice);
  }

  HitLists<int32_t> run(int64_t first_block, int64_t last_block) {
    scan(first_block, last_block);
    HitLists<int32_t> lists;
    for (Collector& collector : collectors_) lists.push_back(collector.finish());
    return lists;
  }

  void scan(int64_t first_block, int64_t last_block) {
    LiveMask live(view_);
    HammingTile tile{};
    tile.digits = digits_.data();
    tile.bias = bias_.data();
    tile.n_queries = static_cast<int>(collectors_.size());
    tile.n_digits = n_digits_;
    tile.counter_bits = counter_bits_;
    tile.layout = view_.layout;
    tile.context = this;
    tile.on_hits = [](void* self, int q, const uint64_t* hits, const uint64_t* counters) {
      static_cast<HammingScan*>(self)->take(q, hits, counters);
    };
    start(view_.ordered(first_block));
    for (block_ = first_block; block_ < last_block; ++block_) {
      tile.live = live.at(block_);
      if (!tile.live) continue;
      if (ordered_ != view_.ordered(block_)) start(view_.ordered(block_));
      tile.planes = expanded_ ? planes_.data() : view_.block(block_);
      if (expanded_) kernels_.expand(view_.block(block_), view_.layout, planes_.data());
      expanded_ ? kernels_.count_expanded(tile) : kernels_.count_direct(tile);
    }
  }

  Collector& collector(int64_t query) { return collectors_[query]; }

 private:
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
    const uint32_t value_bytes = binary ? 2 * kSlice : kSlice;
    for (int64_t q = 0; q < n; ++q, rows += layout.n_bytes)
      for (int i = 0; i < n_digits_; ++i) {
        const uint32_t value = row_bits(rows, layout.n_bytes, i * bits, bits);
        digits_.push_back(i * planes_per_digit(layout) * kSlice + value * value_bytes);
      }
  }

  void start(bool ordered) {
    ordered_ = ordered;
    for (size_t q = 0; q < collectors_.size(); ++q) set_bias(q);
  }

  void set_bias(size_t q) {
    const int below = collectors_[q].below(ordered_);
    if (below == below_[q]) return;
    below_[q] = below;
    const int bias = (1 << counter_bits_) - below;
    for (int i = 0; i <= counter_bits_; ++i) bias_[q * kBiasStride + i] = bias >> i & 1 ? ~0u : 0u;
  }

  void take(int q, const uint64_t* hits, const uint64_t* counters) {
    Collector& collector = collectors_[q];
    const int bias = (1 << counter_bits_) - below_[q];
    for (int w = 0; w < 4; ++w)
      for (uint64_t left = hits[w]; left; left &= left - 1) {
        const int bit = std::countr_zero(left);
        int distance = -bias;
        for (int i = 0; i < counter_bits_; ++i) distance += static_cast<int>(counters[4 * i + w] >> bit & 1) << i;
        if (distance < collector.below(ordered_))
          collector.push(distance, view_.ids[block_ * kBlock + 64 * w + bit]);
      }
    set_bias(q);
  }

  const CodesView& view_;
  const Kernels& kernels_;
  bool expanded_;
  bool ordered_ = true;
  int counter_bits_;
  int n_digits_ = 0;
  int64_t block_ = 0;
  std::vector<Collector> collectors_;
  std::vector<int> below_;
  std::vector<uint32_t> bias_;
  std::vector<uint32_t> digits_;
  AlignedVector<uint8_t> planes_;
};

}  // namespace rankhash
