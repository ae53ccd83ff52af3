// Trains one rank function by stochastic gradient descent over pairs: scores, the largest rival under the
// loss-augmented scores, and the step between the two. Every sum has the same order on every instruction set.

namespace rankhash::RANKHASH_ISA {

constexpr int64_t kPrefetchFloats = 512;  // prefetch distance, in floats of the pairs in between

// The rows that should win for the two members of a pair, and the rows of the largest rival.
struct Assignment {
  int winner[2];
  int rival[2];
  float bound;
  bool error;
};

static inline int largest_except(const float* y, int arity, int except) {
  int best = except == 0 ? 1 : 0;
  for (int k = best + 1; k < arity; ++k)
    if (k != except && y[k] > y[best]) best = k;
  return best;
}

// The maximum over all arity² assignments in one pass: it is the best equal one or the best unequal one, and the best
// unequal one has the winner of at least one member.
RANKHASH_INLINE static inline Assignment assign(const float* a, const float* b, const PairTask& task, bool similar) {
  int first = 0, second = 0, equal = 0;
  float first_score = a[0], second_score = b[0], equal_score = a[0] + b[0];
  for (int k = 1; k < task.arity; ++k) {
    const float sum = a[k] + b[k];
    if (a[k] > first_score) first = k, first_score = a[k];
    if (b[k] > second_score) second = k, second_score = b[k];
    if (sum > equal_score) equal = k, equal_score = sum;
  }
  int i = first, j = second;
  if (first == second) {
    const int i2 = largest_except(a, task.arity, first), j2 = largest_except(b, task.arity, first);
    if (first_score + b[j2] >= a[i2] + second_score) j = j2;
    else i = i2;
  }
  const float unequal_score = a[i] + b[j];
  const bool rival_equal = similar ? !(unequal_score + task.rho > equal_score) : equal_score + task.lam > unequal_score;
  const bool wrong_rival = rival_equal != similar;
  const float rival_score =
      (rival_equal ? equal_score : unequal_score) + (wrong_rival ? (similar ? task.rho : task.lam) : 0.0f);
  Assignment r{{first, second}, {rival_equal ? equal : i, rival_equal ? equal : j}, 0, (first == second) != similar};
  if (task.hinge) {
    r.winner[0] = similar ? equal : i;
    r.winner[1] = similar ? equal : j;
  }
  r.bound = rival_score - a[r.winner[0]] - b[r.winner[1]];
  return r;
}

// The scores of both members for kRowGroup rows, four of each, in one vector.
RANKHASH_INLINE static inline Floats score_rows(const float* w, const float* a, const float* b, int64_t stride) {
  Floats sum[kLanes];
  for (int r = 0; r < kLanes; ++r) sum[r] = fill_floats(0);
  for (int64_t j = 0; j < stride; j += kLanes) {
    const Floats x = load_floats(a + j), z = load_floats(b + j);
    for (int r = 0; r < kRowGroup; ++r) {
      const Floats weight = load_floats(w + r * stride + j);
      sum[r] = multiply_add(weight, x, sum[r]);
      sum[r + kRowGroup] = multiply_add(weight, z, sum[r + kRowGroup]);
    }
  }
  transpose(sum);
  return ((sum[0] + sum[1]) + (sum[2] + sum[3])) + ((sum[4] + sum[5]) + (sum[6] + sum[7]));
}

static inline void add_row(float* row, const float* x, int64_t stride, float factor) {
  const Floats f = fill_floats(factor);
  for (int64_t j = 0; j < stride; j += kLanes)
    store_floats(row + j, multiply_add(f, load_floats(x + j), load_floats(row + j)));
}

static inline void fetch_pair(const PairTask& task, int64_t t) {
  if (t >= task.n_pairs) return;
  for (int member = 0; member < 2; ++member) {
    const float* row = task.x + task.pairs[2 * t + member] * task.stride;
    for (int64_t j = 0; j < task.stride; j += 16) __builtin_prefetch(row + j, 0, 2);
  }
}

static PairTotals train(const PairTask& task, float* weights, float* lag) {
  PairTotals totals{0, 0, 0};
  const int64_t ahead = kPrefetchFloats / task.stride + 2;
  float y[2][kMaxArity];
  for (int64_t t = 0; t < task.n_pairs; ++t) {
    fetch_pair(task, t + ahead);
    const float* x[2];
    for (int member = 0; member < 2; ++member) x[member] = task.x + task.pairs[2 * t + member] * task.stride;
    for (int k = 0; k < task.arity; k += kRowGroup) {
      float both[kLanes];
      store_floats(both, score_rows(weights + k * task.stride, x[0], x[1], task.stride));
      __builtin_memcpy(y[0] + k, both, sizeof both / 2);
      __builtin_memcpy(y[1] + k, both + kRowGroup, sizeof both / 2);
    }
    const Assignment r = assign(y[0], y[1], task, task.labels[t] != 0);
    totals.bound += r.bound;
    totals.errors += r.error;
    if (r.winner[0] == r.rival[0] && r.winner[1] == r.rival[1]) continue;
    ++totals.updates;
    const float rate = task.rates ? task.rates[t] : task.rate + task.rate_step * static_cast<float>(t);
    const int64_t age = task.age + t;
    for (int member = 0; member < 2; ++member) {
      const int64_t winner = r.winner[member] * task.stride, rival = r.rival[member] * task.stride;
      if (winner == rival) continue;
      add_row(weights + winner, x[member], task.stride, rate);
      add_row(weights + rival, x[member], task.stride, -rate);
      if (age <= 0) continue;
      add_row(lag + winner, x[member], task.stride, rate * static_cast<float>(age));
      add_row(lag + rival, x[member], task.stride, -rate * static_cast<float>(age));
    }
  }
  return totals;
}

static PairTotals pair_gradient(const PairTask& task, const float* y, float* gradient) {
  PairTotals totals{0, 0, 0};
  for (int64_t t = 0; t < task.n_pairs; ++t) {
    int64_t row[2];
    for (int member = 0; member < 2; ++member)
      row[member] = static_cast<int64_t>(task.pairs[2 * t + member]) * task.arity;
    const Assignment r = assign(y + row[0], y + row[1], task, task.labels[t] != 0);
    totals.bound += r.bound;
    totals.errors += r.error;
    totals.updates += r.winner[0] != r.rival[0] || r.winner[1] != r.rival[1];
    for (int member = 0; member < 2; ++member) {
      gradient[row[member] + r.winner[member]] += 1;
      gradient[row[member] + r.rival[member]] -= 1;
    }
  }
  return totals;
}

}  // namespace rankhash::RANKHASH_ISA
