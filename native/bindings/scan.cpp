// Search by comparing all codes.
#include "bindings/bindings.hpp"

#include "core/hamming.hpp"
#include "core/score_tables.hpp"

using namespace nanobind::literals;

namespace rankhash {
namespace {

CodesView make_view(const In<uint8_t, 3>& blocks, int64_t size, int n_symbols, int arity,
                    const std::optional<In<uint8_t, 1>>& live, const std::optional<In<int64_t, 1>>& ids,
                    int64_t n_ordered) {
  return {blocks.data(), size, make_layout(n_symbols, arity), data_or_null(live), {data_or_null(ids), n_ordered}};
}

}  // namespace

void define_scan(nb::module_& m) {
  nb::class_<CodesView>(m, "CodesView", "What a search reads. Keeps no reference: the arrays must outlive it.")
      .def(nb::new_(&make_view), "blocks"_a, "size"_a, "n_symbols"_a, "arity"_a, "live"_a.none(), "ids"_a.none(),
           "n_ordered"_a);
  m.def(
      "search",
      [](const CodesView& view, const In<uint8_t, 2>& codes, int64_t k, int n_threads, const Out<int64_t, 2>& ids,
         const Out<float, 2>& distances) {
        search_hamming(view, codes.data(), codes.shape(0), k, n_threads, ids.data(), distances.data());
      },
      "view"_a, "codes"_a, "k"_a, "n_threads"_a, "ids"_a, "distances"_a, InterruptibleCall());
  m.def(
      "search_scores",
      [](const CodesView& view, const In<float, 3>& tables, int64_t k, int n_threads, const Out<int64_t, 2>& ids,
         const Out<float, 2>& distances) {
        search_scores(view, tables.data(), tables.shape(0), k, n_threads, ids.data(), distances.data());
      },
      "view"_a, "tables"_a, "k"_a, "n_threads"_a, "ids"_a, "distances"_a, InterruptibleCall());
  m.def(
      "search_radius",
      [](const CodesView& view, const In<uint8_t, 2>& codes, int radius, int n_threads) {
        return interruptible_hits(
            [&] { return search_hamming_radius(view, codes.data(), codes.shape(0), radius, n_threads); });
      },
      "view"_a, "codes"_a, "radius"_a, "n_threads"_a);
  m.def(
      "search_scores_radius",
      [](const CodesView& view, const In<float, 3>& tables, float radius, int n_threads) {
        return interruptible_hits(
            [&] { return search_scores_radius(view, tables.data(), tables.shape(0), radius, n_threads); });
      },
      "view"_a, "tables"_a, "radius"_a, "n_threads"_a);
}

}  // namespace rankhash
