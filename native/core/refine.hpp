// Better symbols for additive decoders: a vector x is described by the sum of one row c of the decoder for each symbol.
#pragma once
#include <cstdint>

namespace rankhash {

struct RefineTask {
  const float* products;  // rows × rows: 2 c·c', and 0 for rows of the same symbol
  const float* crossing;  // rows: what a row is taken to add to the sum of the products of all pairs of chosen rows
  float penalty;          // for the squared difference between that sum and the sum of `crossing`
  int n_symbols, arity;   // rows = n_symbols · arity
  int n_sweeps;           // at most so many times over all symbols, each time
  int n_kicks;            // how often some symbols are changed at random before the sweeps begin again
};

// costs: n × rows: |c|² - 2 x·c. Changes symbols (n × n_symbols) where that makes |x - Σ c|² + penalty · difference²
// smaller. What becomes of a vector depends neither on the others nor on the number of threads.
void refine(const RefineTask& task, const float* costs, int64_t n, int n_threads, uint8_t* symbols);

}  // namespace rankhash
