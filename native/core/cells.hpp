// Search of codes that are grouped in cells, each around a centroid, and re-ranking of the best by true distances.
//
//   vector x in cell c:  x ≈ x̂ = c + r̂,  r̂ = scale(c) · Σ_s decoder[s][symbol s]
//   |q - x|²  ≈  |q - c|²  -  2q·r̂  +  correction(x)
//
// -2q·r̂ is a sum of table entries that all cells of a scale share. The correction does not depend on the query. It
// comes in one of two forms:
//   a byte of the code:      low(c) + step(c) · byte  ≈  2x·r̂ - |x - c|², with which the distance of x itself is 0
//   offsets of each cell:    Σ_s offsets[c][s][symbol] = 2c·r̂ + |r̂|², added to the tables before these are rounded
// Offsets take a table per cell and query. They are for dense clusters far from the centre of all vectors, where -2q·r̂
// and the correction are much larger than their sum.
//
// Scales make dense cells as well described as sparse ones. The decoder rows of a symbol lie in a few directions, its
// axes: a query is multiplied with all axes once, and the products with a symbol's rows are sums over its own axes.
// For inner products the squares are left out and the factors are -1 instead of -2. All of this only finds candidates;
// the answer is made of true distances to the stored rows.
#pragma once
#include "core/rows.hpp"

namespace rankhash {

struct CellsView {
  Metric metric;
  int64_t depth;
  int n_cells;
  const float* centroids;      // panels of factor · centroid, kPanel cells each; those behind n_cells are 0
  const float* squares;        // per cell: |c|², or 0
  int n_symbols;               // of a code, even, without the byte of the correction
  const float* axes;           // panels of factor · axis, kPanel axes each
  int n_axes;                  // rounded up to whole panels
  const int32_t* first_axis;   // per symbol, and the end of the last one
  const float* decoder;        // per axis of a symbol: that coordinate of the symbol's kPanel rows
  const float* centers;        // the centroids themselves, n_cells × depth
  const float* scales;         // per cell
  const float* radii;          // per cell: mean squared distance of its vectors from the centroid, above 0
  const float* offsets;        // per cell: n_symbols × kPanel, or null
  const float* lows;           // per cell, or null: codes have a last byte, the correction low + step · byte
  const float* steps;          // per cell, the same for all cells of a scale
  const int64_t* first_block;  // per cell
  const int32_t* sizes;        // per cell: codes
  const uint8_t* blocks;       // kCellBlock codes each
  const uint32_t* rows;        // per place in the blocks: the row of the vector

  int n_pairs() const { return n_symbols / 2 + (lows != nullptr); }
};

// The cell of rank r (0 is the nearest) at the distance D_r of the query is scanned if (r + 1) · (D_r / D_0)^exponent
// is at most `effort`: cells that lie much farther away than the nearest one are left out sooner. With exponent 0,
// `effort` is the number of cells. Queries unlike the stored vectors go farther: with u = D_0² / squared radius of the
// nearest cell and f = (min(u, far) / usual)^growth, at least 1, the effort is f² times and the candidates are f times
// as many.
struct CellSearch {
  int64_t k;
  float effort;
  int exponent;  // 0 for inner products
  int64_t n_candidates;
  float usual, far;
  int growth;              // 0: all queries go equally far
  float slack;             // codes are not re-ranked beyond slack times the distance of the k-th nearest so far; if the
                           // last candidate is nearer than its root allows, the query is searched again with more
  int64_t n_expected;      // places of an answer that can be filled, up to k
  float beyond;            // an answer whose last expected place is farther away is incomplete
  const uint8_t* passing;  // which rows may be found, or null
  int n_threads;
};

// What a search did, summed over its queries.
struct CellStats {
  int64_t cells = 0;       // scanned
  int64_t codes = 0;       // scanned
  int64_t hits = 0;        // codes that were among the best for a while
  int64_t candidates = 0;  // re-ranked
  int64_t incomplete = 0;  // answers with a place that is empty or too far away

  void operator+=(const CellStats& other) {
    cells += other.cells;
    codes += other.codes;
    hits += other.hits;
    candidates += other.candidates;
    incomplete += other.incomplete;
  }
};

// points: the queries as the cells see them, relative to the centre of the data; queries: as the rows see them.
// Without rows (size 0) distances are those of the codes.
CellStats search_cells(const CellsView& cells, const RowsView& rows, const RowIds& ids, const CellSearch& search,
                       const float* points, const float* queries, int64_t n, int64_t* out_ids, float* out_distances);

// The nearest centroid of each vector (by squares + centroids·x), the first if several are equally near.
void assign_cells(const float* x, int64_t n, int64_t depth, const float* centroids, const float* squares, int n_cells,
                  int n_threads, int32_t* cells, float* scores);

}  // namespace rankhash
