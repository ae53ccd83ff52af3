// One query's way through the cells: rank them, scan the best in any order, re-rank what was found.
//
// One class, though a long one: every step works on the same buffers of the query.
//
// Which codes become candidates does not depend on the order of the cells: they are those up to the lowest level that
// holds enough of them.
#pragma once
#include <bit>
#include <cmath>
#include <utility>

#include "core/aligned.hpp"
#include "core/cell_ranking.hpp"
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
        bytes_(cells.offsets ? table_bytes() : 0) {}

  // Chooses the cells.
  void begin(const CellQueryInput& input, const CellRoom& room) {
    input_ = input;
    shared_.clear();
    ranking_.rank(input.point, input.scores, room);
    n_candidates_ = ranking_.n_candidates();
    choose_scale();
    reset();
  }

  const std::vector<Probe>& probes() const { return ranking_.probes(); }

  // False if the last candidate is nearer than √slack times the k-th nearest vector: more of them may be needed.
  bool finish(int64_t* ids, float* distances) {
    rerank(ids, distances);
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

  // ---- distances of codes as levels -------------------------------------------------------------------------------

  // |q - c|², or -q·c for inner products. Keys lose digits where the query is much longer than its distance from the
  // nearest centroid; then it is computed from the differences.
  float distance_to(const Probe& probe) const {
    if (cells_.metric == Metric::kNegativeProduct) return probe.key;
    if (ranking_.keys_are_precise()) return std::max(probe.key + ranking_.square(), 0.0f);
    const float* center = cells_.centers + static_cast<int64_t>(probe.cell) * cells_.depth;
    return kernels_.squared_distance[kFloat32](input_.point, center, cells_.depth, 1);
  }

  const float* offsets_of(int cell) const {
    return cells_.offsets ? cells_.offsets + static_cast<int64_t>(cell) * cells_.n_symbols * kPanel : nullptr;
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
    const int cell = probe.cell;
    const float distance = distance_to(probe) + low_of(cell);
    const auto [low, high] = cells_.offsets ? range_of_tables(offsets_of(cell), cells_.scales[cell])
                                            : std::pair(shared_tables(cell).low, shared_tables(cell).high);
    return {distance + low, distance + high};
  }

  // The smallest and the largest sum of factor · tables + offsets.
  std::pair<float, float> range_of_tables(const float* offsets, float factor) const {
    float low = 0, high = 0;
    for (int s = 0; s < cells_.n_symbols; ++s) {
      float least = std::numeric_limits<float>::infinity(), most = -least;
      for (int v = s * kPanel; v < (s + 1) * kPanel; ++v) {
        const float value = factor * input_.tables[v] + (offsets ? offsets[v] : 0.0f);
        least = std::min(least, value);
        most = std::max(most, value);
      }
      low += least;
      high += most;
    }
    return {low, high};
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
    const char* offsets = reinterpret_cast<const char*>(offsets_of(cell));
    for (int at = 0; offsets && at < cells_.n_symbols * kPanel * 4; at += 64) __builtin_prefetch(offsets + at);
  }

  void scan(const Probe& probe) {
    const int cell = probe.cell;
    if (!cells_.sizes[cell]) return;
    const auto [tables, least] = tables_of(cell);
    const float start = std::max((distance_to(probe) + low_of(cell) + least - base_) * scale_ + 0.5f, 0.0f);
    if (!(start < static_cast<float>(limit() + 1))) return;
    const int used = cells_.sizes[cell] % kCellBlock;
    CellTask task{block_of(cell),
                  tables,
                  n_blocks(cell),
                  cells_.n_symbols / 2,
                  cells_.lows != nullptr,
                  correction_factor(cell),
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
  size_t table_bytes() const { return static_cast<size_t>(cells_.n_symbols + 3) / 4 * 4 * 2 * kPanel; }

  // A cell's tables as levels, and the distance that level 0 of all of them stands for, beside that of the centroid.
  std::pair<const uint8_t*, float> tables_of(int cell) {
    if (cells_.offsets) {
      const float least = kernels_.level_tables(input_.tables, offsets_of(cell), cells_.scales[cell], scale_,
                                                cells_.n_symbols, bytes_.data());
      return {bytes_.data(), least};
    }
    SharedTables& tables = shared_tables(cell);
    if (tables.scale != scale_) fill(tables);
    return {tables.bytes.data(), tables.least};
  }

  // Levels that a correction adds, in 256ths per unit of its byte.
  uint16_t correction_factor(int cell) const {
    return static_cast<uint16_t>(std::min(step_of(cell) * scale_ * 256 + 0.5f, 65535.0f));
  }
  float low_of(int cell) const { return cells_.lows ? cells_.lows[cell] : 0.0f; }
  float step_of(int cell) const { return cells_.steps ? cells_.steps[cell] : 0.0f; }

  struct SharedTables {
    float factor, step;  // of the cells
    float low, high;     // the smallest and the largest sum of entries
    float scale, least;  // of the levels, and the sum that level 0 stands for
    AlignedVector<uint8_t> bytes;
  };

  SharedTables& shared_tables(int cell) {
    const float factor = cells_.scales[cell], step = step_of(cell);
    for (SharedTables& known : shared_)
      if (known.factor == factor && known.step == step) return known;
    const auto [low, high] = range_of_tables(nullptr, factor);
    shared_.push_back({factor, step, low, high + 255 * step, 0, 0, AlignedVector<uint8_t>(table_bytes())});
    return shared_.back();
  }

  void fill(SharedTables& tables) const {
    tables.least =
        kernels_.level_tables(input_.tables, nullptr, tables.factor, scale_, cells_.n_symbols, tables.bytes.data());
    tables.scale = scale_;
  }

  // The limit is the lowest bucket up to which there are n_candidates_ codes.
  uint16_t take(int block, uint32_t hits, const uint16_t* levels) {
    const int64_t place = first_place_ + block * kCellBlock;
    for (; hits; hits &= hits - 1) {
      const int i = std::countr_zero(hits);
      if (search_.passing && !passes(search_.passing, cells_.rows[place + i])) continue;
      const int bucket = levels[i % 2 * (kCellBlock / 2) + i / 2] >> shift_;
      ++counts_[bucket];
      ++n_below_;
      if (!counting_) found_.push_back({static_cast<uint32_t>(place + i), static_cast<uint16_t>(bucket)});
    }
    while (limit_ && n_below_ - counts_[limit_] >= n_candidates_) n_below_ -= counts_[limit_--];
    return static_cast<uint16_t>(limit());
  }

  // ---- candidates -------------------------------------------------------------------------------------------------

  void rerank(int64_t* ids, float* distances) {
    stats_.hits += found_.size();
    HeapTopK<float> nearest(search_.k, std::numeric_limits<float>::infinity());
    order_candidates();
    rows_.size ? by_rows(nearest) : by_codes(nearest);
    write_row(nearest.finish(), search_.k, ids, distances);
  }

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
    constexpr size_t kAhead = 8;
    const RowDistances distance(rows_, cells_.metric, input_.query);
    const size_t n = candidates_.size();
    const bool stops = std::isfinite(search_.slack);
    for (size_t i = 0; i < std::min(kAhead, n); ++i) distance.prefetch(cells_.rows[candidates_[i].place]);
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
      const float scale = cells_.scales[probe.cell];
      const float* offsets = offsets_of(probe.cell);
      float sum = distance_to(probe) + low_of(probe.cell);
      if (cells_.lows) sum += step_of(probe.cell) * pairs[cells_.n_symbols / 2 * kCellBlock];
      for (int s = 0; s < cells_.n_symbols; ++s) {
        const int entry = s * kPanel + (pairs[s / 2 * kCellBlock] >> (s % 2 * 4) & 15);
        sum += scale * input_.tables[entry] + (offsets ? offsets[entry] : 0.0f);
      }
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
  int64_t n_candidates_ = 0;
  CellQueryInput input_{};
  float base_ = 0, scale_ = 0;
  AlignedVector<uint8_t> bytes_;      // the tables of a cell as levels
  std::vector<SharedTables> shared_;  // those of all cells of a scale, if cells have no offsets
  int64_t first_place_ = 0;           // of the cell that is scanned
  bool counting_ = false;             // hits are counted only
  bool ran_out_ = false;              // of candidates
  int shift_ = 0;                     // a bucket has 2^shift_ levels
  int limit_ = kBuckets - 1;          // the last bucket of candidates
  int64_t n_below_ = 0;               // codes found in buckets up to limit_
  int32_t counts_[kBuckets] = {};
  std::vector<Candidate> found_, candidates_;
  CellStats stats_;
};

}  // namespace rankhash
