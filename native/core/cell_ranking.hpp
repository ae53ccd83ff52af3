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
    square_ = 0;
    for (int64_t j = 0; j < cells_.depth; ++j) square_ += point[j] * point[j];
    const float nearest = std::max(range.least + square_, std::numeric_limits<float>::min());
    keys_are_precise_ = nearest > square_ * kPrecise;
    if (search_.growth) kernels_.keys_at_most(room.keys, n, range.least, room.places);
    go_far(search_.growth ? (range.least + square_) / cells_.radii[room.places[0]] : 0);
    size_t kept = 0;
    for (int stride : {kKeyStride, 1}) {  // a threshold from some of the cells is nearly always high enough
      const float threshold = key_threshold(room.keys, stride, range, nearest);
      const int count = kernels_.keys_at_most(room.keys, n, threshold, room.places);
      take_in_order(room, count, range.least, threshold);
      kept = n_worth(nearest);
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

  // Probes of the cells at `room.places`, sorted: first by level, of which most hold few of them.
  void take_in_order(const CellRoom& room, int count, float least, float threshold) {
    const float scale = kKeyLevels / std::max(threshold - least, 1e-30f);
    const auto level_of = [&](float key) {
      return static_cast<int>(std::min((key - least) * scale, kKeyLevels - 1.0f));
    };
    int starts[kKeyLevels + 1] = {};
    for (int i = 0; i < count; ++i) ++starts[level_of(room.keys[room.places[i]]) + 1];
    for (int b = 0; b < kKeyLevels; ++b) starts[b + 1] += starts[b];
    probes_.resize(count);
    for (int i = 0; i < count; ++i) {
      const Probe probe{room.keys[room.places[i]], room.places[i]};
      probes_[starts[level_of(probe.key)]++] = probe;
    }
    for (int b = 0, first = 0; b < kKeyLevels; first = starts[b++])  // the start of a level is its end by now
      if (starts[b] - first > 1) std::sort(probes_.begin() + first, probes_.begin() + starts[b]);
  }

  // How many of the sorted probes are worth scanning, at least one.
  size_t n_worth(float nearest) const {
    size_t low = std::min<size_t>(1, probes_.size()), high = probes_.size();
    while (low < high) {
      const size_t middle = (low + high) / 2;
      if (is_worth(static_cast<float>(middle + 1), probes_[middle].key, nearest)) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  // No cell with a larger key is worth scanning, and few others are not; judged by every `stride`-th cell.
  float key_threshold(const float* keys, int stride, const KeyRange& range, float nearest) const {
    const auto [least, most] = range;
    const float width = (most - least) / (kKeyLevels - 1);
    if (!(width > 0) || !std::isfinite(width)) return most;
    const float scale = 1 / width;
    int before[kKeyLevels + 1] = {};  // per level: cells of lower ones
    for (int c = 0; c < cells_.n_cells; c += stride) before[static_cast<int>((keys[c] - least) * scale) + 1] += stride;
    for (int b = 0; b < kKeyLevels; ++b) before[b + 1] += before[b];
    int low = 0, high = kKeyLevels;  // the first level that is not worth it
    while (low < high) {
      const int middle = (low + high) / 2;
      const float key = least + static_cast<float>(middle - 1) * width;
      if (is_worth(static_cast<float>(before[middle] + 1), key, nearest)) low = middle + 1;
      else high = middle;
    }
    return least + static_cast<float>(low) * width;
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
