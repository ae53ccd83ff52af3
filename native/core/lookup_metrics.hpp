// Distances between a query and rows of hash tables: the number of differing symbols, or the sum of their weights.
#pragma once
#include <bit>
#include <cmath>
#include <memory>

#include "core/hamming_scan.hpp"
#include "core/lookup.hpp"
#include "core/score_scan.hpp"

namespace rankhash {

// A packed query in words, and the mask of the first bits of its symbols.
class RowQuery {
 public:
  RowQuery(const Layout& layout, const uint8_t* row)
      : layout_(layout), n_words_((layout.n_bits + 63) / 64), words_(n_words_ + 1), firsts_(n_words_) {
    std::memcpy(words_.data(), row, layout.n_bytes);
    for (int bit = 0; bit < layout.n_bits; bit += layout.symbol_bits) firsts_[bit >> 6] |= uint64_t{1} << (bit & 63);
  }

  const uint8_t* bytes() const { return reinterpret_cast<const uint8_t*>(words_.data()); }
  const uint64_t* words() const { return words_.data(); }
  const uint64_t* firsts() const { return firsts_.data(); }
  int n_words() const { return n_words_; }

  // The first bits of the symbols in which the row differs; the row is readable for kRowPadding bytes beyond its end.
  void differing(const uint8_t* row, uint64_t* out) const {
    const int b = layout_.symbol_bits;
    uint64_t next = word(row, 0);
    for (int w = 0; w < n_words_; ++w) {
      const uint64_t here = next;
      next = w + 1 < n_words_ ? word(row, w + 1) : 0;
      uint64_t folded = here;
      for (int p = 1; p < b; ++p) folded |= here >> p | next << (64 - p);
      out[w] = folded & firsts_[w];
    }
  }

 private:
  uint64_t word(const uint8_t* row, int w) const {
    uint64_t value;
    std::memcpy(&value, row + 8 * w, 8);
    return value ^ words_[w];
  }

  const Layout& layout_;
  int n_words_;
  std::vector<uint64_t> words_;
  std::vector<uint64_t> firsts_;
};

// Distance = differing symbols.
class HammingMetric {
 public:
  using Distance = int32_t;
  static constexpr bool kWhole = true;
  explicit HammingMetric(const Layout& layout) : layout_(layout) {}

  int below(int32_t limit) const { return limit + 1; }
  int32_t distance(const uint8_t*, int differing) const { return differing; }
  // Lower bound of the distance of codes that differ in at least counts[t] symbols of every span t.
  double bound(const Segment&, const std::vector<int>& counts) const {
    double sum = 0;
    for (const int count : counts) sum += count;
    return sum;
  }

  template <class Collector>
  void scan(const CodesView& view, const uint8_t* row, int64_t first_block, Collector& collector) const {
    HammingScan<Collector> scan(view, row, {collector});
    scan.scan(first_block, view.n_blocks());
    collector = std::move(scan.collector(0));
  }

 private:
  Layout layout_;
};

// Distance = the sum of the weights of differing symbols, added in the order of core/score_tables.hpp.
class WeightedMetric {
 public:
  using Distance = float;
  static constexpr bool kWhole = false;
  WeightedMetric(const Layout& layout, const ColumnPlan& plan, const float* weights, const float* table)
      : layout_(layout), plan_(plan), weights_(weights), table_(table), query_(layout, plan, table) {
    std::vector<float> sorted(weights, weights + layout.n_symbols);
    std::sort(sorted.begin(), sorted.end());
    for (const float weight : sorted) least_.push_back(least_.back() + weight);
  }

  // The smallest number of differing symbols whose weights always sum to more than the limit.
  int below(float limit) const {
    const auto more = [](float value, double sum) { return value < static_cast<float>(sum * kLess); };
    return static_cast<int>(std::upper_bound(least_.begin(), least_.end(), limit, more) - least_.begin());
  }
  float distance(const uint8_t* row, int) const { return query_.distance_of_row(layout_, row); }

  double bound(const Segment& segment, const std::vector<int>& counts) const {
    double sum = 0;
    for (size_t t = 0; t < counts.size(); ++t) {
      const KeySpan& span = segment.tables[t].span;
      std::vector<float> weights(weights_ + span.first, weights_ + span.first + span.count);
      std::sort(weights.begin(), weights.end());
      for (int i = 0; i < counts[t]; ++i) sum += weights[i];
    }
    return static_cast<float>(sum * kLess);
  }

  template <class Collector>
  void scan(const CodesView& view, const uint8_t*, int64_t first_block, Collector& collector) const {
    ScoreScan<Collector> scan(view, plan_, table_, {collector});
    scan.scan(first_block, view.n_blocks());
    collector = std::move(scan.collector(0));
  }

 private:
  static constexpr double kLess = 1 - 1e-12;  // a safety factor: sums in different orders differ by less

  Layout layout_;
  const ColumnPlan& plan_;
  const float* weights_;
  const float* table_;
  ScoreQuery query_;
  std::vector<double> least_{0.0};
};

}  // namespace rankhash
