#include "core/refine.hpp"

#include <algorithm>
#include <vector>

#include "core/threads.hpp"

namespace rankhash {
namespace {

constexpr int64_t kTaskRows = 64;
constexpr uint64_t kSeed = 0x9E3779B97F4A7C15u;

// Pseudo-random numbers, the same sequence for every vector.
class Draws {
 public:
  int below(int n) {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return static_cast<int>((state_ >> 33) % static_cast<uint64_t>(n));
  }

 private:
  uint64_t state_ = kSeed;
};

// Coordinate descent for one vector. With the other symbols fixed, row r adds
//   costs[r] + crossing[r] + meets[r] + penalty · (rest + meets[r])²
// to the loss. meets[r] is the sum of its products with the chosen rows of the other symbols, minus crossing[r]; rest
// is the difference without this symbol.
class Descent {
 public:
  explicit Descent(const RefineTask& task)
      : task_(task),
        rows_(static_cast<int64_t>(task.n_symbols) * task.arity),
        costs_(rows_),
        meets_(rows_),
        kept_meets_(rows_),
        kept_(task.n_symbols) {}

  void run(const float* costs, uint8_t* symbols) {
    start(costs, symbols);
    descend(symbols);
    Draws draws;
    const int n_kicked = std::max(1, task_.n_symbols / 8);
    for (int kick = 0; kick < task_.n_kicks; ++kick) {
      keep(symbols);
      for (int i = 0; i < n_kicked; ++i) {
        const int s = draws.below(task_.n_symbols);
        change(symbols, s, draws.below(task_.arity));
      }
      descend(symbols);
      if (!(gained_ > 0)) give_back(symbols);
    }
  }

 private:
  int64_t row(int s, int k) const { return static_cast<int64_t>(s) * task_.arity + k; }

  void start(const float* costs, const uint8_t* symbols) {
    for (int64_t r = 0; r < rows_; ++r) {
      costs_[r] = costs[r] + task_.crossing[r];
      meets_[r] = -task_.crossing[r];
    }
    difference_ = 0;
    for (int s = 0; s < task_.n_symbols; ++s) {
      const int64_t chosen = row(s, symbols[s]);
      difference_ += meets_[chosen];
      const float* const products = task_.products + chosen * rows_;
      for (int64_t r = 0; r < rows_; ++r) meets_[r] += products[r];
    }
  }

  float loss(int64_t r, float rest) const {
    const float difference = rest + meets_[r];
    return costs_[r] + meets_[r] + task_.penalty * difference * difference;
  }

  void change(uint8_t* symbols, int s, int k) {
    const int64_t before = row(s, symbols[s]), now = row(s, k);
    const float rest = difference_ - meets_[before];
    gained_ += static_cast<double>(loss(before, rest)) - loss(now, rest);
    difference_ = rest + meets_[now];
    const float *const minus = task_.products + before * rows_, *const plus = task_.products + now * rows_;
    for (int64_t r = 0; r < rows_; ++r) meets_[r] += plus[r] - minus[r];
    symbols[s] = static_cast<uint8_t>(k);
  }

  int best_value(int s, int current) const {
    const float rest = difference_ - meets_[row(s, current)];
    int best = current;
    float least = loss(row(s, current), rest);
    for (int k = 0; k < task_.arity; ++k)
      if (const float value = loss(row(s, k), rest); value < least) best = k, least = value;
    return best;
  }

  void descend(uint8_t* symbols) {
    for (int sweep = 0; sweep < task_.n_sweeps; ++sweep) {
      bool moved = false;
      for (int s = 0; s < task_.n_symbols; ++s) {
        const int k = best_value(s, symbols[s]);
        if (k == symbols[s]) continue;
        change(symbols, s, k);
        moved = true;
      }
      if (!moved) return;
    }
  }

  void keep(const uint8_t* symbols) {
    std::copy_n(symbols, task_.n_symbols, kept_.data());
    kept_meets_ = meets_;
    kept_difference_ = difference_;
    gained_ = 0;
  }

  void give_back(uint8_t* symbols) {
    std::copy_n(kept_.data(), task_.n_symbols, symbols);
    meets_ = kept_meets_;
    difference_ = kept_difference_;
  }

  const RefineTask& task_;
  const int64_t rows_;
  float difference_ = 0, kept_difference_ = 0;
  double gained_ = 0;  // decrease of the loss since the symbols were last kept
  std::vector<float> costs_, meets_, kept_meets_;
  std::vector<uint8_t> kept_;
};

}  // namespace

void refine(const RefineTask& task, const float* costs, int64_t n, int n_threads, uint8_t* symbols) {
  const int64_t rows = static_cast<int64_t>(task.n_symbols) * task.arity;
  parallel_for((n + kTaskRows - 1) / kTaskRows, n_threads, [&](int64_t part) {
    Descent descent(task);
    for (int64_t i = part * kTaskRows; i < std::min(n, (part + 1) * kTaskRows); ++i)
      descent.run(costs + i * rows, symbols + i * task.n_symbols);
  });
}

}  // namespace rankhash
