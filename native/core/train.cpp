#include "core/train.hpp"

#include <algorithm>
#include <vector>

namespace rankhash {

PairTotals train_pairs(const PairTask& task, float* weights, float* lag) {
  const int64_t used = task.arity * task.stride;
  const int64_t padded = (task.arity + kRowGroup - 1) / kRowGroup * kRowGroup * task.stride;
  std::vector<float> w(padded), v(padded);  // padded to whole groups of rows, as the kernel requires
  std::copy(weights, weights + used, w.begin());
  std::copy(lag, lag + used, v.begin());
  const PairTotals totals = active_kernels().train(task, w.data(), v.data());
  std::copy(w.begin(), w.begin() + used, weights);
  std::copy(v.begin(), v.begin() + used, lag);
  return totals;
}

PairTotals pair_gradient(const PairTask& task, const float* scores, float* gradient) {
  return active_kernels().pair_gradient(task, scores, gradient);
}

}  // namespace rankhash
