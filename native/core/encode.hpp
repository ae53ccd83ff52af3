// Vectors to packed codes, tile by tile: projection, argmax and packing without a large intermediate array.
#pragma once
#include "core/layout.hpp"

namespace rankhash {

struct Projections {
  const float* weights;  // n_symbols · rows_per_symbol × d
  const float* bias;     // per row, or null
  const float* center;   // d, or null
  int rows_per_symbol;   // arity: the first of the largest wins; 1 (arity 2): whether it is positive
};

// Codes. Both functions return the first row that holds NaN or infinity, whose code is undefined, or -1.
int64_t encode_projections(const float* x, int64_t n, int64_t d, const Projections& projections, const Layout& layout,
                           int n_threads, uint8_t* rows);

// The values of the projections, n × n_rows; undefined for rows of x that are not finite.
void project(const float* x, int64_t n, int64_t d, const Projections& projections, int64_t n_rows, int n_threads,
             float* out);

// windows: n_symbols × arity × degree indexes of dimensions; a value is the product of its `degree` entries of x.
int64_t encode_windows(const float* x, int64_t n, int64_t d, const int32_t* windows, int degree, const Layout& layout,
                       int n_threads, uint8_t* rows);

// The first row with NaN or infinity, or -1.
int64_t first_nonfinite_row(const float* x, int64_t n, int64_t d);

}  // namespace rankhash
