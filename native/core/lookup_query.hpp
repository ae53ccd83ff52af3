// One query of core/lookup.hpp: its probes of the hash tables, and their cost.
#pragma once
#include <span>

#include "core/lookup_costs.hpp"
#include "core/lookup_metrics.hpp"
#include "core/shells.hpp"

namespace rankhash {

template <class Metric, class Collector>
class LookupQuery {
 public:
  using Distance = typename Metric::Distance;

  LookupQuery(const TablesView& view, const uint8_t* row, const Metric& metric, const Collector& empty, double budget)
      : view_(view), row_(view.store.layout, row), metric_(metric), collector_(empty), budget_(budget) {
    stats_.cost = (view.store.size - view.n_sealed + view.changed.size) * sliced_cost();
  }

  // False if the query exceeds its budget; the collector is then incomplete.
  bool run() {
    if (view_.n_sealed < view_.store.size) metric_.scan(view_.store, row_.bytes(), view_.n_sealed / kBlock, collector_);
    if (view_.changed.size) metric_.scan(view_.changed, row_.bytes(), 0, collector_);
    for (const Segment* segment : view_.segments)
      if (!search(*segment)) return false;
    return true;
  }

  std::vector<Hit<Distance>> finish() { return collector_.finish(); }
  const LookupStats& stats() const { return stats_; }

 private:
  static constexpr int kKeys = 128;       // occupied keys that are prefetched together
  static constexpr uint32_t kFetch = 64;  // rows of a bucket that are prefetched; the hardware prefetches the others
  static constexpr int kFewHits = 16;     // up to this number of hits, the rows of a sliced block are read one by one

  double row_cost() const { return LookupCosts::kRowWord * row_.n_words(); }
  double sliced_cost() const { return LookupCosts::kSlicedWord * view_.store.layout.n_bits / 64; }

  bool search(const Segment& segment) {
    segment_ = &segment;
    in_order_ = segment.start + segment.size <= view_.store.ids.n_ordered;
    const size_t n = segment.tables.size();
    shells_.clear();
    shells_.reserve(n);
    for (const KeyTable& table : segment.tables) shells_.emplace_back(row_.bytes(), segment.layout, table.span);
    counts_.assign(n, 0);
    differing_.resize(row_.n_words());
    next_cost_.resize(n);
    for (size_t t = 0; t < n; ++t) __builtin_prefetch(segment.tables[t].offsets + shells_[t].key());
    for (size_t t = 0; t < n; ++t) next_cost_[t] = bucket_cost(t);
    if (Collector::kFixed && stats_.cost + planned_cost() > budget_) return false;
    bool complete = false;
    while (!complete && metric_.bound(segment, counts_) <= collector_.limit()) {
      table_ = static_cast<int>(std::min_element(next_cost_.begin(), next_cost_.end()) - next_cost_.begin());
      if (stats_.cost + next_cost_[table_] > budget_ || !step()) return false;
      complete = ++counts_[table_] > shells_[table_].n_symbols();
      if (!complete) next_cost_[table_] = shell_cost(table_, counts_[table_]);
    }
    if (&segment == view_.segments.front()) {
      stats_.radius = -1;
      for (const int count : counts_) stats_.radius += count;
      if (complete) stats_.radius = segment.layout.n_symbols;
    }
    return true;
  }

  // The exact cost of the query's own bucket.
  double bucket_cost(size_t t) const {
    const KeyTable& table = segment_->tables[t];
    const uint32_t begin = table.offsets[shells_[t].key()], end = table.offsets[shells_[t].key() + 1];
    const BlockRun run = sliced_blocks(begin, end);
    const double sliced = static_cast<double>(run.end - run.first) * kBlock;
    return LookupCosts::kBucket + sliced * sliced_cost() + (end - begin - sliced) * row_cost();
  }

  // The expected cost of all keys at a radius, with buckets of mean size.
  double shell_cost(int t, int radius) const {
    const double mean = static_cast<double>(segment_->size) / segment_->tables[t].n_keys;
    return shells_[t].count(radius) *
           (LookupCosts::kProbe + std::min(mean, 1.0) * LookupCosts::kBucket + mean * row_cost());
  }

  // The expected cost of all steps of a search with a fixed radius.
  double planned_cost() const {
    std::vector<int> counts(counts_);
    std::vector<double> next(next_cost_);
    double cost = 0;
    while (metric_.bound(*segment_, counts) <= collector_.limit()) {
      const auto t = std::min_element(next.begin(), next.end()) - next.begin();
      cost += next[t];
      if (cost > budget_ || ++counts[t] > shells_[t].n_symbols()) break;
      next[t] = shell_cost(static_cast<int>(t), counts[t]);
    }
    return cost;
  }

  // Probes all keys at the next radius of a table; false if that exceeds the budget.
  bool step() {
    const KeyTable& table = segment_->tables[table_];
    keys_.clear();
    const bool in_budget = shells_[table_].visit(counts_[table_], [&](uint32_t key) {
      ++stats_.probes;
      if (!table.is_occupied(key)) return true;
      __builtin_prefetch(table.offsets + key);
      keys_.push_back(key);
      return keys_.size() < kKeys || flush(table);
    });
    stats_.cost += shells_[table_].count(counts_[table_]) * LookupCosts::kProbe;
    return in_budget && flush(table);
  }

  // Compares the codes of the gathered buckets.
  bool flush(const KeyTable& table) {
    ranges_.clear();
    runs_.clear();
    int64_t n_rows = 0, n_sliced = 0;
    const int64_t n_bytes = segment_->layout.n_bytes;
    for (const uint32_t key : keys_) {
      const uint32_t begin = table.offsets[key], end = table.offsets[key + 1];
      const BlockRun run = sliced_blocks(begin, end);
      const uint8_t* const last = table.rows + std::min(end, begin + kFetch) * n_bytes;
      for (const uint8_t* at = table.rows + begin * n_bytes; at < last; at += 64) __builtin_prefetch(at);
      if (run.first < run.end) {
        runs_.push_back(run);
        n_sliced += static_cast<int64_t>(run.end - run.first) * kBlock;
        add_range(begin, run.first * kBlock);
        add_range(run.end * kBlock, end);
      } else {
        add_range(begin, end);
      }
      n_rows += end - begin;
    }
    stats_.buckets += keys_.size();
    stats_.candidates += n_rows;
    n_rows -= n_sliced;
    stats_.cost += keys_.size() * LookupCosts::kBucket + n_rows * row_cost() + n_sliced * sliced_cost();
    keys_.clear();
    if (stats_.cost > budget_) return false;
    compare_rows(table);
    for (const BlockRun& run : runs_) compare_blocks(table, run);
    return stats_.cost <= budget_;
  }

  void add_range(uint32_t begin, uint32_t end) {
    if (begin < end) ranges_.push_back(begin), ranges_.push_back(end);
  }

  void compare_rows(const KeyTable& table) {
    RowTask task{};
    task.rows = table.rows;
    task.ranges = ranges_.data();
    task.n_ranges = static_cast<int>(ranges_.size() / 2);
    task.layout = segment_->layout;
    task.query = row_.words();
    task.firsts = row_.firsts();
    task.n_words = row_.n_words();
    task.below = metric_.below(collector_.limit());
    task.context = this;
    task.on_hits = [](void* self, const RowHit* hits, int n) {
      return static_cast<LookupQuery*>(self)->take_rows(hits, n);
    };
    active_kernels().compare_rows(task);
  }

  int take_rows(const RowHit* hits, int n) {
    const KeyTable& table = segment_->tables[table_];
    for (int i = 0; i < n; ++i) __builtin_prefetch(table.places + hits[i].row);
    for (int i = 0; i < n; ++i)
      take(table, hits[i].row, table.rows + static_cast<int64_t>(hits[i].row) * segment_->layout.n_bytes,
           hits[i].distance);
    return stats_.cost > budget_ ? 0 : metric_.below(collector_.limit());
  }

  void compare_blocks(const KeyTable& table, const BlockRun& run) {
    const Layout& layout = segment_->layout;
    const int counter_bits = std::max(kMinCounter, bit_width(layout.n_symbols));
    make_masks();
    uint32_t bias[kBiasStride];
    uint8_t live[kSlice];
    std::memset(live, 0xFF, kSlice);
    HammingTile tile{};
    tile.digits = masks_.data();
    tile.bias = bias;
    tile.live = live;
    tile.n_blocks = 1;
    tile.n_queries = 1;
    tile.n_digits = layout.n_bits;
    tile.counter_bits = counter_bits;
    tile.layout = layout;
    tile.context = this;
    tile.on_hits = [](void* self, const HammingHits& hits) { static_cast<LookupQuery*>(self)->take_block(hits); };
    int below = metric_.below(collector_.limit());
    for (block_ = run.first; block_ < run.end && below > 0; ++block_) {
      start_ = (1 << counter_bits) - below;
      for (int i = 0; i <= counter_bits; ++i) bias[i] = start_ >> i & 1 ? ~0u : 0u;
      block_rows_ = table.rows + static_cast<int64_t>(block_) * kBlock * layout.n_bytes;
      tile.planes = block_rows_;
      block_below_ = below;
      active_kernels().count_direct(tile);
      below = block_below_;
    }
  }

  void make_masks() {
    if (!masks_.empty()) return;
    const int n_bits = view_.store.layout.n_bits;
    masks_.reserve(n_bits);
    for (int t = 0; t < n_bits; ++t) masks_.push_back(row_.bytes()[t >> 3] >> (t & 7) & 1 ? ~0u : 0u);
  }

  void take_block(const HammingHits& hits) {
    const Layout& layout = segment_->layout;
    const KeyTable& table = segment_->tables[table_];
    const bool whole = hits.n > kFewHits;
    block_copy_.resize(static_cast<size_t>(kBlock) * layout.n_bytes + kRowPadding);
    if (whole) read_block(block_rows_, layout.n_bits, block_copy_.data(), kBlock);
    for (const CountedCode& code : std::span(hits.codes, hits.n)) {
      const int differing = static_cast<int>(code.counter) - start_;
      if (differing >= block_below_) continue;
      const int64_t at = code.place;
      uint8_t* row = block_copy_.data() + (whole ? at * layout.n_bytes : 0);
      if (!whole) read_slices(block_rows_, layout.n_bits, &at, row, 1);
      const bool lost = take(table, block_ * kBlock + static_cast<uint32_t>(at), row, differing);
      const Distance limit = collector_.limit();
      // After a code that loses a tie by its id, all later codes of the bucket lose it too.
      const bool ties_lose = lost && Metric::kWhole && in_order_;
      block_below_ = std::min(block_below_, ties_lose ? static_cast<int>(limit) : metric_.below(limit));
      if (stats_.cost > budget_) block_below_ = 0;
    }
  }

  // Adds a candidate; true if it loses a tie because of its id.
  bool take(const KeyTable& table, uint32_t at, const uint8_t* row, int differing) {
    stats_.cost += LookupCosts::kHit;
    if (differing >= metric_.below(collector_.limit())) return false;
    if (seen_before(row)) {
      ++stats_.duplicates;
      return false;
    }
    if (table.places[at] >= segment_->size) return false;  // only in a damaged file that was opened unverified
    const int64_t position = segment_->start + table.places[at];
    if (!alive(position)) return false;
    const Distance distance = metric_.distance(row, differing);
    if (distance > collector_.limit()) return false;
    const int64_t id = view_.store.ids[position];
    if (!collector_.takes(distance, id)) return true;
    collector_.push(distance, id);
    return false;
  }

  // Whether the code was found before: its key in another table lies within the radius already probed there.
  bool seen_before(const uint8_t* row) {
    row_.differing(row, differing_.data());
    for (int t = 0; t < static_cast<int>(counts_.size()); ++t) {
      if (t == table_ || !counts_[t]) continue;
      int distance = 0;
      const std::vector<uint64_t>& bits = segment_->tables[t].span_bits;
      for (int w = 0; w < row_.n_words(); ++w) distance += std::popcount(differing_[w] & bits[w]);
      if (distance < counts_[t]) return true;
    }
    return false;
  }

  bool alive(int64_t position) const {
    const auto bit = [&](const uint8_t* bits) { return bits[position >> 3] >> (position & 7) & 1; };
    return (!view_.store.live || bit(view_.store.live)) && (!view_.stale || !bit(view_.stale));
  }

  const TablesView& view_;
  RowQuery row_;
  const Metric& metric_;
  Collector collector_;
  double budget_;
  LookupStats stats_;

  const Segment* segment_ = nullptr;
  bool in_order_ = false;  // positions of the segment are in the order of their ids
  int table_ = 0;
  std::vector<uint64_t> differing_;
  std::vector<Shells> shells_;
  std::vector<int> counts_;  // per table: the radii 0 … counts - 1 have been probed
  std::vector<double> next_cost_;
  std::vector<uint32_t> keys_, ranges_, masks_;
  std::vector<BlockRun> runs_;

  uint32_t block_ = 0;  // the sliced block that is being counted
  const uint8_t* block_rows_ = nullptr;
  int start_ = 0, block_below_ = 0;
  std::vector<uint8_t> block_copy_;
};

}  // namespace rankhash
