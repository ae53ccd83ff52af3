// Learning one rank function from labelled pairs, by stochastic or by full-batch gradients.
#pragma once
#include "kernels/kernels.hpp"

namespace rankhash {

// weights and lag: arity × task.stride, changed in place.
PairTotals train_pairs(const PairTask& task, float* weights, float* lag);

// gradient: n × arity; the result is added to it.
PairTotals pair_gradient(const PairTask& task, const float* scores, float* gradient);

}  // namespace rankhash
