// One query's way through the cells: rank them, scan the best in any order, re-rank what was found.
//
// One class, though a long one: every step works on the same buffers of the query.
//
// Which codes become candidates does not depend on the order of the cells: they are those up to the lowest level that
// holds enough of them.
#pragma once
#include <bit>
#include <cmath>

#include "core/aligned.hpp"
#include "core/cells.hpp"
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
        bytes_(cells.offsets ? table_bytes() : 0) {}

  struct Probe {
    float key;  // |q - c|² - |q|², or -q·c
    int cell;
    bool operator<(const Probe& other) const { return key != other.key ? key < other.key : cell < other.cell; }
  };

  // Chooses the cells; `keys` is room for a number per cell.
  void begin(const CellQueryInput& input, float* keys) {
    input_ = input;
    shared_.clear();
    rank_cells(keys);
    choose_scale();
    reset();
  }

  const std::vector<Probe>& probes() const { return probes_; }

  void finish(int64_t* ids, float* distances) { rerank(ids, distances); }

  const CellStats& stats() const { return stats_; }

 private:
  struct Candidate {
    uint32_t place;
    uint8_t level;
  };
  static constexpr float kFarthest = 1e38f;
  static constexpr double kMostCandidates = 1e15;
  static constexpr float kPrecise = 1.0f / 64;
  static constexpr int kLevels = 256;
  static constexpr int kTop = 254;       // the highest level that can be a candidate
  static constexpr int kRoomBelow = 12;  // levels

  // ---- which cells ------------------------------------------------------------------------------------------------

  void rank_cells(float* keys) {
    float least = std::numeric_limits<float>::infinity(), most = -least;
    int first = 0;
    for (int c = 0; c < cells_.n_cells; ++c) {
      keys[c] = cells_.squares[c] + input_.scores[c];
      if (!(std::abs(keys[c]) < kFarthest)) keys[c] = kFarthest;  // infinite, or no number
      if (keys[c] < least) least = keys[c], first = c;
      most = std::max(most, keys[c]);
    }
    square_ = 0;
    for (int64_t j = 0; j < cells_.depth; ++j) square_ += input_.point[j] * input_.point[j];
    const float nearest = std::max(least + square_, std::numeric_limits<float>::min());
    keys_are_precise_ = nearest > square_ * kPrecise;
    go_far((least + square_) / cells_.radii[first]);
    const float threshold = key_threshold(keys, least, most, nearest);
    probes_.clear();
    for (int c = 0; c < cells_.n_cells; ++c)
      if (keys[c] <= threshold) probes_.push_back({keys[c], c});
    std::sort(probes_.begin(), probes_.end());
    size_t kept = 1;
    while (kept < probes_.size() && is_worth(static_cast<float>(kept + 1), probes_[kept].key, nearest)) ++kept;
    probes_.resize(kept);
  }

  void go_far(float unlikeness) {
    const float ratio = std::max(std::min(search_.far, unlikeness) / search_.usual, 1.0f);
    float factor = 1;
    for (int i = 0; i < search_.growth; ++i) factor *= ratio;
    effort_ = search_.effort * factor * factor;
    const double candidates = std::min(static_cast<double>(search_.n_candidates) * factor, kMostCandidates);
    n_candidates_ = std::max(static_cast<int64_t>(candidates), search_.k);
  }

  // Whether rank · (D / D_0)^exponent is at most the effort; it grows with the rank and the key.
  bool is_worth(float rank, float key, float nearest) const {
    const float ratio = std::max(key + square_, nearest) / nearest;  // of squared distances
    for (int e = 0; e < search_.exponent; e += 2) rank *= ratio;
    return rank <= effort_;
  }

  // No cell with a larger key is worth scanning, and few others are not.
  float key_threshold(const float* keys, float least, float most, float nearest) const {
    int counts[kLevels] = {};
    const float width = (most - least) / (kLevels - 1);
    if (!(width > 0) || !std::isfinite(width)) return most;
    const float scale = 1 / width;
    for (int c = 0; c < cells_.n_cells; ++c) ++counts[static_cast<int>((keys[c] - least) * scale)];
    int64_t before = 0;
    int bucket = 0;
    for (; bucket < kLevels; before += counts[bucket++])
      if (!is_worth(static_cast<float>(before + 1), least + static_cast<float>(bucket - 1) * width, nearest)) break;
    return least + static_cast<float>(bucket) * width;
  }

  // ---- distances of codes as levels -------------------------------------------------------------------------------

  // |q - c|², or -q·c for inner products. Keys lose digits where the query is much longer than its distance from the
  // nearest centroid; then it is computed from the differences.
  float distance_to(const Probe& probe) const {
    if (cells_.metric == Metric::kNegativeProduct) return probe.key;
    if (keys_are_precise_) return std::max(probe.key + square_, 0.0f);
    const float* center = cells_.centers + static_cast<int64_t>(probe.cell) * cells_.depth;
    return kernels_.squared_distance[kFloat32](input_.point, center, cells_.depth, 1);
  }

  const float* offsets_of(int cell) const {
    return cells_.offsets ? cells_.offsets + static_cast<int64_t>(cell) * cells_.n_symbols * kPanel : nullptr;
  }

  // level = (distance - base) · scale. First so coarse that every sum of the first cells fits, to see where the limit
  // lies among their codes; then so fine that this limit is near the top.
  void choose_scale() {
    float least = std::numeric_limits<float>::infinity(), most = -least;
    size_t n_first = 0;
    for (int64_t seen = 0; n_first < probes_.size() && seen < 2 * n_candidates_; ++n_first) {
      const auto [low, high] = range_of(probes_[n_first]);
      least = std::min(least, low);
      most = std::max(most, high);
      seen += cells_.sizes[probes_[n_first].cell];
    }
    set_coarse_scale(least, most);
    reset();
    counting_ = true;
    for (size_t i = 0; i < n_first; ++i) scan(probes_[i]);
    counting_ = false;
    if (n_below_ >= n_candidates_) return set_scale(least, scale_ * 240 / static_cast<float>(limit_ + 2));
    for (size_t i = n_first; i < probes_.size(); ++i) {  // too few of the first: everything may be needed
      const auto [low, high] = range_of(probes_[i]);
      least = std::min(least, low);
      most = std::max(most, high);
    }
    set_coarse_scale(least, most);
  }

  // So coarse that no level is above the highest one, though entries are rounded.
  void set_coarse_scale(float least, float most) {
    const int levels = std::max(kTop - kRoomBelow - cells_.n_symbols / 2 - 1, 16);
    set_scale(least, static_cast<float>(levels) / std::max(most - least, 1e-30f));
  }

  // Room is left below for cells behind the first ones that hold nearer codes.
  void set_scale(float least, float scale) {
    scale_ = scale;
    base_ = least - static_cast<float>(kRoomBelow) / scale;
  }

  // The smallest and the largest distance that a code of the cell can have.
  std::pair<float, float> range_of(const Probe& probe) const {
    const float scale = cells_.scales[probe.cell];
    const float* offsets = offsets_of(probe.cell);
    float low = distance_to(probe), high = low;
    for (int s = 0; s < cells_.n_symbols; ++s) {
      float least = std::numeric_limits<float>::infinity(), most = -least;
      for (int v = s * kPanel; v < (s + 1) * kPanel; ++v) {
        const float value = scale * input_.tables[v] + (offsets ? offsets[v] : 0.0f);
        least = std::min(least, value);
        most = std::max(most, value);
      }
      low += least;
      high += most;
    }
    return {low, high};
  }

  void reset() {
    std::fill(counts_, counts_ + kLevels, 0);
    n_below_ = 0;
    limit_ = kTop;
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
    const float start = std::max((distance_to(probe) + least - base_) * scale_ + 0.5f, 0.0f);
    if (!(start < static_cast<float>(limit_ + 1))) return;
    const int used = cells_.sizes[cell] % kCellBlock;
    CellTask task{block_of(cell),
                  tables,
                  n_blocks(cell),
                  cells_.n_pairs(),
                  used ? (1u << used) - 1 : ~0u,
                  static_cast<uint8_t>(start),
                  static_cast<uint8_t>(limit_),
                  this,
                  nullptr};
    task.on_hits = [](void* self, int block, uint32_t hits, const uint8_t* levels) {
      return static_cast<CellQuery*>(self)->take(block, hits, levels);
    };
    first_place_ = cells_.first_block[cell] * kCellBlock;
    ++stats_.cells;
    stats_.codes += cells_.sizes[cell];
    kernels_.scan_cell(task);
  }

 private:
  size_t table_bytes() const { return static_cast<size_t>(cells_.n_pairs() + 1) / 2 * 4 * 2 * kPanel; }

  // A cell's tables as levels, and the distance that level 0 of all of them stands for, beside that of the centroid.
  std::pair<const uint8_t*, float> tables_of(int cell) {
    const float factor = cells_.scales[cell];
    if (cells_.offsets) {
      const float least =
          kernels_.level_tables(input_.tables, offsets_of(cell), factor, scale_, cells_.n_symbols, bytes_.data());
      return {bytes_.data(), least};
    }
    const SharedTables& tables = shared_tables(factor);
    return {tables.bytes.data(), tables.least};
  }

  struct SharedTables {
    float factor, scale, least;
    AlignedVector<uint8_t> bytes;
  };

  const SharedTables& shared_tables(float factor) {
    for (SharedTables& known : shared_)
      if (known.factor == factor) {
        if (known.scale != scale_) fill(known);
        return known;
      }
    shared_.push_back({factor, 0, 0, AlignedVector<uint8_t>(table_bytes())});
    fill(shared_.back());
    return shared_.back();
  }

  void fill(SharedTables& tables) const {
    tables.least =
        kernels_.level_tables(input_.tables, nullptr, tables.factor, scale_, cells_.n_symbols, tables.bytes.data());
    tables.scale = scale_;
  }

  // The limit is the lowest level up to which there are n_candidates_ codes.
  uint8_t take(int block, uint32_t hits, const uint8_t* levels) {
    const int64_t place = first_place_ + block * kCellBlock;
    for (; hits; hits &= hits - 1) {
      const int i = std::countr_zero(hits);
      if (search_.passing && !passes(search_.passing, cells_.rows[place + i])) continue;
      ++counts_[levels[i]];
      ++n_below_;
      if (!counting_) found_.push_back({static_cast<uint32_t>(place + i), levels[i]});
    }
    while (limit_ && n_below_ - counts_[limit_] >= n_candidates_) n_below_ -= counts_[limit_--];
    return static_cast<uint8_t>(limit_);
  }

  // ---- candidates -------------------------------------------------------------------------------------------------

  void rerank(int64_t* ids, float* distances) {
    stats_.hits += found_.size();
    size_t kept = 0;
    for (const Candidate& candidate : found_)
      if (candidate.level <= limit_) found_[kept++] = candidate;
    found_.resize(kept);
    stats_.candidates += kept;
    HeapTopK<float> nearest(search_.k, std::numeric_limits<float>::infinity());
    rows_.size ? by_rows(nearest) : by_codes(nearest);
    write_row(nearest.finish(), search_.k, ids, distances);
  }

  void by_rows(HeapTopK<float>& nearest) const {
    constexpr size_t kAhead = 8;
    const RowDistances distance(rows_, cells_.metric, input_.query);
    const size_t n = found_.size();
    for (size_t i = 0; i < std::min(kAhead, n); ++i) distance.prefetch(cells_.rows[found_[i].place]);
    for (size_t i = 0; i < n; ++i) {
      if (i + kAhead < n) distance.prefetch(cells_.rows[found_[i + kAhead].place]);
      const int64_t row = cells_.rows[found_[i].place];
      const float d = distance(row);
      if (d <= nearest.limit()) nearest.push(d, ids_[row]);
    }
  }

  // Sums of the table entries themselves, instead of their levels.
  void by_codes(HeapTopK<float>& nearest) const {
    for (const Candidate& candidate : found_) {
      const Probe& probe = probe_of(candidate.place);
      const uint8_t* block = cells_.blocks + int64_t{candidate.place} / kCellBlock * cells_.n_pairs() * kCellBlock;
      const uint8_t* pairs = block + candidate.place % kCellBlock;
      const float scale = cells_.scales[probe.cell];
      const float* offsets = offsets_of(probe.cell);
      float sum = distance_to(probe);
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
    for (const Probe& probe : probes_) {
      const int64_t first = cells_.first_block[probe.cell] * kCellBlock;
      if (place >= first && place < first + cells_.sizes[probe.cell]) return probe;
    }
    return probes_.front();
  }

  const CellsView& cells_;
  const RowsView& rows_;
  const RowIds& ids_;
  const CellSearch& search_;
  const Kernels& kernels_;
  float effort_ = 0;
  int64_t n_candidates_ = 0;
  CellQueryInput input_{};
  float square_ = 0;  // |point|²
  bool keys_are_precise_ = false;
  std::vector<Probe> probes_;
  float base_ = 0, scale_ = 0;
  AlignedVector<uint8_t> bytes_;      // the tables of a cell as levels
  std::vector<SharedTables> shared_;  // those of all cells of a scale, if cells have no offsets
  int64_t first_place_ = 0;           // of the cell that is scanned
  bool counting_ = false;             // hits are counted only
  int limit_ = kTop;
  int64_t n_below_ = 0;  // codes found at levels up to limit_
  int64_t counts_[kLevels] = {};
  std::vector<Candidate> found_;
  CellStats stats_;
};

}  // namespace rankhash
