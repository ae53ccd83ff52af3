#include "core/rows.hpp"

#include <bit>
#include <cmath>

#include "core/tiles.hpp"

namespace rankhash {
namespace {

constexpr int64_t kTileQueries = 8;
constexpr int64_t kRowsTogether = 256;  // rows that stay in the cache while a tile of queries goes over them
constexpr int64_t kRowsAhead = 4;       // candidates whose rows are fetched while one is compared
constexpr int64_t kPollRows = 1 << 14;  // rows, or candidates, between two checks for Ctrl-C
constexpr int64_t kFewPassing = 4;      // if one of more than this many rows passes, rows are compared one by one

int64_t count_passing(const uint8_t* passing, int64_t first, int64_t end) {
  if (!passing) return end - first;
  int64_t count = 0, row = first;
  for (; row < end && row % 8; ++row) count += passes(passing, row);
  for (; row + 8 <= end; row += 8) count += std::popcount(passing[row / 8]);
  for (; row < end; ++row) count += passes(passing, row);
  return count;
}

// Adds the rows from `first` to `end`, which lie in one run, to the nearest of a query; n_passing of them pass.
void add_rows(const RowDistances& distances, const RowIds& ids, const uint8_t* passing, int64_t n_passing,
              int64_t first, int64_t end, HeapTopK<float>& nearest) {
  if (n_passing * kFewPassing < end - first) {
    for (int64_t row = first; row < end; ++row) {
      if (row % 8 == 0 && !passing[row / 8]) {
        row += 7;
        continue;
      }
      if (!passes(passing, row)) continue;
      const float distance = distances(row);
      if (distance <= nearest.limit()) nearest.push(distance, ids[row]);
    }
    return;
  }
  float all[kRowsTogether];
  distances.run(first, end, all);
  for (int64_t row = first; row < end; ++row)
    if (all[row - first] <= nearest.limit() && passes(passing, row)) nearest.push(all[row - first], ids[row]);
}

}  // namespace

int64_t unit_rows(const float* rows, int64_t n, int64_t depth, float* units) {
  constexpr int kSums = 8;
  for (int64_t i = 0; i < n; ++i, rows += depth, units += depth) {
    double sums[kSums] = {};
    int64_t j = 0;
    for (; j + kSums <= depth; j += kSums)
      for (int s = 0; s < kSums; ++s) sums[s] += static_cast<double>(rows[j + s]) * rows[j + s];
    for (int s = 0; j < depth; ++s, ++j) sums[s] += static_cast<double>(rows[j]) * rows[j];
    for (int half = kSums / 2; half; half /= 2)
      for (int s = 0; s < half; ++s) sums[s] += sums[s + half];
    const double length = std::sqrt(sums[0]);
    if (!(length > 0)) return i;
    for (j = 0; j < depth; ++j) units[j] = static_cast<float>(rows[j] / length);
  }
  return -1;
}

void search_rows(const RowsView& rows, const RowIds& ids, Metric metric, const uint8_t* passing, const float* queries,
                 int64_t n, int64_t k, int n_threads, int64_t* out_ids, float* out_distances) {
  const int64_t most = std::max<int64_t>(1, std::min(k, rows.size));
  parallel_for((n + kTileQueries - 1) / kTileQueries, n_threads, [&](int64_t tile) {
    const int64_t first = tile * kTileQueries, count = std::min(kTileQueries, n - first);
    std::vector<HeapTopK<float>> nearest(count, HeapTopK<float>(most, std::numeric_limits<float>::infinity()));
    std::vector<RowDistances> distances;
    for (int64_t q = 0; q < count; ++q) distances.emplace_back(rows, metric, queries + (first + q) * rows.depth);
    for (int64_t start = 0, end; start < rows.size; start = end) {
      if (start / kRowsTogether % (kPollRows / kRowsTogether) == 0) check_interrupt();
      end = std::min(start + kRowsTogether, start < rows.n_head ? rows.n_head : rows.size);
      const int64_t n_passing = count_passing(passing, start, end);
      for (int64_t q = 0; n_passing && q < count; ++q)
        add_rows(distances[q], ids, passing, n_passing, start, end, nearest[q]);
    }
    for (int64_t q = 0; q < count; ++q)
      write_row(nearest[q].finish(), k, out_ids + (first + q) * k, out_distances + (first + q) * k);
  });
}

void rank_rows(const RowsView& rows, const RowIds& ids, Metric metric, const int64_t* candidates, int64_t m,
               const float* queries, int64_t n, int64_t k, int n_threads, int64_t* out_ids, float* out_distances) {
  const int64_t most = std::max<int64_t>(1, std::min(k, m));
  const auto exists = [&](int64_t row) { return row >= 0 && row < rows.size; };
  parallel_for(n, n_threads, [&](int64_t q) {
    HeapTopK<float> nearest(most, std::numeric_limits<float>::infinity());
    const RowDistances distance(rows, metric, queries + q * rows.depth);
    const int64_t* own = candidates + q * m;
    for (int64_t i = 0; i < m; ++i) {
      if (i % kPollRows == 0) check_interrupt();
      if (i + kRowsAhead < m && exists(own[i + kRowsAhead])) distance.prefetch(own[i + kRowsAhead]);
      if (!exists(own[i])) continue;
      const float away = distance(own[i]);
      if (away <= nearest.limit()) nearest.push(away, ids[own[i]]);
    }
    write_row(nearest.finish(), k, out_ids + q * k, out_distances + q * k);
  });
}

}  // namespace rankhash
