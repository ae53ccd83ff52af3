#include "core/cells.hpp"
#include "bindings/bindings.hpp"

using namespace nanobind::literals;

namespace rankhash {
namespace {

Metric metric_of(bool product) { return product ? Metric::kNegativeProduct : Metric::kSquaredEuclidean; }

}  // namespace

void define_cells(nb::module_& m) {
  nb::class_<RowsView>(m, "RowsView", "Stored vectors. Keeps no reference: the arrays must outlive it.")
      .def(nb::new_([](const In<uint8_t, 2>& head, const In<uint8_t, 2>& tail, int64_t size,
                       const std::optional<In<float, 1>>& factors, int64_t depth, int type) {
             return RowsView{head.data(),           tail.data(), static_cast<int64_t>(head.shape(0)), size,
                             data_or_null(factors), depth,       static_cast<RowType>(type)};
           }),
           "head"_a, "tail"_a, "size"_a, "factors"_a.none(), "depth"_a, "type"_a);
  nb::class_<CellsView>(m, "CellsView", "Codes in cells. Keeps no reference: the arrays must outlive it.")
      .def(nb::new_([](bool product, int64_t depth, const In<float, 3>& centroids, const In<float, 1>& squares,
                       const In<float, 3>& axes, const In<int32_t, 1>& first_axis, const In<float, 2>& decoder,
                       const In<float, 2>& centers, const In<float, 1>& scales, const In<float, 1>& radii,
                       const std::optional<In<float, 3>>& offsets, const std::optional<In<float, 1>>& lows,
                       const std::optional<In<float, 1>>& steps, const In<int64_t, 1>& first_block,
                       const In<int32_t, 1>& sizes, const In<uint8_t, 3>& blocks, const In<uint32_t, 2>& rows) {
             return CellsView{metric_of(product),
                              depth,
                              static_cast<int>(squares.shape(0)),
                              centroids.data(),
                              squares.data(),
                              static_cast<int>(first_axis.shape(0)) - 1,
                              axes.data(),
                              static_cast<int>(axes.shape(0)) * kPanel,
                              first_axis.data(),
                              decoder.data(),
                              centers.data(),
                              scales.data(),
                              radii.data(),
                              data_or_null(offsets),
                              data_or_null(lows),
                              data_or_null(steps),
                              first_block.data(),
                              sizes.data(),
                              blocks.data(),
                              rows.data()};
           }),
           "product"_a, "depth"_a, "centroids"_a, "squares"_a, "axes"_a, "first_axis"_a, "decoder"_a, "centers"_a,
           "scales"_a, "radii"_a, "offsets"_a.none(), "lows"_a.none(), "steps"_a.none(), "first_block"_a, "sizes"_a,
           "blocks"_a, "rows"_a);
  m.def(
      "search_rows",
      [](const RowsView& rows, const std::optional<In<int64_t, 1>>& row_ids, bool product,
         const std::optional<In<uint8_t, 1>>& passing, const In<float, 2>& queries, int64_t k, int n_threads,
         const Out<int64_t, 2>& ids, const Out<float, 2>& distances) {
        search_rows(rows, {data_or_null(row_ids)}, metric_of(product), data_or_null(passing), queries.data(),
                    queries.shape(0), k, n_threads, ids.data(), distances.data());
      },
      "rows"_a, "row_ids"_a.none(), "product"_a, "passing"_a.none(), "queries"_a, "k"_a, "n_threads"_a, "ids"_a,
      "distances"_a, InterruptibleCall());
  m.def(
      "rank_rows",
      [](const RowsView& rows, const std::optional<In<int64_t, 1>>& row_ids, bool product,
         const In<int64_t, 2>& candidates, const In<float, 2>& queries, int64_t k, int n_threads,
         const Out<int64_t, 2>& ids, const Out<float, 2>& distances) {
        rank_rows(rows, {data_or_null(row_ids)}, metric_of(product), candidates.data(), candidates.shape(1),
                  queries.data(), queries.shape(0), k, n_threads, ids.data(), distances.data());
      },
      "rows"_a, "row_ids"_a.none(), "product"_a, "candidates"_a, "queries"_a, "k"_a, "n_threads"_a, "ids"_a,
      "distances"_a, InterruptibleCall());
  m.def(
      "search_cells",
      [](const CellsView& cells, const RowsView& rows, const std::optional<In<int64_t, 1>>& row_ids,
         const std::optional<In<uint8_t, 1>>& passing, const In<float, 2>& points, const In<float, 2>& queries,
         int64_t k, float effort, int exponent, int64_t n_candidates, float usual, float far, int growth, float slack,
         int64_t n_expected, float beyond, int n_threads, const Out<int64_t, 2>& ids, const Out<float, 2>& distances) {
        const CellSearch search{k,     effort,     exponent, n_candidates,          usual,    far, growth,
                                slack, n_expected, beyond,   data_or_null(passing), n_threads};
        Interruptible released;
        const CellStats stats = search_cells(cells, rows, {data_or_null(row_ids)}, search, points.data(),
                                             queries.data(), queries.shape(0), ids.data(), distances.data());
        return std::tuple(stats.cells, stats.codes, stats.hits, stats.candidates, stats.incomplete);
      },
      "cells"_a, "rows"_a, "row_ids"_a.none(), "passing"_a.none(), "points"_a, "queries"_a, "k"_a, "effort"_a,
      "exponent"_a, "n_candidates"_a, "usual"_a, "far"_a, "growth"_a, "slack"_a, "n_expected"_a, "beyond"_a,
      "n_threads"_a, "ids"_a, "distances"_a);
  m.def(
      "unit_rows",
      [](const In<float, 2>& rows, const Out<float, 2>& units) {
        return unit_rows(rows.data(), rows.shape(0), rows.shape(1), units.data());
      },
      "rows"_a, "units"_a, Released());
  m.def(
      "assign_cells",
      [](const In<float, 2>& x, const In<float, 3>& centroids, const In<float, 1>& squares, int n_threads,
         const Out<int32_t, 1>& cells, const Out<float, 1>& scores) {
        assign_cells(x.data(), x.shape(0), x.shape(1), centroids.data(), squares.data(),
                     static_cast<int>(squares.shape(0)), n_threads, cells.data(), scores.data());
      },
      "vectors"_a, "centroids"_a, "squares"_a, "n_threads"_a, "cells"_a, "scores"_a, InterruptibleCall());
}

}  // namespace rankhash
