// One query's way through the cells: rank them, scan the best in any order, re-rank what was found.
//
// Which codes become candidates does not depend on the order of the cells: they are those up to the lowest level that
// holds enough of them.
#pragma once
#include <bit>
#include <cmath>
#include <utility>

#include "core/cell_ranking.hpp"
#include "core/cell_tables.hpp"
#include "core/tiles.hpp"

namespace rankhash {

struct CellQueryInput {
  const float* point;   // relative to the centre, as the cells see it
  const float* query;   // as the rows see it
  const float* scores;  // per cell: factor · c·point
  const float* tables;  // per symbol and value: factor · decoder·point
};

class CellQuery {
 public:
  CellQuery(const CellsView& cells, const RowsView& rows, const RowIds& ids, const CellSearch& search)
      : cells_(cells),
        rows_(rows),
        ids_(ids),
        search_(search),
        kernels_(active_kernels()),
        ranking_(cells, search),
        tables_(cells) {}

  // Chooses the cells.
  void begin(const CellQueryInput& input, const CellRoom& room) {
    input_ = input;
    tables_.begin(input.tables);
    ranking_.rank(input.point, input.scores, room);
    n_candidates_ = ranking_.n_candidates();
    choose_scale();
    reset();
  }

  const std::vector<Probe>& probes() const { return ranking_.probes(); }

  // Puts the candidates in order, and begins to read their rows.
  void prepare() {
    order_candidates();
    const RowDistances distance(rows_, cells_.metric, input_.query);
    for (size_t i = 0; rows_.size && i < std::min(kAhead, candidates_.size()); ++i)
      distance.prefetch(cells_.rows[candidates_[i].place]);
  }

  // The answer, after prepare(). False if the last candidate is nearer than √slack times the k-th nearest vector: more
  // of them may be needed.
  bool finish(int64_t* ids, float* distances) {
    stats_.hits += found_.size();
    HeapTopK<float> nearest(search_.k, std::numeric_limits<float>::infinity());
    rows_.size ? by_rows(nearest) : by_codes(nearest);
    write_row(nearest.finish(), search_.k, ids, distances);
    return !ran_out_;
  }

  const CellStats& stats() const { return stats_; }

 private:
  struct Candidate {
    uint32_t place;
    uint16_t bucket;
  };
  static constexpr int kBuckets = 512;         // of levels
  static constexpr int kLevelsPerSymbol = 16;  // of the limit, on average: a quarter of the highest entry
  static constexpr int kFewSymbols = 16;       // fewer may have entries near the limit, which must fit
  static constexpr size_t kAhead = 8;          // candidates whose rows are read while one is compared

  // ---- distances of codes as levels -------------------------------------------------------------------------------

  // |q - c|², or -q·c for inner products. Keys lose digits where the query is much longer than its distance from the
  // nearest centroid; then it is computed from the differences.
  float distance_to(const Probe& probe) const {
    if (cells_.metric == Metric::kNegativeProduct) return probe.key;
    if (ranking_.keys_are_precise()) return std::max(probe.key + ranking_.square(), 0.0f);
    const float* center = cells_.centers + static_cast<int64_t>(probe.cell) * cells_.depth;
    return kernels_.squared_distance[kFloat32](input_.point, center, cells_.depth, 1);
  }

  // level = (distance - base) · scale. First so coarse that every sum of the first cells fits, to see where the limit
  // lies among their codes; then so fine that this limit is near the level `wanted`.
  void choose_scale() {
    const int wanted = few_symbols() ? kMostLevel : kLevelsPerSymbol * cells_.n_symbols;
    shift_ = 0;
    while (wanted + wanted / 8 >= kBuckets << shift_) ++shift_;
    float least = std::numeric_limits<float>::infinity(), most = -least;
    size_t n_first = 0, n_seen = 0;
    for (int64_t seen = 0; n_seen < probes().size(); ++n_seen) {
      if (seen < 2 * n_candidates_) n_first = n_seen + 1;
      else if (cells_.offsets) break;  // their ranges take long
      const auto [low, high] = range_of(probes()[n_seen]);
      least = std::min(least, low);
      most = std::max(most, high);
      seen += cells_.sizes[probes()[n_seen].cell];
    }
    set_coarse_scale(least, most);
    reset();
    counting_ = true;
    for (size_t i = 0; i < n_first || (i < n_seen && n_below_ < n_candidates_); ++i) scan(probes()[i]);
    counting_ = false;
    if (n_below_ >= n_candidates_)
      return set_scale(least, scale_ * static_cast<float>(wanted) / static_cast<float>(limit() + 1));
    for (size_t i = n_seen; i < probes().size(); ++i) {  // too few of the first: everything may be needed
      const auto [low, high] = range_of(probes()[i]);
      least = std::min(least, low);
      most = std::max(most, high);
    }
    set_coarse_scale(least, most);
  }

  // So coarse that no level is above the highest one, though entries are rounded.
  void set_coarse_scale(float least, float most) {
    const int levels = few_symbols() ? kMostLevel : (kBuckets << shift_) * 7 / 8 - cells_.n_symbols / 2 - 2;
    set_scale(least, static_cast<float>(levels) / std::max(most - least, 1e-30f));
  }

  // Room is left below for cells behind the first ones that hold nearer codes.
  void set_scale(float least, float scale) {
    scale_ = scale;
    base_ = least - static_cast<float>((kBuckets << shift_) / 32) / scale;
  }

  bool few_symbols() const { return cells_.n_symbols < kFewSymbols; }

  // The highest level of a candidate.
  int limit() const { return ((limit_ + 1) << shift_) - 1; }

  // The smallest and the largest distance that a code of the cell can have.
  std::pair<float, float> range_of(const Probe& probe) {
    const float distance = distance_to(probe);
    const auto [low, high] = tables_.range(probe.cell);
    return {distance + low, distance + high};
  }

  void reset() {
    std::fill(counts_, counts_ + kBuckets, 0);
    n_below_ = 0;
    limit_ = kBuckets - 1;
    found_.clear();
  }

  // ---- codes ------------------------------------------------------------------------------------------------------

  int n_blocks(int cell) const { return (cells_.sizes[cell] + kCellBlock - 1) / kCellBlock; }
  const uint8_t* block_of(int cell) const {
    return cells_.blocks + cells_.first_block[cell] * cells_.n_pairs() * kCellBlock;
  }

 public:
  void prefetch(int cell) const {
    const uint8_t* block = block_of(cell);
    const int64_t bytes = static_cast<int64_t>(n_blocks(cell)) * cells_.n_pairs() * kCellBlock;
    for (int64_t at = 0; at < std::min<int64_t>(bytes, 4096); at += 64) __builtin_prefetch(block + at);
    tables_.prefetch(cell);
  }

  void scan(const Probe& probe) {
    const int cell = probe.cell;
    if (!cells_.sizes[cell]) return;
    const CellTables::Levels levels = tables_.levels(cell, scale_);
    const float start = std::max((distance_to(probe) + levels.least - base_) * scale_ + 0.5f, 0.0f);
    if (!(start < static_cast<float>(limit() + 1))) return;
    const int used = cells_.sizes[cell] % kCellBlock;
    CellTask task{block_of(cell),
                  levels.bytes,
                  n_blocks(cell),
                  cells_.n_symbols / 2,
                  cells_.lows != nullptr,
                  levels.factor,
                  used ? (1u << used) - 1 : ~0u,
                  static_cast<uint16_t>(start),
                  static_cast<uint16_t>(limit()),
                  this,
                  nullptr};
    task.on_hits = [](void* self, int block, uint32_t hits, const uint16_t* levels) {
      return static_cast<CellQuery*>(self)->take(block, hits, levels);
    };
    first_place_ = cells_.first_block[cell] * kCellBlock;
    ++stats_.cells;
    stats_.codes += cells_.sizes[cell];
    kernels_.scan_cell(task);
  }

 private:
  // The limit is the lowest bucket up to which there are n_candidates_ codes.
  uint16_t take(int block, uint32_t hits, const uint16_t* levels) {
    const int64_t place = first_place_ + block * kCellBlock;
    if (search_.passing) hits = passing_of(hits, place);
    const int n_hits = std::popcount(hits);
    n_below_ += n_hits;
    if (!counting_) found_.resize(found_.size() + n_hits);
    Candidate* next = counting_ ? nullptr : found_.data() + found_.size() - n_hits;
    for (; hits; hits &= hits - 1) {
      const int i = std::countr_zero(hits);
      const int bucket = levels[i % 2 * (kCellBlock / 2) + i / 2] >> shift_;
      ++counts_[bucket];
      if (!counting_) *next++ = {static_cast<uint32_t>(place + i), static_cast<uint16_t>(bucket)};
    }
    while (limit_ && n_below_ - counts_[limit_] >= n_candidates_) n_below_ -= counts_[limit_--];
    return static_cast<uint16_t>(limit());
  }

  uint32_t passing_of(uint32_t hits, int64_t place) const {
    uint32_t passing = 0;
    for (; hits; hits &= hits - 1) {
      const int i = std::countr_zero(hits);
      passing |= uint32_t{passes(search_.passing, cells_.rows[place + i])} << i;
    }
    return passing;
  }

  // ---- candidates -------------------------------------------------------------------------------------------------

  // The candidates in the order of their buckets: a counting sort, for which the counts are known.
  void order_candidates() {
    int32_t next[kBuckets], sum = 0;
    for (int b = 0; b <= limit_; ++b) next[b] = std::exchange(sum, sum + counts_[b]);
    candidates_.resize(sum);
    for (const Candidate& found : found_)
      if (found.bucket <= limit_) candidates_[next[found.bucket]++] = found;
  }

  // Nearest codes first, until codes are so much farther than the k-th nearest vector so far that no other one can be
  // expected among the nearest.
  void by_rows(HeapTopK<float>& nearest) {
    const RowDistances distance(rows_, cells_.metric, input_.query);
    const size_t n = candidates_.size();
    const bool stops = std::isfinite(search_.slack);
    size_t i = 0;
    for (; i < n; ++i) {
      if (stops && away_of(candidates_[i]) > search_.slack * nearest.limit()) break;
      if (i + kAhead < n) distance.prefetch(cells_.rows[candidates_[i + kAhead].place]);
      const int64_t row = cells_.rows[candidates_[i].place];
      const float d = distance(row);
      if (d <= nearest.limit()) nearest.push(d, ids_[row]);
    }
    stats_.candidates += static_cast<int64_t>(i);
    ran_out_ = stops && static_cast<int64_t>(n) >= n_candidates_ && i == n &&
               away_of(candidates_.back()) <= std::sqrt(search_.slack) * nearest.limit();
  }

  // The distance of a code, from below.
  float away_of(const Candidate& candidate) const {
    return static_cast<float>(candidate.bucket << shift_) / scale_ + base_;
  }

  // Sums of the table entries themselves, instead of their levels.
  void by_codes(HeapTopK<float>& nearest) {
    stats_.candidates += static_cast<int64_t>(candidates_.size());
    for (const Candidate& candidate : candidates_) {
      const Probe& probe = probe_of(candidate.place);
      const uint8_t* block = cells_.blocks + int64_t{candidate.place} / kCellBlock * cells_.n_pairs() * kCellBlock;
      const uint8_t* pairs = block + candidate.place % kCellBlock;
      float sum = distance_to(probe) + tables_.sum(probe.cell, pairs);
      if (cells_.metric == Metric::kSquaredEuclidean) sum = std::max(sum, 0.0f);
      const int64_t row = cells_.rows[candidate.place];
      if (sum <= nearest.limit()) nearest.push(sum, ids_[row]);
    }
  }

  // Candidates stand in the order of the probes they come from.
  const Probe& probe_of(uint32_t place) const {
    for (const Probe& probe : probes()) {
      const int64_t first = cells_.first_block[probe.cell] * kCellBlock;
      if (place >= first && place < first + cells_.sizes[probe.cell]) return probe;
    }
    return probes().front();
  }

  const CellsView& cells_;
  const RowsView& rows_;
  const RowIds& ids_;
  const CellSearch& search_;
  const Kernels& kernels_;
  CellRanking ranking_;
  CellTables tables_;
  int64_t n_candidates_ = 0;
  CellQueryInput input_{};
  float base_ = 0, scale_ = 0;
  int64_t first_place_ = 0;   // of the cell that is scanned
  bool counting_ = false;     // hits are counted only
  bool ran_out_ = false;      // of candidates
  int shift_ = 0;             // a bucket has 2^shift_ levels
  int limit_ = kBuckets - 1;  // the last bucket of candidates
  int64_t n_below_ = 0;       // codes found in buckets up to limit_
  int32_t counts_[kBuckets] = {};
  std::vector<Candidate> found_, candidates_;
  CellStats stats_;
};

}  // namespace rankhash
