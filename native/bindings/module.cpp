// The table of contents of the native core: typed arrays in and out, the interpreter released, one call each.
// Arguments were checked by rankhash._kernels and the layers above it.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "bindings/lone.hpp"
#include "core/codes.hpp"
#include "core/encode.hpp"
#include "core/hamming.hpp"
#include "core/joint.hpp"
#include "core/lookup.hpp"
#include "core/refine.hpp"
#include "core/tables.hpp"
#include "core/train.hpp"
#include "kernels/kernels.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace rankhash;

namespace {

template <class T, int N>
using In = nb::ndarray<const T, nb::ndim<N>, nb::c_contig, nb::device::cpu>;
template <class T, int N>
using Out = nb::ndarray<T, nb::ndim<N>, nb::c_contig, nb::device::cpu>;
template <class T>
using Result = nb::ndarray<nb::numpy, T, nb::ndim<1>, nb::c_contig>;
using Released = nb::call_guard<nb::gil_scoped_release>;

template <class Array>
auto data_or_null(const std::optional<Array>& array) {
  return array ? array->data() : nullptr;
}

// A NumPy array that owns the vector's memory.
template <class T>
Result<T> give(std::vector<T>&& values) {
  auto* owned = new std::vector<T>(std::move(values));
  owned->reserve(1);  // an empty array needs an address, too
  nb::capsule owner(owned, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return Result<T>(owned->data(), {owned->size()}, owner);
}

std::tuple<Result<int64_t>, Result<int64_t>, Result<float>> give(RadiusHits&& hits) {
  return {give(std::move(hits.offsets)), give(std::move(hits.ids)), give(std::move(hits.distances))};
}

CodesView make_view(const In<uint8_t, 3>& blocks, int64_t size, int n_symbols, int arity,
                    const std::optional<In<uint8_t, 1>>& live, const std::optional<In<int64_t, 1>>& ids,
                    int64_t n_ordered) {
  return {blocks.data(), size, make_layout(n_symbols, arity), data_or_null(live), {data_or_null(ids), n_ordered}};
}

template <class T>
using List = std::vector<T>;
using Spans = List<std::pair<int, int>>;

Segment make_segment(int n_symbols, int arity, int64_t start, int64_t size, const Spans& spans,
                     const List<In<uint32_t, 1>>& offsets, const List<In<uint64_t, 1>>& occupied,
                     const List<In<uint32_t, 1>>& places, const List<In<uint8_t, 1>>& rows) {
  Segment segment{make_layout(n_symbols, arity), start, size, {}};
  for (size_t t = 0; t < spans.size(); ++t) {
    const KeySpan span{spans[t].first, spans[t].second};
    segment.tables.push_back({span, bits_of(segment.layout, span), static_cast<uint32_t>(offsets[t].shape(0) - 1),
                              offsets[t].data(), occupied[t].data(), places[t].data(), rows[t].data()});
  }
  return segment;
}

void fill_tables(const CodesView& view, int64_t start, int64_t size, const Spans& spans,
                 const List<Out<uint32_t, 1>>& offsets, const List<Out<uint32_t, 1>>& places,
                 const List<Out<uint8_t, 1>>& rows, int n_threads) {
  List<KeyTableOut> tables;
  for (size_t t = 0; t < spans.size(); ++t)
    tables.push_back({{spans[t].first, spans[t].second}, static_cast<uint32_t>(offsets[t].shape(0) - 1),
                      offsets[t].data(), places[t].data(), rows[t].data()});
  build_tables(view, start, size, tables, n_threads);
}

// What look-up counted, as rows of numbers.
class Counted {
 public:
  Counted(const std::optional<Out<double, 2>>& out, int64_t n) : out_(out), stats_(out ? n : 0) {}
  ~Counted() {
    double* to = out_ ? out_->data() : nullptr;
    for (const LookupStats& s : stats_)
      for (const double value : {double(s.probes), double(s.buckets), double(s.candidates), double(s.duplicates),
                                 double(s.hits), double(s.radius), double(s.scanned), s.cost, s.nanoseconds})
        *to++ = value;
  }
  LookupStats* data() { return out_ ? stats_.data() : nullptr; }

 private:
  const std::optional<Out<double, 2>>& out_;
  std::vector<LookupStats> stats_;
};

using Totals = std::tuple<double, int64_t, int64_t>;
Totals give(const PairTotals& totals) { return {totals.bound, totals.updates, totals.errors}; }

std::vector<std::string> isa_names() {
  const Kernels* list[8];
  const int n = available_kernels(list, 8);
  std::vector<std::string> names;
  for (int i = 0; i < n; ++i) names.emplace_back(list[i]->name);
  return names;
}

}  // namespace

NB_MODULE(_native, m) {
  m.doc() = "The native core of rankhash; use it through rankhash._kernels.";

  m.def("isa", [] { return std::string(active_kernels().name); });
  m.def("available_isas", isa_names);
  m.def("use_isa", [](const std::string& name) { return use_kernels(name.c_str()); }, "name"_a);

  m.def("first_nonfinite_row",
        [](const In<float, 2>& x) { return first_nonfinite_row(x.data(), x.shape(0), x.shape(1)); }, "vectors"_a,
        Released());
  m.def("encode",
        [](const In<float, 2>& x, const In<float, 2>& weights, const std::optional<In<float, 1>>& bias,
           const std::optional<In<float, 1>>& center, int n_symbols, int arity, int n_threads,
           const Out<uint8_t, 2>& codes) {
          const Projections projections{weights.data(), data_or_null(bias), data_or_null(center),
                                        static_cast<int>(weights.shape(0)) / n_symbols};
          return encode_projections(x.data(), x.shape(0), x.shape(1), projections, make_layout(n_symbols, arity),
                                    n_threads, codes.data());
        },
        "vectors"_a, "projections"_a, "bias"_a.none(), "center"_a.none(), "n_symbols"_a, "arity"_a, "n_threads"_a,
        "codes"_a, Released());
  m.def("project",
        [](const In<float, 2>& x, const In<float, 2>& weights, const std::optional<In<float, 1>>& bias,
           const std::optional<In<float, 1>>& center, int n_threads, const Out<float, 2>& out) {
          const Projections projections{weights.data(), data_or_null(bias), data_or_null(center), 1};
          project(x.data(), x.shape(0), x.shape(1), projections, weights.shape(0), n_threads, out.data());
        },
        "vectors"_a, "projections"_a, "bias"_a.none(), "center"_a.none(), "n_threads"_a, "out"_a, Released());
  m.def("encode_windows",
        [](const In<float, 2>& x, const In<int32_t, 3>& windows, int n_threads, const Out<uint8_t, 2>& codes) {
          const Layout layout = make_layout(static_cast<int>(windows.shape(0)), static_cast<int>(windows.shape(1)));
          return encode_windows(x.data(), x.shape(0), x.shape(1), windows.data(),
                                static_cast<int>(windows.shape(2)), layout, n_threads, codes.data());
        },
        "vectors"_a, "windows"_a, "n_threads"_a, "codes"_a, Released());

  m.def("pack",
        [](const In<uint8_t, 2>& symbols, int arity, const Out<uint8_t, 2>& codes) {
          pack_rows(symbols.data(), symbols.shape(0), make_layout(static_cast<int>(symbols.shape(1)), arity),
                    codes.data());
        },
        "symbols"_a, "arity"_a, "codes"_a, Released());
  m.def("unpack",
        [](const In<uint8_t, 2>& codes, int arity, const Out<uint8_t, 2>& symbols) {
          unpack_rows(codes.data(), codes.shape(0), make_layout(static_cast<int>(symbols.shape(1)), arity),
                      symbols.data());
        },
        "codes"_a, "arity"_a, "symbols"_a, Released());
  m.def("first_invalid_code",
        [](const In<uint8_t, 2>& codes, int n_symbols, int arity) {
          return first_invalid_row(codes.data(), codes.shape(0), make_layout(n_symbols, arity));
        },
        "codes"_a, "n_symbols"_a, "arity"_a, Released());

  m.def("write_slices",
        [](const Out<uint8_t, 3>& blocks, int64_t start, const In<uint8_t, 2>& codes) {
          write_slices(blocks.data(), static_cast<int>(blocks.shape(1)), start, codes.data(), codes.shape(0));
        },
        "blocks"_a, "start"_a, "codes"_a, Released());
  m.def("write_slices_at",
        [](const Out<uint8_t, 3>& blocks, const In<int64_t, 1>& positions, const In<uint8_t, 2>& codes) {
          write_slices_at(blocks.data(), static_cast<int>(blocks.shape(1)), positions.data(), codes.data(),
                          codes.shape(0));
        },
        "blocks"_a, "positions"_a, "codes"_a, Released());
  m.def("read_slices",
        [](const In<uint8_t, 3>& blocks, const In<int64_t, 1>& positions, const Out<uint8_t, 2>& codes) {
          read_slices(blocks.data(), static_cast<int>(blocks.shape(1)), positions.data(), codes.data(),
                      codes.shape(0));
        },
        "blocks"_a, "positions"_a, "codes"_a, Released());

  nb::class_<CodesView>(m, "CodesView", "What a search reads. Keeps no reference: the arrays must outlive it.")
      .def(nb::new_(&make_view), "blocks"_a, "size"_a, "n_symbols"_a, "arity"_a, "live"_a.none(), "ids"_a.none(),
           "n_ordered"_a);
  m.def("search",
        [](const CodesView& view, const In<uint8_t, 2>& codes, int64_t k, int n_threads, const Out<int64_t, 2>& ids,
           const Out<float, 2>& distances) {
          search_hamming(view, codes.data(), codes.shape(0), k, n_threads, ids.data(), distances.data());
        },
        "view"_a, "codes"_a, "k"_a, "n_threads"_a, "ids"_a, "distances"_a, Released());
  m.def("search_tables",
        [](const CodesView& view, const In<float, 3>& tables, int64_t k, int n_threads, const Out<int64_t, 2>& ids,
           const Out<float, 2>& distances) {
          search_tables(view, tables.data(), tables.shape(0), k, n_threads, ids.data(), distances.data());
        },
        "view"_a, "tables"_a, "k"_a, "n_threads"_a, "ids"_a, "distances"_a, Released());
  m.def("search_radius",
        [](const CodesView& view, const In<uint8_t, 2>& codes, int radius, int n_threads) {
          RadiusHits hits;
          {
            nb::gil_scoped_release release;
            hits = search_hamming_radius(view, codes.data(), codes.shape(0), radius, n_threads);
          }
          return give(std::move(hits));
        },
        "view"_a, "codes"_a, "radius"_a, "n_threads"_a);
  m.def("search_tables_radius",
        [](const CodesView& view, const In<float, 3>& tables, float radius, int n_threads) {
          RadiusHits hits;
          {
            nb::gil_scoped_release release;
            hits = search_tables_radius(view, tables.data(), tables.shape(0), radius, n_threads);
          }
          return give(std::move(hits));
        },
        "view"_a, "tables"_a, "radius"_a, "n_threads"_a);

  nb::class_<Segment>(m, "Segment", "Hash tables over a run of codes. Keeps no reference: the arrays must outlive it.")
      .def(nb::new_(&make_segment), "n_symbols"_a, "arity"_a, "start"_a, "size"_a, "spans"_a, "offsets"_a,
           "occupied"_a, "places"_a, "rows"_a);
  nb::class_<TablesView>(m, "TablesView", "What look-up reads. Keeps no reference: the parts must outlive it.")
      .def(nb::new_([](const CodesView& store, const List<const Segment*>& segments, int64_t n_sealed,
                       const std::optional<In<uint8_t, 1>>& stale, const CodesView& changed) {
             return TablesView{store, segments, n_sealed, data_or_null(stale), changed};
           }),
           "store"_a, "segments"_a, "n_sealed"_a, "stale"_a.none(), "changed"_a);
  define_lone(m);
  m.def("build_tables", &fill_tables, "view"_a, "start"_a, "size"_a, "spans"_a, "offsets"_a, "places"_a, "rows"_a,
        "n_threads"_a, Released());
  m.def("mark_occupied",
        [](const In<uint32_t, 1>& offsets, const Out<uint64_t, 1>& occupied) {
          mark_occupied(offsets.data(), static_cast<uint32_t>(offsets.shape(0) - 1), occupied.data());
        },
        "offsets"_a, "occupied"_a, Released());
  m.def("lookup",
        [](const TablesView& view, const In<uint8_t, 2>& codes, int64_t k, double budget, int n_threads,
           const Out<int64_t, 2>& ids, const Out<float, 2>& distances, const std::optional<Out<double, 2>>& stats,
           bool scan) {
          Counted counted(stats, codes.shape(0));
          lookup(view, codes.data(), codes.shape(0), k, {budget, n_threads, counted.data(), scan}, ids.data(),
                 distances.data());
        },
        "view"_a, "codes"_a, "k"_a, "budget"_a, "n_threads"_a, "ids"_a, "distances"_a, "stats"_a.none(), "scan"_a,
        Released());
  m.def("lookup_weighted",
        [](const TablesView& view, const In<uint8_t, 2>& codes, const In<float, 1>& weights,
           const In<float, 3>& tables, int64_t k, double budget, int n_threads, const Out<int64_t, 2>& ids,
           const Out<float, 2>& distances, const std::optional<Out<double, 2>>& stats) {
          Counted counted(stats, codes.shape(0));
          lookup_weighted(view, codes.data(), weights.data(), tables.data(), codes.shape(0), k,
                          {budget, n_threads, counted.data(), true}, ids.data(), distances.data());
        },
        "view"_a, "codes"_a, "weights"_a, "tables"_a, "k"_a, "budget"_a, "n_threads"_a, "ids"_a, "distances"_a,
        "stats"_a.none(), Released());
  m.def("lookup_radius",
        [](const TablesView& view, const In<uint8_t, 2>& codes, int radius, double budget, int n_threads,
           const std::optional<Out<double, 2>>& stats) {
          RadiusHits hits;
          {
            nb::gil_scoped_release release;
            Counted counted(stats, codes.shape(0));
            hits = lookup_radius(view, codes.data(), codes.shape(0), radius, {budget, n_threads, counted.data(), true});
          }
          return give(std::move(hits));
        },
        "view"_a, "codes"_a, "radius"_a, "budget"_a, "n_threads"_a, "stats"_a.none());
  m.def("lookup_weighted_radius",
        [](const TablesView& view, const In<uint8_t, 2>& codes, const In<float, 1>& weights,
           const In<float, 3>& tables, float radius, double budget, int n_threads,
           const std::optional<Out<double, 2>>& stats) {
          RadiusHits hits;
          {
            nb::gil_scoped_release release;
            Counted counted(stats, codes.shape(0));
            hits = lookup_weighted_radius(view, codes.data(), weights.data(), tables.data(), codes.shape(0), radius,
                                          {budget, n_threads, counted.data(), true});
          }
          return give(std::move(hits));
        },
        "view"_a, "codes"_a, "weights"_a, "tables"_a, "radius"_a, "budget"_a, "n_threads"_a, "stats"_a.none());

  m.def("train_pairs",
        [](const In<float, 2>& x, const In<int32_t, 2>& pairs, const In<uint8_t, 1>& labels, bool hinge, float rho,
           float lam, float rate, float rate_step, int64_t age, const Out<float, 2>& weights, const Out<float, 2>& lag) {
          const PairTask task{x.data(), pairs.data(), labels.data(), static_cast<int64_t>(pairs.shape(0)),
                              static_cast<int64_t>(x.shape(1)), static_cast<int>(weights.shape(0)), hinge, rho, lam,
                              rate, rate_step, age};
          return give(train_pairs(task, weights.data(), lag.data()));
        },
        "vectors"_a, "pairs"_a, "labels"_a, "hinge"_a, "rho"_a, "lam"_a, "rate"_a, "rate_step"_a, "age"_a, "weights"_a,
        "lag"_a, Released());
  m.def("pair_gradient",
        [](const In<float, 2>& scores, const In<int32_t, 2>& pairs, const In<uint8_t, 1>& labels, bool hinge, float rho,
           float lam, const Out<float, 2>& gradient) {
          const PairTask task{nullptr, pairs.data(), labels.data(), static_cast<int64_t>(pairs.shape(0)), 0,
                              static_cast<int>(scores.shape(1)), hinge, rho, lam, 0, 0, 0};
          return give(pair_gradient(task, scores.data(), gradient.data()));
        },
        "scores"_a, "pairs"_a, "labels"_a, "hinge"_a, "rho"_a, "lam"_a, "gradient"_a, Released());
  m.def("pair_histograms",
        [](const In<float, 2>& agreement, const In<uint8_t, 2>& labels, float top, int n_threads,
           const Out<double, 2>& histograms) {
          const PairGrid grid{agreement.data(), labels.data(), static_cast<int64_t>(agreement.shape(0))};
          pair_histograms(grid, top, static_cast<int>(histograms.shape(1)), n_threads, histograms.data());
        },
        "agreement"_a, "labels"_a, "top"_a, "n_threads"_a, "histograms"_a, Released());
  m.def("pair_slopes",
        [](const Out<float, 2>& agreement, const In<uint8_t, 2>& labels, float top, const In<float, 2>& tables,
           int n_threads) {
          const PairGrid grid{agreement.data(), labels.data(), static_cast<int64_t>(agreement.shape(0))};
          pair_slopes(grid, top, static_cast<int>(tables.shape(1)), tables.data(), n_threads, agreement.data());
        },
        "agreement"_a, "labels"_a, "top"_a, "tables"_a, "n_threads"_a, Released());

  m.def("refine",
        [](const In<float, 2>& costs, const In<float, 2>& products, const In<float, 1>& crossing, float penalty,
           int arity, int n_sweeps, int n_kicks, int n_threads, const Out<uint8_t, 2>& symbols) {
          const RefineTask task{products.data(), crossing.data(), penalty, static_cast<int>(symbols.shape(1)), arity,
                                n_sweeps, n_kicks};
          refine(task, costs.data(), static_cast<int64_t>(symbols.shape(0)), n_threads, symbols.data());
        },
        "costs"_a, "products"_a, "crossing"_a, "penalty"_a, "arity"_a, "n_sweeps"_a, "n_kicks"_a, "n_threads"_a,
        "symbols"_a, Released());
}
