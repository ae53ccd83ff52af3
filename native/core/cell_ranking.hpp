// Which cells a query scans, and how many candidates it keeps: the effort rule of cells.hpp.
#pragma once
#include <cmath>
#include <vector>

#include "core/cells.hpp"
#include "core/tiles.hpp"

namespace rankhash {

// Room for all cells, which queries take turns with.
struct CellRoom {
  float* keys;      // per cell
  int32_t* places;  // per cell, and 32 more
};

struct Probe {
  float key;  // |q - c|² - |q|², or -q·c
  int cell;
  bool operator<(const Probe& other) const { return key != other.key ? key < other.key : cell < other.cell; }
};

class CellRanking {
 public:
  CellRanking(const CellsView& cells, const CellSearch& search)
      : cells_(cells), search_(search), kernels_(active_kernels()) {}

  // Chooses the cells of a query, nearest first; `point` and `scores` as in CellQueryInput.
  void rank(const float* point, const float* scores, const CellRoom& room) {
    const int n = cells_.n_cells;
    const KeyRange range = kernels_.cell_keys(cells_.squares, scores, n, kFarthest, room.keys);
    kernels_.keys_at_most(room.keys, n, range.least, room.places);
    square_ = 0;
    for (int64_t j = 0; j < cells_.depth; ++j) square_ += point[j] * point[j];
    const float nearest = std::max(range.least + square_, std::numeric_limits<float>::min());
    keys_are_precise_ = nearest > square_ * kPrecise;
    go_far((range.least + square_) / cells_.radii[room.places[0]]);
    size_t kept = 0;
    for (int stride : {kKeyStride, 1}) {  // a threshold from some of the cells is nearly always high enough
      const float threshold = key_threshold(room.keys, stride, range, nearest);
      const int count = kernels_.keys_at_most(room.keys, n, threshold, room.places);
      probes_.resize(count);
      for (int i = 0; i < count; ++i) probes_[i] = {room.keys[room.places[i]], room.places[i]};
      std::sort(probes_.begin(), probes_.end());
      for (kept = 1; kept < probes_.size(); ++kept)
        if (!is_worth(static_cast<float>(kept + 1), probes_[kept].key, nearest)) break;
      if (kept < probes_.size() || count == n) break;
    }
    probes_.resize(kept);
  }

  const std::vector<Probe>& probes() const { return probes_; }
  int64_t n_candidates() const { return n_candidates_; }
  float square() const { return square_; }  // |point|²
  // Keys lose digits where the query is much longer than its distance from the nearest centroid.
  bool keys_are_precise() const { return keys_are_precise_; }

 private:
  static constexpr float kFarthest = 1e38f;
  static constexpr double kMostCandidates = 1e15;
  static constexpr float kPrecise = 1.0f / 64;
  static constexpr int kKeyLevels = 256, kKeyStride = 4;

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

  // No cell with a larger key is worth scanning, and few others are not; judged by every `stride`-th cell.
  float key_threshold(const float* keys, int stride, const KeyRange& range, float nearest) const {
    const auto [least, most] = range;
    int counts[kKeyLevels] = {};
    const float width = (most - least) / (kKeyLevels - 1);
    if (!(width > 0) || !std::isfinite(width)) return most;
    const float scale = 1 / width;
    for (int c = 0; c < cells_.n_cells; c += stride) counts[static_cast<int>((keys[c] - least) * scale)] += stride;
    int64_t before = 0;
    int bucket = 0;
    for (; bucket < kKeyLevels; before += counts[bucket++])
      if (!is_worth(static_cast<float>(before + 1), least + static_cast<float>(bucket - 1) * width, nearest)) break;
    return least + static_cast<float>(bucket) * width;
  }

  const CellsView& cells_;
  const CellSearch& search_;
  const Kernels& kernels_;
  float effort_ = 0;
  int64_t n_candidates_ = 0;
  float square_ = 0;
  bool keys_are_precise_ = false;
  std::vector<Probe> probes_;
};

}  // namespace rankhash
