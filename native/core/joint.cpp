#include "core/joint.hpp"

#include <algorithm>
#include <vector>

#include "core/threads.hpp"

namespace rankhash {
namespace {

constexpr int64_t kParts = 16;  // row i belongs to part i % kParts, for any number of threads
constexpr int64_t kSlopeRows = 64;

constexpr int64_t kRun = 256;  // pairs whose bins are computed together
constexpr int kMoments = 2;    // per bin: number of pairs, and sum of their distances to the bin

// The bins of a run of pairs: the bin below each agreement, and the distance to it in bins. NaN counts as 0.
struct Places {
  int bins[kRun];
  float shares[kRun];

  void find(const float* agreement, int64_t n, float bins_per_unit, int n_bins) {
    const float last = static_cast<float>(n_bins - 1);
    for (int64_t i = 0; i < n; ++i) {
      const float scaled = agreement[i] * bins_per_unit;
      const float at = scaled > 0 ? std::min(scaled, last) : 0.0f;
      bins[i] = std::min(static_cast<int>(at), n_bins - 2);
      shares[i] = at - static_cast<float>(bins[i]);
    }
  }
};

}  // namespace

void pair_histograms(const PairGrid& grid, float top, int n_bins, int n_threads, double* histograms) {
  const float bins_per_unit = static_cast<float>(n_bins - 1) / top;
  const int64_t size = static_cast<int64_t>(grid.n_kinds) * n_bins;
  std::vector<double> sums(kParts * size * kMoments);
  parallel_for(kParts, n_threads, [&](int64_t part) {
    double* const mine = sums.data() + part * size * kMoments;
    Places places;
    for (int64_t i = part; i < grid.n; i += kParts) {
      for (int64_t first = i + 1; first < grid.n; first += kRun) {
        const int64_t n = std::min(kRun, grid.n - first);
        places.find(grid.agreement + i * grid.n + first, n, bins_per_unit, n_bins);
        const uint8_t* const labels = grid.labels + i * grid.n + first;
        for (int64_t j = 0; j < n; ++j) {
          if (labels[j] >= grid.n_kinds) continue;
          double* const moments = mine + (labels[j] * n_bins + places.bins[j]) * kMoments;
          moments[0] += 1;
          moments[1] += places.shares[j];
        }
      }
    }
  });
  std::fill_n(histograms, size, 0.0);
  for (int64_t part = 0; part < kParts; ++part) {
    const double* const mine = sums.data() + part * size * kMoments;
    for (int64_t place = 0; place < size; ++place) {
      const double above = mine[place * kMoments + 1];
      histograms[place] += mine[place * kMoments] - above;
      if (above > 0) histograms[place + 1] += above;  // never in the last bin of a row
    }
  }
}

void pair_slopes(const PairGrid& grid, float top, int n_bins, const float* tables, int n_threads, float* slopes) {
  const float bins_per_unit = static_cast<float>(n_bins - 1) / top;
  parallel_for((grid.n + kSlopeRows - 1) / kSlopeRows, n_threads, [&](int64_t task) {
    const int64_t last = std::min(grid.n, (task + 1) * kSlopeRows) * grid.n;
    Places places;
    for (int64_t first = task * kSlopeRows * grid.n; first < last; first += kRun) {
      const int64_t n = std::min(kRun, last - first);
      places.find(grid.agreement + first, n, bins_per_unit, n_bins);
      for (int64_t j = 0; j < n; ++j) {
        const uint8_t label = grid.labels[first + j];
        slopes[first + j] = label >= grid.n_kinds ? 0.0f : tables[label * n_bins + places.bins[j]];
      }
    }
  });
}

}  // namespace rankhash
