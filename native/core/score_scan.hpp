// The scan behind core/score_tables.hpp: bytes of lower bounds decide which codes are summed exactly.
#pragma once
#include <bit>
#include <cmath>
#include <cstring>

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

  // The distance of a code whose columns stand one after another. Four running sums: the order is the same for every
  // instruction set and number of threads.
  float distance(const uint8_t* values) const {
    double sum[4] = {0, 0, 0, 0};
    const double* table = sums_.data();
    for (int c = 0, n = plan_.n_columns; c < n; c += 4, table += 4 * kEntries, values += 4)
      for (int i = 0; i < 4; ++i) sum[i] += table[i * kEntries + values[i]];
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
  uint32_t set_limit(float limit, uint8_t* tables) {
    if (limit == std::numeric_limits<float>::infinity()) {
      std::fill(tables, tables + plan_.n_columns * kEntries, uint8_t{0});
      return 255;
    }
    const double range = room(limit);
    if (range < kRequantise * range_) {
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

// Codes of one query that wait for their exact distance. Some at a time keep its tables in the nearest cache.
struct Candidates {
  static constexpr int kMost = 32;
  int n = 0;
  bool split = false;  // other codes of the first one's block have been taken already
  int64_t positions[kMost];
};

// Collectors may hold hits already, as long as those come from smaller ids or no block is ordered.
template <class Collector>
class ScoreScan {
 public:
  ScoreScan(const CodesView& view, const ColumnPlan& plan, const float* tables, int64_t n, const Collector& empty)
      : view_(view), plan_(plan), kernels_(active_kernels()), collectors_(n, empty), candidates_(n) {
    sum_ = plan.n_groups == 1   ? kernels_.sum_scores
           : plan.n_groups == 2 ? kernels_.sum_scores_double
                                : kernels_.sum_scores_wide;
    const Layout& layout = view.layout;
    columns_.resize(static_cast<size_t>(plan.n_columns) * kBlock);
    tables_.resize(static_cast<size_t>(n) * plan.n_columns * kEntries);
    values_.resize(static_cast<size_t>(n) * Candidates::kMost * plan.n_columns);
    bounds_.resize(n);
    limits_.resize(n);
    queries_.reserve(n);
    for (int64_t q = 0; q < n; ++q) {
      queries_.emplace_back(layout, plan, tables + q * layout.n_symbols * layout.arity);
      set_limit(q, empty.limit());
    }
  }

  // Before the scan: another collector for one of the queries.
  void set_collector(int64_t query, const Collector& collector) {
    collectors_[query] = collector;
    set_limit(query, collector.limit());
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
    tile.on_hits = [](void* self, int q, const uint32_t* hits) { static_cast<ScoreScan*>(self)->take(q, hits); };
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
    for (size_t q = 0; q < queries_.size(); ++q) flush(q);
  }

  Collector& collector(int64_t query) { return collectors_[query]; }

  // Before the scan: about one block in `blocks_per_hit` will have a hit.
  void expect_hits(double blocks_per_hit) { frequent_ = blocks_per_hit < kFrequent; }

 private:
  static constexpr double kFrequent = 8;
  static constexpr int64_t kPollBlocks = 64;
  static constexpr size_t kFewQueries = 4;  // up to here the processor fetches ahead well enough by itself
  static constexpr int kPrimed = 64;        // codes whose distances give the first limit

  uint8_t* tables_of(int64_t q) { return tables_.data() + q * plan_.n_columns * kEntries; }
  uint8_t* values_of(int64_t q, int i) {
    return values_.data() + (q * Candidates::kMost + i) * static_cast<int64_t>(plan_.n_columns);
  }

  // No code farther than the limit can win.
  void set_limit(int64_t q, float limit) {
    limits_[q] = limit;
    bounds_[q] = queries_[q].set_limit(limit, tables_of(q));
  }

  // Where code `at` of the block stands in a column.
  static int place_of(int at) { return 32 * (at % 8) + at / 8; }

  void copy_values(int place, uint8_t* values) const {
    const uint8_t* column = columns_.data() + place;
    for (int c = 0, n = plan_.n_columns; c < n; c += 4, column += 4 * kBlock)
      for (int i = 0; i < 4; ++i) values[c + i] = column[i * kBlock];
  }

  // The k-th best of some codes is a limit for all of them: without it the whole first block would be summed exactly.
  void prime(const uint8_t* alive) {
    primed_ = true;
    int places[kPrimed], n = 0;
    for (int at = 0; at < kBlock && n < kPrimed; ++at)
      if (alive[at / 8] >> (at % 8) & 1) places[n++] = place_of(at);
    std::vector<uint8_t> values(plan_.n_columns);
    for (size_t q = 0; q < queries_.size(); ++q) {
      const int64_t k = collectors_[q].wanted();
      if (limits_[q] != std::numeric_limits<float>::infinity() || k < 1 || k > n) continue;
      float distances[kPrimed];
      for (int i = 0; i < n; ++i)
        copy_values(places[i], values.data()), distances[i] = queries_[q].distance(values.data());
      std::nth_element(distances, distances + (k - 1), distances + n);
      set_limit(q, distances[k - 1]);
    }
  }

  void take(int q, const uint32_t* hits) {
    Candidates& waiting = candidates_[q];
    if (!waiting.n) waiting.split = false;
    uint64_t pairs[4];  // of words; mostly one has a hit, which a loop over all of them would have to guess
    std::memcpy(pairs, hits, sizeof pairs);
    unsigned found = 0;
    for (int i = 0; i < 4; ++i) found |= static_cast<unsigned>(pairs[i] != 0) << i;
    for (; found; found &= found - 1) {
      const int i = std::countr_zero(found);
      for (uint64_t left = pairs[i]; left; left &= left - 1) {
        const int place = 64 * i + std::countr_zero(left);
        copy_values(place, values_of(q, waiting.n));
        waiting.positions[waiting.n++] = block_ * kBlock + 8 * (place % 32) + place / 32;
        if (waiting.n == Candidates::kMost) flush(q), waiting.split = true;
      }
    }
  }

  // Codes of a block do not wait in the order of their positions: a tie is lost only against codes of earlier blocks.
  void flush(size_t q) {
    Candidates& waiting = candidates_[q];
    Collector& collector = collectors_[q];
    const float before = collector.limit();
    const bool ties_lose = waiting.n && !waiting.split && collector.ties_lose() &&
                           view_.ordered(waiting.positions[waiting.n - 1] / kBlock);
    float distances[Candidates::kMost];
    int chosen[Candidates::kMost], n = 0;  // without a branch, which would often be mispredicted
    for (int i = 0; i < waiting.n; ++i) {
      distances[i] = queries_[q].distance(values_of(q, i));
      chosen[n] = i;
      n += (distances[i] <= limits_[q]) & !(ties_lose & (distances[i] >= before));
    }
    for (int i = 0; i < n; ++i)
      if (const float distance = distances[chosen[i]]; distance <= collector.limit())
        collector.push(distance, view_.ids[waiting.positions[chosen[i]]]);
    waiting.n = 0;
    if (collector.limit() < limits_[q]) set_limit(q, collector.limit());
  }

  const CodesView& view_;
  const ColumnPlan& plan_;
  const Kernels& kernels_;
  void (*sum_)(const ScoreTile&);
  bool primed_ = false, frequent_ = false;
  int64_t block_ = 0;
  std::vector<Collector> collectors_;
  std::vector<ScoreQuery> queries_;
  std::vector<Candidates> candidates_;
  std::vector<uint8_t> values_;  // the columns of those that wait
  AlignedVector<uint8_t> tables_;
  std::vector<uint32_t> bounds_;
  std::vector<float> limits_;
  AlignedVector<uint8_t> columns_;
};

}  // namespace rankhash
