// Learning one rank function from labelled pairs: pair by pair, or by the gradient over all of them.
#pragma once
#include "kernels/kernels.hpp"

namespace rankhash {

// weights and lag: arity × task.stride, changed in place.
PairTotals train_pairs(const PairTask& task, float* weights, float* lag);

// gradient: n × arity, added to.
PairTotals pair_gradient(const PairTask& task, const float* scores, float* gradient);

}  // namespace rankhash
