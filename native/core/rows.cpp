#include "core/rows.hpp"

#include "core/tiles.hpp"

namespace rankhash {
namespace {

constexpr int64_t kTileQueries = 8;
constexpr int64_t kRowsTogether = 1024;  // rows that stay in the cache while a tile of queries goes over them
constexpr int64_t kRowsAhead = 4;        // candidates whose rows are fetched while one is compared

}  // namespace

void search_rows(const RowsView& rows, const RowIds& ids, Metric metric, const uint8_t* passing, const float* queries,
                 int64_t n, int64_t k, int n_threads, int64_t* out_ids, float* out_distances) {
  const int64_t most = std::max<int64_t>(1, std::min(k, rows.size));
  parallel_for((n + kTileQueries - 1) / kTileQueries, n_threads, [&](int64_t tile) {
    const int64_t first = tile * kTileQueries, count = std::min(kTileQueries, n - first);
    std::vector<HeapTopK<float>> nearest(count, HeapTopK<float>(most, std::numeric_limits<float>::infinity()));
    std::vector<RowDistances> distances;
    for (int64_t q = 0; q < count; ++q) distances.emplace_back(rows, metric, queries + (first + q) * rows.depth);
    for (int64_t start = 0; start < rows.size; start += kRowsTogether)
      for (int64_t q = 0; q < count; ++q)
        for (int64_t row = start; row < std::min(start + kRowsTogether, rows.size); ++row) {
          if (passing && row % 8 == 0 && !passing[row / 8]) {
            row += 7;
            continue;
          }
          if (!passes(passing, row)) continue;
          const float distance = distances[q](row);
          if (distance <= nearest[q].limit()) nearest[q].push(distance, ids[row]);
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
      if (i + kRowsAhead < m && exists(own[i + kRowsAhead])) distance.prefetch(own[i + kRowsAhead]);
      if (!exists(own[i])) continue;
      const float away = distance(own[i]);
      if (away <= nearest.limit()) nearest.push(away, ids[own[i]]);
    }
    write_row(nearest.finish(), k, out_ids + q * k, out_distances + q * k);
  });
}

}  // namespace rankhash
