// Hash tables, and search through them.
#include "bindings/bindings.hpp"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include "core/lookup.hpp"

using namespace nanobind::literals;

namespace rankhash {
namespace {

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
    tables.push_back({{spans[t].first, spans[t].second},
                      static_cast<uint32_t>(offsets[t].shape(0) - 1),
                      offsets[t].data(),
                      places[t].data(),
                      rows[t].data()});
  build_tables(view, start, size, tables, n_threads);
}

// Statistics of look-ups, as rows of numbers.
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

}  // namespace

void define_lookup(nb::module_& m) {
  nb::class_<Segment>(m, "Segment", "Hash tables over a run of codes. Keeps no reference: the arrays must outlive it.")
      .def(nb::new_(&make_segment), "n_symbols"_a, "arity"_a, "start"_a, "size"_a, "spans"_a, "offsets"_a, "occupied"_a,
           "places"_a, "rows"_a);
  nb::class_<TablesView>(m, "TablesView", "What look-up reads. Keeps no reference: the parts must outlive it.")
      .def(nb::new_([](const CodesView& store, const List<const Segment*>& segments, int64_t n_sealed,
                       const std::optional<In<uint8_t, 1>>& stale, const CodesView& changed) {
             return TablesView{store, segments, n_sealed, data_or_null(stale), changed};
           }),
           "store"_a, "segments"_a, "n_sealed"_a, "stale"_a.none(), "changed"_a);
  m.def("build_tables", &fill_tables, "view"_a, "start"_a, "size"_a, "spans"_a, "offsets"_a, "places"_a, "rows"_a,
        "n_threads"_a, InterruptibleCall());
  m.def(
      "mark_occupied",
      [](const In<uint32_t, 1>& offsets, const Out<uint64_t, 1>& occupied) {
        mark_occupied(offsets.data(), static_cast<uint32_t>(offsets.shape(0) - 1), occupied.data());
      },
      "offsets"_a, "occupied"_a, Released());
  m.def(
      "lookup",
      [](const TablesView& view, const In<uint8_t, 2>& codes, int64_t k, double budget, int n_threads,
         const Out<int64_t, 2>& ids, const Out<float, 2>& distances, const std::optional<Out<double, 2>>& stats,
         bool scan) {
        Counted counted(stats, codes.shape(0));
        lookup(view, codes.data(), codes.shape(0), k, {budget, n_threads, counted.data(), scan}, ids.data(),
               distances.data());
      },
      "view"_a, "codes"_a, "k"_a, "budget"_a, "n_threads"_a, "ids"_a, "distances"_a, "stats"_a.none(), "scan"_a,
      InterruptibleCall());
  m.def(
      "lookup_weighted",
      [](const TablesView& view, const In<uint8_t, 2>& codes, const In<float, 1>& weights, const In<float, 3>& tables,
         int64_t k, double budget, int n_threads, const Out<int64_t, 2>& ids, const Out<float, 2>& distances,
         const std::optional<Out<double, 2>>& stats) {
        Counted counted(stats, codes.shape(0));
        lookup_weighted(view, codes.data(), weights.data(), tables.data(), codes.shape(0), k,
                        {budget, n_threads, counted.data(), true}, ids.data(), distances.data());
      },
      "view"_a, "codes"_a, "weights"_a, "tables"_a, "k"_a, "budget"_a, "n_threads"_a, "ids"_a, "distances"_a,
      "stats"_a.none(), InterruptibleCall());
  m.def(
      "lookup_radius",
      [](const TablesView& view, const In<uint8_t, 2>& codes, int radius, double budget, int n_threads,
         const std::optional<Out<double, 2>>& stats) {
        return interruptible_hits([&] {
          Counted counted(stats, codes.shape(0));
          return lookup_radius(view, codes.data(), codes.shape(0), radius, {budget, n_threads, counted.data(), true});
        });
      },
      "view"_a, "codes"_a, "radius"_a, "budget"_a, "n_threads"_a, "stats"_a.none());
  m.def(
      "lookup_weighted_radius",
      [](const TablesView& view, const In<uint8_t, 2>& codes, const In<float, 1>& weights, const In<float, 3>& tables,
         float radius, double budget, int n_threads, const std::optional<Out<double, 2>>& stats) {
        return interruptible_hits([&] {
          Counted counted(stats, codes.shape(0));
          return lookup_weighted_radius(view, codes.data(), weights.data(), tables.data(), codes.shape(0), radius,
                                        {budget, n_threads, counted.data(), true});
        });
      },
      "view"_a, "codes"_a, "weights"_a, "tables"_a, "radius"_a, "budget"_a, "n_threads"_a, "stats"_a.none());
}

}  // namespace rankhash
