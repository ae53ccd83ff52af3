// Keeps the best candidates of one query, in the order (distance, id), ties included.
#pragma once
#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

namespace rankhash {

// Where a position's id comes from: positions themselves, or an array that ascends up to n_ordered.
struct IdView {
  const int64_t* ids;  // null: the position is the id
  int64_t n_ordered;   // positions below come in the order of their ids
  int64_t operator[](int64_t position) const { return ids ? ids[position] : position; }
};

template <class Distance>
struct Hit {
  Distance distance;
  int64_t id;
  bool operator<(const Hit& other) const {
    return distance != other.distance ? distance < other.distance : id < other.id;
  }
};
using HammingHit = Hit<int32_t>;
using FloatHit = Hit<float>;

// Sorts hits that stand nearly in order.
inline void insertion_sort(FloatHit* first, FloatHit* end) {
  for (FloatHit* at = first + 1; at < end; ++at) {
    const FloatHit hit = *at;
    FloatHit* to = at;
    for (; to > first && hit < to[-1]; --to) *to = to[-1];
    *to = hit;
  }
}

// The best k of the hits in the order (distance, id), in linear time if the distances spread: a counting sort of ranges
// of distances, and a comparison sort inside of each range.
inline std::vector<FloatHit> best_in_order(std::vector<FloatHit>&& hits, int64_t k) {
  constexpr size_t kFew = 48, kRanges = 2048, kFewInRange = 16;
  const size_t n = std::min(hits.size(), static_cast<size_t>(k));
  float low = std::numeric_limits<float>::infinity(), high = -low;
  for (const FloatHit& hit : hits) low = std::min(low, hit.distance), high = std::max(high, hit.distance);
  const double scale = (kRanges - 1) / (static_cast<double>(high) - low);
  if (hits.size() <= kFew || !(low < high)) {
    std::sort(hits.begin(), hits.end());
    hits.resize(n);
    return std::move(hits);
  }
  const auto range_of = [&](const FloatHit& hit) {
    return static_cast<int>((static_cast<double>(hit.distance) - low) * scale);
  };
  uint32_t ends[kRanges + 1] = {};
  for (const FloatHit& hit : hits) ++ends[range_of(hit) + 1];
  int n_ranges = 0;  // that hold the best k
  uint32_t largest = 0;
  for (; ends[n_ranges] < n; ++n_ranges)
    largest = std::max(largest, ends[n_ranges + 1]), ends[n_ranges + 1] += ends[n_ranges];
  std::vector<FloatHit> sorted(ends[n_ranges]);
  for (const FloatHit& hit : hits)
    if (const int r = range_of(hit); r < n_ranges) sorted[ends[r]++] = hit;
  if (largest <= kFewInRange) {
    insertion_sort(sorted.data(), sorted.data() + sorted.size());
  } else {
    for (int r = 0, first = 0; r < n_ranges; first = static_cast<int>(ends[r++]))
      std::sort(sorted.begin() + first, sorted.begin() + ends[r]);
  }
  sorted.resize(n);
  return sorted;
}

// The k nearest by a whole-number distance below n_distances, of positions that come in ascending order. Hits are only
// appended; counts per distance are brought up to date when as many hits have come as could lower the limit. Neither
// the limit nor the final order needs a comparison of distances.
class CountedTopK {
 public:
  static constexpr bool kPositions = true;  // takes positions, not ids

  // Candidates at a distance of `below` or more are of no interest.
  CountedTopK(int64_t k, int n_distances, const IdView& ids, int below)
      : k_(k), limit_(below), ids_(ids), counts_(n_distances) {}
  CountedTopK(int64_t k, int n_distances, const IdView& ids) : CountedTopK(k, n_distances, ids, n_distances) {}

  // Candidates can win with a distance below this. A later id loses a tie with k hits; if ids come in any order, it may
  // win one.
  int below(bool ordered) const { return limit_ + (full_ && !ordered); }

  void push(int distance, int64_t position) {
    if (hits_.empty()) hits_.resize(capacity());
    hits_[n_++] = static_cast<uint64_t>(distance) << kPositionBits | static_cast<uint64_t>(position);
    if (n_ >= next_count_) count();
  }

  std::vector<HammingHit> finish() {
    count();
    note_order();
    if (!in_order_) keep_best();
    hits_.resize(n_);
    std::vector<uint32_t> ends(limit_ + 1);  // the hits nearer than the limit, and then the ties
    for (int d = 0; d < limit_; ++d) ends[d + 1] = ends[d] + static_cast<uint32_t>(counts_[d]);
    const size_t n = std::min(static_cast<int64_t>(hits_.size()), k_);
    std::vector<HammingHit> sorted(n);
    for (const uint64_t hit : hits_) {
      const int distance = distance_of(hit);
      if (distance <= limit_ && ends[distance] < n) sorted[ends[distance]++] = {distance, id_of(hit)};
    }
    for (int d = 0, first = 0; d <= limit_ && !in_order_; first = static_cast<int>(ends[d++]))
      std::sort(sorted.begin() + first, sorted.begin() + ends[d]);
    std::vector<uint64_t>().swap(hits_);
    return sorted;
  }

 private:
  static constexpr int kPositionBits = 48;

  int64_t capacity() const { return k_ + k_ / 4 + 64; }
  static int distance_of(uint64_t hit) { return static_cast<int>(hit >> kPositionBits); }
  static int64_t position_of(uint64_t hit) { return static_cast<int64_t>(hit & ((uint64_t{1} << kPositionBits) - 1)); }
  int64_t id_of(uint64_t hit) const { return ids_[position_of(hit)]; }
  void note_order() {
    const auto is_late = [&](uint64_t hit) { return position_of(hit) >= ids_.n_ordered; };
    in_order_ = in_order_ && std::none_of(hits_.begin(), hits_.begin() + n_, is_late);
  }

  // Lowers the limit to what the hits so far allow: fewer than k of them are nearer than it.
  void count() {
    for (; n_counted_ < n_; ++n_counted_)
      if (const int distance = distance_of(hits_[n_counted_]); distance < limit_) ++counts_[distance], ++below_;
    while (below_ >= k_) below_ -= counts_[--limit_], full_ = true;
    if (n_ == capacity()) keep_best();
    next_count_ = std::min(n_ + k_ - below_, capacity());
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
    std::copy(ties.begin(), ties.begin() + n_ties, hits_.begin() + kept);
    n_ = n_counted_ = kept + n_ties;
  }

  int64_t k_;
  int limit_;
  IdView ids_;
  bool full_ = false;       // at least k hits are within the limit, fewer than k nearer than it
  bool in_order_ = true;    // hits of a distance stand in the order of their ids
  int64_t n_ = 0;           // hits
  int64_t n_counted_ = 0;   // the first of them are counted
  int64_t next_count_ = 1;  // when there are as many
  int64_t below_ = 0;       // counted hits with distance < limit_
  std::vector<int64_t> counts_;
  std::vector<uint64_t> hits_;  // distance and position
};

// The k nearest by a real distance.
class FloatTopK {
 public:
  static constexpr bool kPositions = false;
  // Candidates farther than `limit` are of no interest.
  explicit FloatTopK(int64_t k, float limit = std::numeric_limits<float>::infinity()) : k_(k), limit_(limit) {}

  // Candidates can win with a distance of at most this, or below it if ties_lose(), and ids come in order.
  float limit() const { return limit_; }
  bool ties_lose() const { return full_; }
  int64_t wanted() const { return k_; }

  void push(float distance, int64_t id) {
    hits_.push_back({distance, id});
    if (static_cast<int64_t>(hits_.size()) >= 2 * k_ + 16) keep_best();
  }

  std::vector<FloatHit> finish() { return best_in_order(std::move(hits_), k_); }

 private:
  void keep_best() {
    std::nth_element(hits_.begin(), hits_.begin() + (k_ - 1), hits_.end());
    hits_.resize(k_);
    limit_ = hits_[k_ - 1].distance;
    full_ = true;
  }

  int64_t k_;
  float limit_;
  bool full_ = false;  // the limit is that of k hits
  std::vector<FloatHit> hits_;
};

// The k nearest in any order of arrival; exact at every moment.
template <class Distance>
class HeapTopK {
 public:
  static constexpr bool kPositions = false;
  // No distance exceeds `farthest`.
  HeapTopK(int64_t k, Distance farthest) : k_(k), farthest_(farthest) {}

  // Candidates can win with a distance of at most this.
  Distance limit() const { return full() ? hits_.front().distance : farthest_; }
  int below(bool ordered) const { return static_cast<int>(limit()) + !(ordered && full()); }
  bool ties_lose() const { return full(); }
  int64_t wanted() const { return k_; }
  static constexpr bool kFixed = false;
  bool takes(Distance distance, int64_t id) const { return !full() || Hit<Distance>{distance, id} < hits_.front(); }

  void push(Distance distance, int64_t id) {
    if (full()) {
      if (!takes(distance, id)) return;
      std::pop_heap(hits_.begin(), hits_.end());
      hits_.pop_back();
    }
    hits_.push_back({distance, id});
    std::push_heap(hits_.begin(), hits_.end());
  }

  std::vector<Hit<Distance>> finish() {
    std::sort_heap(hits_.begin(), hits_.end());
    return std::move(hits_);
  }

 private:
  bool full() const { return static_cast<int64_t>(hits_.size()) == k_; }

  int64_t k_;
  Distance farthest_;
  std::vector<Hit<Distance>> hits_;  // the farthest in front
};

// Every candidate within a fixed radius.
template <class Distance>
class Within {
 public:
  static constexpr bool kPositions = false;
  explicit Within(Distance radius) : radius_(radius) {}
  int below(bool) const { return static_cast<int>(radius_) + 1; }
  Distance limit() const { return radius_; }
  bool ties_lose() const { return false; }
  int64_t wanted() const { return 0; }  // all of them
  static constexpr bool kFixed = true;  // the limit does not change
  bool takes(Distance, int64_t) const { return true; }

  void push(Distance distance, int64_t id) { hits_.push_back({distance, id}); }

  std::vector<Hit<Distance>> finish() {
    std::sort(hits_.begin(), hits_.end());
    return std::move(hits_);
  }

 private:
  Distance radius_;
  std::vector<Hit<Distance>> hits_;
};

}  // namespace rankhash
