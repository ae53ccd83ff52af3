// The scan behind core/score_tables.hpp: bytes of lower bounds decide which codes are summed exactly.
#pragma once
#include <bit>
#include <cmath>
#include <cstring>
#include <span>

#include "core/aligned.hpp"
#include "core/codes.hpp"
#include "core/tiles.hpp"
#include "kernels/kernels.hpp"

namespace rankhash {

inline constexpr int kEntries = 16;
inline constexpr double kColumnBound = 15.875;  // what the limit becomes in byte tables, per column: 254 for a group
inline constexpr double kGroupBound = 160;      // the same per group where there are several, which may come out uneven
inline constexpr double kRequantise = 0.85;     // new tables when the limit has fallen below this share

// Which slices make a column of up to four bits, and which symbols those are.
struct ColumnPlan {
  int symbols_per_column;
  int n_columns;
  int n_groups;
  std::vector<int16_t> slices;

  explicit ColumnPlan(const Layout& layout) {
    symbols_per_column = 4 / layout.symbol_bits;
    const int used = (layout.n_symbols + symbols_per_column - 1) / symbols_per_column;
    n_columns = (used + 3) / 4 * 4;
    n_groups = (n_columns + kWideGroup - 1) / kWideGroup;
    slices.assign(n_columns * 4, -1);
    const int bits = symbols_per_column * layout.symbol_bits;
    for (int c = 0; c < used; ++c)
      for (int i = 0; i < bits && c * bits + i < layout.n_bits; ++i)
        slices[c * 4 + i] = static_cast<int16_t>(c * bits + i);
  }
};

// One query: exact column tables, and the byte tables of lower bounds for its present limit.
class ScoreQuery {
 public:
  ScoreQuery(const Layout& layout, const ColumnPlan& plan, const float* table) : plan_(plan) {
    sums_.assign(plan.n_columns * kEntries, 0.0);
    least_.assign(plan.n_columns, 0.0);
    const int b = layout.symbol_bits;
    for (int c = 0; c < plan.n_columns; ++c) {
      double least = std::numeric_limits<double>::infinity(), most = 0;
      for (int v = 0; v < kEntries; ++v) {
        double sum = 0;
        bool possible = true;
        for (int i = 0; i < plan.symbols_per_column; ++i) {
          const int symbol = c * plan.symbols_per_column + i, value = v >> (i * b) & ((1 << b) - 1);
          if (symbol >= layout.n_symbols) continue;
          if (value >= layout.arity) possible = false;
          else sum += table[symbol * layout.arity + value];
        }
        sums_[c * kEntries + v] = sum;
        if (!possible) continue;
        least = std::min(least, sum);
        most = std::max(most, std::abs(sum));
      }
      least_[c] = least;
      base_ += least;
      magnitude_ += most;
    }
  }

  // The distance of a code whose first column stands here. Four running sums: the order is the same for every
  // instruction set and number of threads.
  float distance(const uint8_t* column) const {
    double sum[4] = {0, 0, 0, 0};
    const double* table = sums_.data();
    for (int c = 0, n = plan_.n_columns; c < n; c += 4, table += 4 * kEntries, column += 4 * kBlock)
      for (int i = 0; i < 4; ++i) sum[i] += table[i * kEntries + column[i * kBlock]];
    return static_cast<float>((sum[0] + sum[1]) + (sum[2] + sum[3]));
  }

  // The same of a packed row.
  float distance_of_row(const Layout& layout, const uint8_t* row) const {
    double sum[4] = {0, 0, 0, 0};
    const int bits = plan_.symbols_per_column * layout.symbol_bits;
    for (int c = 0, at = 0; at < layout.n_bits; ++c, at += bits)
      sum[c & 3] += sums_[c * kEntries + row_bits(row, layout.n_bytes, at, bits)];
    return static_cast<float>((sum[0] + sum[1]) + (sum[2] + sum[3]));
  }

  // Lowers the limit: a sum of the byte tables exceeds the returned bound only if the distance exceeds the limit.
  // Tables are made again if the limit has fallen below a share of the one they were made for.
  uint32_t set_limit(float limit, uint8_t* tables, double share) {
    if (limit == std::numeric_limits<float>::infinity()) {
      std::fill(tables, tables + plan_.n_columns * kEntries, uint8_t{0});
      return 255;
    }
    const double range = room(limit);
    if (range < share * range_) {
      range_ = range;
      quantise(tables);
    }
    const double bound = std::ceil(std::min(range * scale_ * (1 + 1e-6), largest_bound()));
    return static_cast<uint32_t>(plan_.n_groups == 2 ? std::ceil(bound / 2) : bound);
  }

 private:
  double largest_bound() const {
    return plan_.n_groups > 1 ? kGroupBound * plan_.n_groups : kColumnBound * plan_.n_columns;
  }

  void quantise(uint8_t* tables) {
    scale_ = std::min(largest_bound() / range_, 1e30);
    for (int c = 0; c < plan_.n_columns; ++c)
      for (int v = 0; v < kEntries; ++v) {
        const double units = (sums_[c * kEntries + v] - least_[c]) * scale_ * (1 - 1e-6);
        tables[c * kEntries + v] = static_cast<uint8_t>(std::min(std::max(units, 0.0), double{kLargestEntry}));
      }
  }

  // How far a distance that rounds to the limit can lie above the smallest possible one; never less than 0.
  double room(float limit) const {
    const double above = std::nextafter(limit, std::numeric_limits<float>::infinity());
    return std::max(above - base_, 0.0) + 1e-13 * magnitude_ + 1e-300;
  }

  const ColumnPlan& plan_;
  std::vector<double> sums_;
  std::vector<double> least_;
  double base_ = 0;
  double magnitude_ = 0;
  double range_ = std::numeric_limits<double>::infinity();  // the room that the byte tables were made for
  double scale_ = 0;
};

// Bit j of word r = the living bit of code 8j + r.
inline void spread_live(const uint8_t* live, uint32_t* words) {
  std::fill(words, words + 8, 0u);
  for (int j = 0; j < kSlice; ++j)
    for (int r = 0; r < 8; ++r) words[r] |= static_cast<uint32_t>(live[j] >> r & 1) << j;
}

// Collectors may hold hits already, as long as those come from smaller ids or no block is ordered.
template <class Collector>
class ScoreScan {
 public:
  ScoreScan(const CodesView& view, const ColumnPlan& plan, const float* tables, std::vector<Collector> collectors)
      : view_(view), plan_(plan), kernels_(active_kernels()), collectors_(std::move(collectors)) {
    const int64_t n = static_cast<int64_t>(collectors_.size());
    sum_ = plan.n_groups == 1   ? kernels_.sum_scores
           : plan.n_groups == 2 ? kernels_.sum_scores_double
                                : kernels_.sum_scores_wide;
    const Layout& layout = view.layout;
    columns_.resize(static_cast<size_t>(plan.n_columns) * kBlock);
    tables_.resize(static_cast<size_t>(n) * plan.n_columns * kEntries);
    bounds_.resize(n);
    limits_.resize(n);
    queries_.reserve(n);
    for (int64_t q = 0; q < n; ++q) {
      queries_.emplace_back(layout, plan, tables + q * layout.n_symbols * layout.arity);
      set_limit(q, collectors_[q].limit());
    }
  }

  void scan(int64_t first_block, int64_t last_block) {
    LiveMask live(view_);
    uint32_t words[8];
    std::fill(words, words + 8, ~0u);
    ScoreTile tile{};
    tile.columns = columns_.data();
    tile.tables = tables_.data();
    tile.bounds = bounds_.data();
    tile.live = words;
    tile.n_queries = static_cast<int>(queries_.size());
    tile.n_columns = plan_.n_columns;
    tile.frequent = frequent_;
    tile.context = this;
    tile.on_hits = [](void* self, const ScoreHits& hits) { static_cast<ScoreScan*>(self)->take(hits); };
    for (block_ = first_block; block_ < last_block; ++block_) {
      if ((block_ - first_block) % kPollBlocks == 0) check_interrupt();
      const uint8_t* alive = live.at(block_);
      if (!alive) continue;
      if (view_.live || block_ + 1 == view_.n_blocks()) spread_live(alive, words);
      kernels_.make_columns(view_.block(block_), plan_.slices.data(), plan_.n_columns, columns_.data());
      if (block_ + 1 < last_block && queries_.size() > kFewQueries) view_.fetch(block_ + 1, block_ + 2);
      if (!primed_) prime(alive);
      sum_(tile);
    }
  }

  Collector& collector(int64_t query) { return collectors_[query]; }

  // The collectors' limits have fallen, and will hardly fall further.
  void lower_limits() {
    for (size_t q = 0; q < queries_.size(); ++q) set_limit(static_cast<int64_t>(q), collectors_[q].limit(), 1);
  }

  // Before the scan: about one block in `blocks_per_hit` will have a hit.
  void expect_hits(double blocks_per_hit) { frequent_ = blocks_per_hit < kFrequent; }

 private:
  static constexpr double kFrequent = 64;
  static constexpr int64_t kPollBlocks = 64;
  static constexpr size_t kFewQueries = 4;  // up to here the processor fetches ahead well enough by itself
  static constexpr int kPrimed = 64;        // codes whose distances give the first limit

  uint8_t* tables_of(int64_t q) { return tables_.data() + q * plan_.n_columns * kEntries; }

  // No code farther than the limit can win.
  void set_limit(int64_t q, float limit, double share = kRequantise) {
    limits_[q] = limit;
    bounds_[q] = queries_[q].set_limit(limit, tables_of(q), share);
  }

  // Where code `at` of the block stands in a column.
  static int place_of(int at) { return 32 * (at % 8) + at / 8; }

  // The k-th best of some codes is a limit for all of them: without it the whole first block would be summed exactly.
  void prime(const uint8_t* alive) {
    primed_ = true;
    int places[kPrimed], n = 0;
    for (int at = 0; at < kBlock && n < kPrimed; ++at)
      if (alive[at / 8] >> (at % 8) & 1) places[n++] = place_of(at);
    for (size_t q = 0; q < queries_.size(); ++q) {
      const int64_t k = collectors_[q].wanted();
      if (limits_[q] != std::numeric_limits<float>::infinity() || k < 1 || k > n) continue;
      float distances[kPrimed];
      for (int i = 0; i < n; ++i) distances[i] = queries_[q].distance(columns_.data() + places[i]);
      std::nth_element(distances, distances + (k - 1), distances + n);
      set_limit(q, distances[k - 1]);
    }
  }

  // Which words have hits is no branch, and mostly a word has one: hardly anything is mispredicted, so that several
  // codes are summed at a time.
  void take(const ScoreHits& hits) {
    words_.resize(4 * hits.n);
    int n_words = 0;
    for (int i = 0; i < 4 * hits.n; ++i) {
      words_[n_words] = i;
      n_words += hits.places[i / 4][i % 4] != 0;
    }
    for (const int word : std::span(words_.data(), n_words)) {
      const int q = hits.queries[word / 4];
      Collector& collector = collectors_[q];
      for (uint64_t left = hits.places[word / 4][word % 4]; left; left &= left - 1) {
        const int place = word % 4 * 64 + std::countr_zero(left);
        const float distance = queries_[q].distance(columns_.data() + place);
        if (collector.push(distance, view_.ids[block_ * kBlock + 8 * (place % 32) + place / 32])) changed_.push_back(q);
      }
    }
    for (const int q : changed_)
      if (collectors_[q].limit() < limits_[q]) set_limit(q, collectors_[q].limit());
    changed_.clear();
  }

  const CodesView& view_;
  const ColumnPlan& plan_;
  const Kernels& kernels_;
  void (*sum_)(const ScoreTile&);
  bool primed_ = false, frequent_ = false;
  int64_t block_ = 0;
  std::vector<Collector> collectors_;
  std::vector<ScoreQuery> queries_;
  AlignedVector<uint8_t> tables_;
  std::vector<uint32_t> bounds_;
  std::vector<int> words_;    // with hits
  std::vector<int> changed_;  // queries whose limit has fallen
  std::vector<float> limits_;
  AlignedVector<uint8_t> columns_;
};

}  // namespace rankhash
