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

// The k nearest by a whole-number distance below n_distances. Counts per distance give the limit at once; the hits
// themselves are thinned out now and then.
class CountedTopK {
 public:
  CountedTopK(int64_t k, int n_distances) : k_(k), limit_(n_distances), counts_(n_distances) {}

  // Candidates can win with a distance below this. A later id loses a tie; if ids come in any order, it may win one.
  int below(bool ordered) const { return ordered ? limit_ : std::min<int>(limit_ + 1, counts_.size()); }

  void push(int distance, int64_t id) {
    hits_.push_back({distance, id});
    if (distance < limit_) {
      ++counts_[distance];
      ++below_;
      while (below_ >= k_) below_ -= counts_[--limit_];
    }
    if (static_cast<int64_t>(hits_.size()) >= 2 * k_ + 64) keep_best();
  }

  std::vector<HammingHit> finish() {
    keep_best();
    std::sort(hits_.begin(), hits_.end());
    return std::move(hits_);
  }

 private:
  void keep_best() {
    if (static_cast<int64_t>(hits_.size()) <= k_) return;
    std::nth_element(hits_.begin(), hits_.begin() + k_, hits_.end());
    hits_.resize(k_);
  }

  int64_t k_;
  int limit_;
  int64_t below_ = 0;  // hits with distance < limit_
  std::vector<int64_t> counts_;
  std::vector<HammingHit> hits_;
};

// The k nearest by a real distance.
class FloatTopK {
 public:
  explicit FloatTopK(int64_t k) : k_(k) {}

  // Candidates can win with a distance of at most this, or below it if a tie is lost.
  float limit() const { return limit_; }
  static constexpr bool kLateTiesLose = true;

  void push(float distance, int64_t id) {
    hits_.push_back({distance, id});
    if (static_cast<int64_t>(hits_.size()) >= k_ + k_ / 2 + 16) keep_best();
  }

  std::vector<FloatHit> finish() {
    keep_best();
    std::sort(hits_.begin(), hits_.end());
    return std::move(hits_);
  }

 private:
  void keep_best() {
    if (static_cast<int64_t>(hits_.size()) < k_) return;
    std::nth_element(hits_.begin(), hits_.begin() + (k_ - 1), hits_.end());
    hits_.resize(k_);
    limit_ = hits_[k_ - 1].distance;
  }

  int64_t k_;
  float limit_ = std::numeric_limits<float>::infinity();
  std::vector<FloatHit> hits_;
};

// The k nearest in any order of arrival; exact at every moment.
template <class Distance>
class HeapTopK {
 public:
  // No distance exceeds `farthest`.
  HeapTopK(int64_t k, Distance farthest) : k_(k), farthest_(farthest) {}

  // Candidates can win with a distance of at most this.
  Distance limit() const { return full() ? hits_.front().distance : farthest_; }
  int below(bool ordered) const { return static_cast<int>(limit()) + !(ordered && full()); }
  static constexpr bool kLateTiesLose = true;
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
  explicit Within(Distance radius) : radius_(radius) {}
  int below(bool) const { return static_cast<int>(radius_) + 1; }
  Distance limit() const { return radius_; }
  static constexpr bool kLateTiesLose = false;
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
