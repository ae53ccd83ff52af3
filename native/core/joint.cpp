#include "core/joint.hpp"

#include <algorithm>
#include <vector>

#include "core/threads.hpp"

namespace rankhash {
namespace {

constexpr int64_t kParts = 16;  // row i belongs to part i % kParts, for any number of threads
constexpr int64_t kSlopeRows = 64;

struct Place {
  int bin;
  float share;  // of the bin above
};

Place place_of(float agreement, float bins_per_unit, int n_bins) {
  const float scaled = agreement * bins_per_unit;
  const float at = scaled > 0 ? std::min(scaled, static_cast<float>(n_bins - 1)) : 0.0f;  // NaN counts as 0
  const int bin = std::min(static_cast<int>(at), n_bins - 2);
  return {bin, at - static_cast<float>(bin)};
}

}  // namespace

void pair_histograms(const PairGrid& grid, float top, int n_bins, int n_threads, double* histograms) {
  const float bins_per_unit = static_cast<float>(n_bins - 1) / top;
  std::vector<double> sums(kParts * 2 * n_bins);
  parallel_for(kParts, n_threads, [&](int64_t part) {
    double* const mine = sums.data() + part * 2 * n_bins;
    for (int64_t i = part; i < grid.n; i += kParts) {
      const float* const agreement = grid.agreement + i * grid.n;
      const uint8_t* const labels = grid.labels + i * grid.n;
      for (int64_t j = i + 1; j < grid.n; ++j) {
        if (labels[j] > 1) continue;
        const Place place = place_of(agreement[j], bins_per_unit, n_bins);
        double* const bins = mine + labels[j] * n_bins + place.bin;
        bins[0] += 1 - place.share;
        bins[1] += place.share;
      }
    }
  });
  std::fill_n(histograms, 2 * n_bins, 0.0);
  for (int64_t part = 0; part < kParts; ++part)
    for (int64_t bin = 0; bin < 2 * n_bins; ++bin) histograms[bin] += sums[part * 2 * n_bins + bin];
}

void pair_slopes(const PairGrid& grid, float top, int n_bins, const float* tables, int n_threads, float* slopes) {
  const float bins_per_unit = static_cast<float>(n_bins - 1) / top;
  parallel_for((grid.n + kSlopeRows - 1) / kSlopeRows, n_threads, [&](int64_t task) {
    const int64_t first = task * kSlopeRows * grid.n;
    const int64_t last = std::min(grid.n * grid.n, first + kSlopeRows * grid.n);
    for (int64_t pair = first; pair < last; ++pair) {
      const uint8_t label = grid.labels[pair];
      const int bin = place_of(grid.agreement[pair], bins_per_unit, n_bins).bin;
      slopes[pair] = label > 1 ? 0.0f : tables[label * n_bins + bin];
    }
  });
}

}  // namespace rankhash
