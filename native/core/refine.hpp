// Refines the symbols of an additive quantiser by iterated local search. A vector x is decoded as Σ c, the sum of one
// row c of the decoder per symbol.
#pragma once
#include <cstdint>

namespace rankhash {

struct RefineTask {
  const float* products;  // rows × rows: 2 c·c', and 0 for rows of the same symbol
  const float* crossing;  // rows: estimated contribution of a row to Σ products over all pairs of chosen rows
  float penalty;          // weight of the squared difference between that sum and the sum of the estimates
  int n_symbols, arity;   // rows = n_symbols · arity
  int n_sweeps;           // largest number of sweeps over all symbols per descent
  int n_kicks;            // number of random changes of some symbols, each followed by a descent
};

// costs: n × rows: |c|² - 2 x·c. Changes symbols (n × n_symbols) only where that lowers |x - Σ c|² + penalty ·
// difference². The result of a vector depends neither on the other vectors nor on the number of threads.
void refine(const RefineTask& task, const float* costs, int64_t n, int n_threads, uint8_t* symbols);

}  // namespace rankhash
