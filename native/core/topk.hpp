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

// The best k of n hits in the order (distance, id), in linear time if the distances spread: a radix sort of distances
// rounded down to levels, and a comparison sort inside of each level.
inline std::vector<FloatHit> best_in_order(FloatHit* hits, int64_t n, int64_t k) {
  constexpr int kDigitBits = 8, kDigits = 1 << kDigitBits;
  constexpr int64_t kFew = 48;
  float low = std::numeric_limits<float>::infinity(), high = -low;
  for (int64_t i = 0; i < n; ++i) low = std::min(low, hits[i].distance), high = std::max(high, hits[i].distance);
  if (n <= kFew || !(low < high)) {
    std::sort(hits, hits + n);
    return {hits, hits + std::min(n, k)};
  }
  struct Place {
    uint32_t level, hit;
  };
  const double scale = (kDigits * kDigits - 1) / (static_cast<double>(high) - low);
  std::vector<Place> places(n), by_lower(n);
  uint32_t lower[kDigits + 1] = {}, upper[kDigits + 1] = {};
  for (int64_t i = 0; i < n; ++i) {
    const auto level = static_cast<uint32_t>((static_cast<double>(hits[i].distance) - low) * scale);
    places[i] = {level, static_cast<uint32_t>(i)};
    ++lower[level % kDigits + 1], ++upper[level / kDigits + 1];
  }
  for (int i = 0; i < kDigits; ++i) lower[i + 1] += lower[i], upper[i + 1] += upper[i];
  for (const Place& place : places) by_lower[lower[place.level % kDigits]++] = place;
  for (const Place& place : by_lower) places[upper[place.level / kDigits]++] = place;
  std::vector<FloatHit> sorted;
  sorted.reserve(n);
  for (int64_t first = 0, end; first < std::min(n, k); first = end) {
    for (end = first; end < n && places[end].level == places[first].level; ++end)
      sorted.push_back(hits[places[end].hit]);
    if (end - first > 1) std::sort(sorted.begin() + first, sorted.begin() + end);
  }
  sorted.resize(std::min(n, k));
  return sorted;
}

// The k nearest by a real distance.
class FloatTopK {
 public:
  using Record = FloatHit;
  static constexpr bool kPositions = false;
  static constexpr bool kFixed = false;

  // Hits that one of them has room for.
  static int64_t capacity(int64_t k) { return 2 * k + 16; }

  // Candidates farther than `limit` are of no interest. `room` takes capacity(k) hits.
  FloatTopK(int64_t k, float limit, FloatHit* room) : limit_(limit), hits_(room), k_(k) {}

  // Candidates can win with a distance of at most this.
  float limit() const { return limit_; }
  int64_t wanted() const { return k_; }

  // True if the limit may have changed. Whether a candidate is taken is no branch, which would often be mispredicted.
  bool push(float distance, int64_t id) {
    hits_[n_] = {distance, id};
    n_ += distance <= limit_;
    if (n_ < capacity(k_)) return false;
    keep_best();
    return true;
  }

  // Lowers the limit to the distance of the k-th best hit, if there are as many, and returns it.
  float lower_limit(int64_t k) {
    if (n_ >= k) {
      std::nth_element(hits_, hits_ + (k - 1), hits_ + n_);
      limit_ = hits_[k - 1].distance;
      n_ = std::partition(hits_ + k, hits_ + n_, [&](const FloatHit& hit) { return hit.distance <= limit_; }) - hits_;
    }
    return limit_;
  }

  // The k-th best distance, or `missing` if there are fewer than k hits.
  float last_distance(float missing) {
    if (n_ < k_) return missing;
    keep_best();
    return limit_;
  }

  std::vector<FloatHit> finish() { return best_in_order(hits_, n_, k_); }

 private:
  void keep_best() {
    std::nth_element(hits_, hits_ + (k_ - 1), hits_ + n_);
    n_ = k_;
    limit_ = hits_[k_ - 1].distance;
  }

  float limit_;
  FloatHit* hits_;
  int64_t n_ = 0;
  int64_t k_;
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

  // True if the limit may have changed.
  bool push(Distance distance, int64_t id) {
    if (full()) {
      if (!takes(distance, id)) return false;
      std::pop_heap(hits_.begin(), hits_.end());
      hits_.pop_back();
    }
    hits_.push_back({distance, id});
    std::push_heap(hits_.begin(), hits_.end());
    return full();
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

  bool push(Distance distance, int64_t id) {
    if (distance <= radius_) hits_.push_back({distance, id});
    return false;
  }

  std::vector<Hit<Distance>> finish() {
    std::sort(hits_.begin(), hits_.end());
    return std::move(hits_);
  }

 private:
  Distance radius_;
  std::vector<Hit<Distance>> hits_;
};

}  // namespace rankhash
