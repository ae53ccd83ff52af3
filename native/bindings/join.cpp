// All pairs of near codes.
#include "bindings/bindings.hpp"

#include <nanobind/stl/vector.h>

#include "core/join.hpp"

using namespace nanobind::literals;

namespace rankhash {
namespace {

using PairArrays = std::tuple<Result<int64_t>, Result<int64_t>, Result<float>>;

JoinRows rows_of(const In<uint8_t, 2>& codes) { return {codes.data(), static_cast<int64_t>(codes.shape(0))}; }

std::optional<PairArrays> join_codes(const In<uint8_t, 2>& codes, int64_t begin, int64_t end,
                                     const std::optional<In<uint8_t, 2>>& others, int n_symbols, int arity,
                                     const In<uint64_t, 2>& runs, const std::vector<uint64_t>& tables,
                                     int max_differing, const std::optional<In<float, 1>>& weights, float radius,
                                     int64_t limit, int n_threads) {
  JoinPairs pairs;
  {
    const Interruptible call;
    const JoinRows second = others ? rows_of(*others) : JoinRows{};
    pairs =
        join({make_layout(n_symbols, arity), rows_of(codes), begin, end, others ? &second : nullptr, runs.data(),
              static_cast<int>(runs.shape(0)), tables, max_differing, data_or_null(weights), radius, limit, n_threads});
  }
  if (!pairs.complete) return std::nullopt;
  return PairArrays{give(std::move(pairs.first)), give(std::move(pairs.second)), give(std::move(pairs.distances))};
}

}  // namespace

void define_join(nb::module_& m) {
  m.def("join", &join_codes, "codes"_a, "begin"_a, "end"_a, "others"_a.none(), "n_symbols"_a, "arity"_a, "runs"_a,
        "tables"_a, "max_differing"_a, "weights"_a.none(), "radius"_a, "limit"_a, "n_threads"_a);
  m.def(
      "connect",
      [](const Out<int64_t, 1>& parents, const In<int64_t, 1>& first, const In<int64_t, 1>& second) {
        connect(parents.data(), first.data(), second.data(), static_cast<int64_t>(first.shape(0)));
      },
      "parents"_a, "first"_a, "second"_a, Released());
}

}  // namespace rankhash
