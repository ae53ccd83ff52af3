// The best hits of one query by distances that are small whole numbers: counted, never compared.
#pragma once
#include <utility>

#include "core/topk.hpp"
#include "kernels/kernels.hpp"

namespace rankhash {

// The k nearest by a whole-number distance below n_distances, of positions that come in ascending order. Kernels append
// the hits; counts per distance are brought up to date when as many hits have come as could lower the limit. Neither
// the limit nor the final order needs a comparison of distances.
class CountedTopK {
 public:
  using Record = uint64_t;
  static constexpr bool kPositions = true;  // takes positions, not ids
  static constexpr bool kFixed = false;

  // Hits that one of them has room for.
  static int64_t capacity(int64_t k) { return most(k) + kMostTogether * kBlock; }

  // Candidates at a distance of `below` or more are of no interest. `room` takes capacity(k) hits.
  CountedTopK(int64_t k, int n_distances, const IdView& ids, int below, uint64_t* room)
      : limit_(below), hits_(room), k_(k), ids_(ids), counts_(kCounters * n_distances) {}

  // Candidates can win with a distance below this. A later id loses a tie with k hits; if ids come in any order, it may
  // win one.
  int below(bool ordered) const { return limit_ + (full_ && !ordered); }
  int64_t wanted() const { return k_; }

  // Where hits are appended. update() is called with their end when they have reached its `stop`, after which below()
  // may have changed, and once more after all of them.
  HitSink sink() const { return {hits_ + n_, hits_ + next_count_, 0}; }
  HitSink update(const uint64_t* end) {
    n_ = end - hits_;
    count();
    return sink();
  }

  // The k-th best distance, or `missing` if there are fewer than k hits.
  int last_distance(int missing) const { return full_ ? limit_ : missing; }

  // In linear time: a counting sort of four runs of hits side by side, so that no step waits for the one before.
  std::vector<HammingHit> finish() {
    note_order();
    if (!in_order_) keep_best();
    constexpr int kRuns = 4;
    const int n_levels = limit_ + 2;  // the hits nearer than the limit, the ties, and those that are farther
    const int64_t run = n_ / kRuns;
    const auto each = [&](const auto& use) {
      for (int64_t i = 0; i < run; ++i)
        for (int r = 0; r < kRuns; ++r) use(r, hits_[r * run + i]);
      for (int64_t i = kRuns * run; i < n_; ++i) use(kRuns - 1, hits_[i]);
    };
    std::vector<uint32_t> places(kRuns * n_levels);
    const auto place_of = [&](int r, int distance) -> uint32_t& {
      return places[r * n_levels + std::min(distance, limit_ + 1)];
    };
    each([&](int r, uint64_t hit) { ++place_of(r, distance_of(hit)); });
    uint32_t first = 0;
    for (int d = 0; d < n_levels; ++d)
      for (int r = 0; r < kRuns; ++r) first += std::exchange(place_of(r, d), first);
    const size_t n = std::min(n_, k_);
    std::vector<HammingHit> sorted(n);
    each([&](int r, uint64_t hit) {
      const uint32_t place = place_of(r, distance_of(hit))++;
      if (place < n) sorted[place] = {distance_of(hit), id_of(hit)};
    });
    if (!in_order_) std::sort(sorted.begin(), sorted.end());
    return sorted;
  }

 private:
  static constexpr int kCounters = 2;  // neighbouring hits use different ones, and needn't wait for each other

  // Above this only the best stay.
  static int64_t most(int64_t k) { return k + k / 2 + 64; }

  static int distance_of(uint64_t hit) { return static_cast<int>(hit >> kPositionBits); }
  static int64_t position_of(uint64_t hit) { return static_cast<int64_t>(hit & ((uint64_t{1} << kPositionBits) - 1)); }
  int64_t id_of(uint64_t hit) const { return ids_[position_of(hit)]; }
  // Of the hits since this was last called the last one has the largest position.
  void note_order() { in_order_ = in_order_ && (!n_ || position_of(hits_[n_ - 1]) < ids_.n_ordered); }

  // Lowers the limit to what the hits so far allow: fewer than k of them are nearer than it.
  void count() {
    const int64_t n = n_;
    uint32_t* const counts = counts_.data();
    for (int64_t i = n_counted_; i < n; ++i) ++counts[kCounters * distance_of(hits_[i]) + i % kCounters];
    n_counted_ = n;
    int64_t below = 0;
    for (int i = 0; i < kCounters * limit_; ++i) below += counts[i];
    for (; below >= k_; full_ = true) {
      --limit_;
      for (int i = 0; i < kCounters; ++i) below -= counts[kCounters * limit_ + i];
    }
    if (n_ >= most(k_)) keep_best();
    next_count_ = std::min(n_ + k_ - below, most(k_));
  }

  // Of the hits at the limit the smallest ids stay.
  void keep_best() {
    if (n_ <= k_) return;
    note_order();
    std::vector<uint64_t> ties;
    int64_t kept = 0;
    for (int64_t i = 0; i < n_; ++i)
      if (distance_of(hits_[i]) < limit_) hits_[kept++] = hits_[i];
      else if (distance_of(hits_[i]) == limit_) ties.push_back(hits_[i]);
    const int64_t n_ties = std::min(static_cast<int64_t>(ties.size()), k_ - kept);
    if (!in_order_ && n_ties < static_cast<int64_t>(ties.size()))
      std::nth_element(ties.begin(), ties.begin() + n_ties, ties.end(),
                       [&](uint64_t a, uint64_t b) { return id_of(a) < id_of(b); });
    std::copy(ties.begin(), ties.begin() + n_ties, hits_ + kept);
    n_ = n_counted_ = kept + n_ties;
  }

  int limit_;
  bool full_ = false;       // at least k hits are within the limit, fewer than k nearer than it
  bool in_order_ = true;    // hits of a distance stand in the order of their ids
  uint64_t* hits_;          // distance and position
  int64_t n_ = 0;           // hits
  int64_t next_count_ = 1;  // when there are as many
  int64_t n_counted_ = 0;   // the first of them are counted
  int64_t k_;
  IdView ids_;
  std::vector<uint32_t> counts_;  // kCounters per distance, right for distances below the limit
};

}  // namespace rankhash
