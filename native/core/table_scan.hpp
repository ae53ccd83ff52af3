// The scan behind core/tables.hpp: bytes of lower bounds decide which codes are summed exactly.
#pragma once
#include <bit>
#include <cmath>

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
class TableQuery {
 public:
  TableQuery(const Layout& layout, const ColumnPlan& plan, const float* table) : plan_(plan) {
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

  // Four running sums: the order is the same for every instruction set and number of threads.
  float distance(const uint8_t* columns, int at) const {
    double sum[4] = {0, 0, 0, 0};
    const double* table = sums_.data();
    int c = 0;
    for (; c + 4 <= plan_.n_columns; c += 4, table += 4 * kEntries, columns += 4 * kBlock)
      for (int i = 0; i < 4; ++i) sum[i] += table[i * kEntries + columns[i * kBlock + at]];
    for (; c < plan_.n_columns; ++c, table += kEntries, columns += kBlock) sum[c & 3] += table[columns[at]];
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
  double largest_bound() const { return plan_.n_groups > 1 ? kGroupBound * plan_.n_groups : kColumnBound * plan_.n_columns; }

  void quantise(uint8_t* tables) {
    scale_ = std::min(largest_bound() / range_, 1e30);
    for (int c = 0; c < plan_.n_columns; ++c)
      for (int v = 0; v < kEntries; ++v) {
        const double units = (sums_[c * kEntries + v] - least_[c]) * scale_ * (1 - 1e-6);
        tables[c * kEntries + v] = static_cast<uint8_t>(std::min(std::max(units, 0.0), double{kLargestTableEntry}));
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

template <class Collector>
class TableScan {
 public:
  TableScan(const CodesView& view, const ColumnPlan& plan, const float* tables, int64_t n, const Collector& empty)
      : view_(view), plan_(plan), kernels_(active_kernels()), collectors_(n, empty) {
    sum_ = plan.n_groups == 1   ? kernels_.sum_tables
           : plan.n_groups == 2 ? kernels_.sum_tables_double
                                : kernels_.sum_tables_wide;
    const Layout& layout = view.layout;
    columns_.resize(static_cast<size_t>(plan.n_columns) * kBlock);
    tables_.resize(static_cast<size_t>(n) * plan.n_columns * kEntries);
    bounds_.resize(n);
    for (int64_t q = 0; q < n; ++q) {
      queries_.emplace_back(layout, plan, tables + q * layout.n_symbols * layout.arity);
      bounds_[q] = queries_[q].set_limit(empty.limit(), tables_of(q));
    }
  }

  HitLists<float> run(int64_t first_block, int64_t last_block) {
    scan(first_block, last_block);
    HitLists<float> lists;
    for (Collector& collector : collectors_) lists.push_back(collector.finish());
    return lists;
  }

  void scan(int64_t first_block, int64_t last_block) {
    LiveMask live(view_);
    uint32_t words[8];
    std::fill(words, words + 8, ~0u);
    LutTile tile{};
    tile.columns = columns_.data();
    tile.tables = tables_.data();
    tile.bounds = bounds_.data();
    tile.live = words;
    tile.n_queries = static_cast<int>(queries_.size());
    tile.n_columns = plan_.n_columns;
    tile.context = this;
    tile.on_hits = [](void* self, int q, const uint32_t* hits) { static_cast<TableScan*>(self)->take(q, hits); };
    for (block_ = first_block; block_ < last_block; ++block_) {
      const uint8_t* alive = live.at(block_);
      if (!alive) continue;
      if (view_.live || block_ + 1 == view_.n_blocks()) spread_live(alive, words);
      kernels_.make_columns(view_.block(block_), plan_.slices.data(), plan_.n_columns, columns_.data());
      sum_(tile);
    }
  }

  Collector& collector(int64_t query) { return collectors_[query]; }

 private:
  uint8_t* tables_of(int64_t q) { return tables_.data() + q * plan_.n_columns * kEntries; }

  // The codes of a block do not come in order here, so the limit stays as it was at its beginning.
  void take(int q, const uint32_t* hits) {
    Collector& collector = collectors_[q];
    TableQuery& query = queries_[q];
    const float limit = collector.limit();
    const bool ties_lose = Collector::kLateTiesLose && view_.ordered(block_) && std::isfinite(limit);
    for (int r = 0; r < 8; ++r)
      for (uint32_t left = hits[r]; left; left &= left - 1) {
        const int j = std::countr_zero(left);
        const float distance = query.distance(columns_.data(), 32 * r + j);
        if (ties_lose ? distance < limit : distance <= limit)
          collector.push(distance, view_.ids[block_ * kBlock + 8 * j + r]);
      }
    if (collector.limit() < limit) bounds_[q] = query.set_limit(collector.limit(), tables_of(q));
  }

  const CodesView& view_;
  const ColumnPlan& plan_;
  const Kernels& kernels_;
  void (*sum_)(const LutTile&);
  int64_t block_ = 0;
  std::vector<Collector> collectors_;
  std::vector<TableQuery> queries_;
  AlignedVector<uint8_t> tables_;
  std::vector<uint32_t> bounds_;
  AlignedVector<uint8_t> columns_;
};

}  // namespace rankhash
