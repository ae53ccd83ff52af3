// Sums over pairs of training points, and the refinement of a quantiser's symbols.
#include "bindings/bindings.hpp"

#include "core/joint.hpp"
#include "core/refine.hpp"
#include "core/train.hpp"

using namespace nanobind::literals;

namespace rankhash {
namespace {

using Totals = std::tuple<double, int64_t, int64_t>;
Totals give(const PairTotals& totals) { return {totals.bound, totals.updates, totals.errors}; }

}  // namespace

void define_learning(nb::module_& m) {
  m.def(
      "train_pairs",
      [](const In<float, 2>& x, const In<int32_t, 2>& pairs, const In<uint8_t, 1>& labels, bool hinge, float rho,
         float lam, float rate, float rate_step, int64_t age, const Out<float, 2>& weights, const Out<float, 2>& lag,
         const std::optional<In<float, 1>>& rates) {
        const PairTask task{x.data(),
                            pairs.data(),
                            labels.data(),
                            static_cast<int64_t>(pairs.shape(0)),
                            static_cast<int64_t>(x.shape(1)),
                            static_cast<int>(weights.shape(0)),
                            hinge,
                            rho,
                            lam,
                            rate,
                            rate_step,
                            age,
                            data_or_null(rates)};
        return give(train_pairs(task, weights.data(), lag.data()));
      },
      "vectors"_a, "pairs"_a, "labels"_a, "hinge"_a, "rho"_a, "lam"_a, "rate"_a, "rate_step"_a, "age"_a, "weights"_a,
      "lag"_a, "rates"_a = nb::none(), Released());
  m.def(
      "pair_gradient",
      [](const In<float, 2>& scores, const In<int32_t, 2>& pairs, const In<uint8_t, 1>& labels, bool hinge, float rho,
         float lam, const Out<float, 2>& gradient) {
        const PairTask task{nullptr,
                            pairs.data(),
                            labels.data(),
                            static_cast<int64_t>(pairs.shape(0)),
                            0,
                            static_cast<int>(scores.shape(1)),
                            hinge,
                            rho,
                            lam,
                            0,
                            0,
                            0,
                            nullptr};
        return give(pair_gradient(task, scores.data(), gradient.data()));
      },
      "scores"_a, "pairs"_a, "labels"_a, "hinge"_a, "rho"_a, "lam"_a, "gradient"_a, Released());
  m.def(
      "pair_histograms",
      [](const In<float, 2>& agreement, const In<uint8_t, 2>& labels, float top, int n_threads,
         const Out<double, 2>& histograms) {
        const PairGrid grid{agreement.data(), labels.data(), static_cast<int64_t>(agreement.shape(0)),
                            static_cast<int>(histograms.shape(0))};
        pair_histograms(grid, top, static_cast<int>(histograms.shape(1)), n_threads, histograms.data());
      },
      "agreement"_a, "labels"_a, "top"_a, "n_threads"_a, "histograms"_a, InterruptibleCall());
  m.def(
      "pair_slopes",
      [](const Out<float, 2>& agreement, const In<uint8_t, 2>& labels, float top, const In<float, 2>& tables,
         int n_threads) {
        const PairGrid grid{agreement.data(), labels.data(), static_cast<int64_t>(agreement.shape(0)),
                            static_cast<int>(tables.shape(0))};
        pair_slopes(grid, top, static_cast<int>(tables.shape(1)), tables.data(), n_threads, agreement.data());
      },
      "agreement"_a, "labels"_a, "top"_a, "tables"_a, "n_threads"_a, InterruptibleCall());

  m.def(
      "refine",
      [](const In<float, 2>& costs, const In<float, 2>& products, const In<float, 1>& crossing, float penalty,
         int arity, int n_sweeps, int n_kicks, int n_threads, const Out<uint8_t, 2>& symbols) {
        const RefineTask task{products.data(), crossing.data(), penalty, static_cast<int>(symbols.shape(1)),
                              arity,           n_sweeps,        n_kicks};
        refine(task, costs.data(), static_cast<int64_t>(symbols.shape(0)), n_threads, symbols.data());
      },
      "costs"_a, "products"_a, "crossing"_a, "penalty"_a, "arity"_a, "n_sweeps"_a, "n_kicks"_a, "n_threads"_a,
      "symbols"_a, InterruptibleCall());
}

}  // namespace rankhash
