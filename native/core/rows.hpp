// Vectors as they are stored for true distances: rows of float32, float16 or int8, in memory or in a mapped file.
#pragma once
#include "core/topk.hpp"
#include "kernels/kernels.hpp"

namespace rankhash {

enum class Metric { kSquaredEuclidean, kNegativeProduct };

// Rows lie in two runs, so that new ones can be added behind those of a mapped file.
struct RowsView {
  const uint8_t* head;
  const uint8_t* tail;
  int64_t n_head;
  int64_t size;          // of both; 0: no vectors are stored
  const float* factors;  // per row, for int8; null otherwise
  int64_t depth;
  RowType type;

  int64_t stride() const { return depth * (type == kFloat32 ? 4 : type == kFloat16 ? 2 : 1); }
  const uint8_t* row(int64_t i) const { return i < n_head ? head + i * stride() : tail + (i - n_head) * stride(); }
};

// Distances of one query to rows. Smaller is nearer.
class RowDistances {
 public:
  RowDistances(const RowsView& rows, Metric metric, const float* query)
      : rows_(rows),
        query_(query),
        negative_(metric == Metric::kNegativeProduct),
        distance_(negative_ ? active_kernels().inner_product[rows.type] : active_kernels().squared_distance[rows.type]),
        run_(negative_ ? active_kernels().inner_products[rows.type] : active_kernels().squared_distances[rows.type]) {}

  float operator()(int64_t row) const {
    const float value = distance_(query_, rows_.row(row), rows_.depth, rows_.factors ? rows_.factors[row] : 1.0f);
    return negative_ ? -value : value;
  }

  // Of the rows from `first` to `end`, which lie in one run.
  void run(int64_t first, int64_t end, float* distances) const {
    const float* factors = rows_.factors ? rows_.factors + first : nullptr;
    run_(query_, rows_.row(first), end - first, rows_.depth, factors, distances);
    for (int64_t i = 0; negative_ && i < end - first; ++i) distances[i] = -distances[i];
  }

  void prefetch(int64_t row) const {
    const uint8_t* p = rows_.row(row);
    for (int64_t at = 0; at < rows_.stride(); at += 64) __builtin_prefetch(p + at);
  }

 private:
  const RowsView& rows_;
  const float* query_;
  bool negative_;
  RowDistance distance_;
  RunDistances run_;
};

// One bit per row, least significant first; null: all rows pass.
inline bool passes(const uint8_t* passing, int64_t row) { return !passing || (passing[row >> 3] >> (row & 7) & 1); }

struct RowIds {
  const int64_t* ids;  // null: the row is the id
  int64_t operator[](int64_t row) const { return ids ? ids[row] : row; }
};

// Rows divided by their lengths, which are summed in double precision. Returns the first row of length 0, or -1.
int64_t unit_rows(const float* rows, int64_t n, int64_t depth, float* units);

// The k nearest of all rows whose bit of `passing` is set (null: of all), exactly, in the order (distance, id).
void search_rows(const RowsView& rows, const RowIds& ids, Metric metric, const uint8_t* passing, const float* queries,
                 int64_t n, int64_t k, int n_threads, int64_t* out_ids, float* out_distances);

// The k nearest of each query's own candidates, m rows per query (below 0: none), in the order (distance, id).
void rank_rows(const RowsView& rows, const RowIds& ids, Metric metric, const int64_t* candidates, int64_t m,
               const float* queries, int64_t n, int64_t k, int n_threads, int64_t* out_ids, float* out_distances);

}  // namespace rankhash
