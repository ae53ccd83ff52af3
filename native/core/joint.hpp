// Sums over all pairs of a mini-batch, for learners that update all rank functions together.
#pragma once
#include <cstdint>

namespace rankhash {

// A mini-batch of n points: agreement (n × n, 0 … top) and labels (n × n). Pairs whose label is not in 0 … n_kinds - 1
// are ignored.
struct PairGrid {
  const float* agreement;
  const uint8_t* labels;
  int64_t n;
  int n_kinds;
};

// Histograms of the agreement of pairs i < j: n_kinds × n_bins, one row per label. Bins are equally spaced from 0 to
// top; a pair is divided linearly between its two nearest bins. The sums do not depend on the number of threads.
void pair_histograms(const PairGrid& grid, float top, int n_bins, int n_threads, double* histograms);

// slopes[i, j] = tables[label][bin below the agreement]; 0 for ignored pairs. tables: n_kinds × n_bins.
// slopes may be the same array as the agreement.
void pair_slopes(const PairGrid& grid, float top, int n_bins, const float* tables, int n_threads, float* slopes);

}  // namespace rankhash
