#include "core/lookup.hpp"

#include <chrono>

#include "core/hamming.hpp"
#include "core/lookup_query.hpp"
#include "core/score_tables.hpp"

namespace rankhash {
namespace {

constexpr int64_t kTaskQueries = 8;

// make(q, use) calls use(the query). emit(q, hits) receives the hits of a query that stayed within its budget. Returns
// the queries over budget.
template <class Make, class Emit>
std::vector<int64_t> look_up(int64_t n, const LookupOptions& options, const Make& make, const Emit& emit) {
  std::vector<uint8_t> given_up(n);
  parallel_for((n + kTaskQueries - 1) / kTaskQueries, options.n_threads, [&](int64_t task) {
    for (int64_t q = task * kTaskQueries; q < std::min(n, (task + 1) * kTaskQueries); ++q) {
      LookupStats stats;
      const auto begin = std::chrono::steady_clock::now();
      if (options.budget > 0)
        make(q, [&](auto&& query) {
          given_up[q] = !query.run();
          stats = query.stats();
          if (given_up[q]) return;
          const auto hits = query.finish();
          stats.hits = hits.size();
          emit(q, hits);
        });
      else given_up[q] = true;
      stats.scanned = given_up[q];
      if (!options.stats) continue;
      stats.nanoseconds = std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - begin).count();
      options.stats[q] = stats;
    }
  });
  std::vector<int64_t> left;
  for (int64_t q = 0; q < n; ++q)
    if (given_up[q]) left.push_back(q);
  return left;
}

// The rows of some queries, one after another.
template <class T>
std::vector<T> gather(const T* rows, int64_t width, const std::vector<int64_t>& chosen) {
  std::vector<T> out;
  out.reserve(chosen.size() * width);
  for (const int64_t q : chosen) out.insert(out.end(), rows + q * width, rows + (q + 1) * width);
  return out;
}

// Writes the results of scanned queries to their rows.
class Scanned {
 public:
  Scanned(std::vector<int64_t> queries, int64_t k, LookupStats* stats)
      : queries_(std::move(queries)),
        k_(k),
        stats_(stats),
        ids_(queries_.size() * k),
        distances_(queries_.size() * k) {}

  const std::vector<int64_t>& queries() const { return queries_; }
  int64_t* ids() { return ids_.data(); }
  float* distances() { return distances_.data(); }

  void write(int64_t* ids, float* distances) const {
    for (size_t i = 0; i < queries_.size(); ++i) {
      std::copy_n(ids_.data() + i * k_, k_, ids + queries_[i] * k_);
      std::copy_n(distances_.data() + i * k_, k_, distances + queries_[i] * k_);
      if (!stats_) continue;
      stats_[queries_[i]].hits = k_ - std::count(ids_.data() + i * k_, ids_.data() + (i + 1) * k_, -1);
    }
  }

 private:
  std::vector<int64_t> queries_;
  int64_t k_;
  LookupStats* stats_;
  std::vector<int64_t> ids_;
  std::vector<float> distances_;
};

// Rows of hits of looked-up and of scanned queries, in the order of the queries.
template <class Distance>
RadiusHits join(HitLists<Distance>& lists, const RadiusHits& scanned, const std::vector<int64_t>& queries,
                LookupStats* stats) {
  for (size_t i = 0; i < queries.size(); ++i) {
    auto& hits = lists[queries[i]];
    for (int64_t h = scanned.offsets[i]; h < scanned.offsets[i + 1]; ++h)
      hits.push_back({static_cast<Distance>(scanned.distances[h]), scanned.ids[h]});
    if (stats) stats[queries[i]].hits = hits.size();
  }
  return join_rows(lists);
}

}  // namespace

bool lookup(const TablesView& view, const uint8_t* queries, int64_t n, int64_t k, const LookupOptions& options,
            int64_t* ids, float* distances) {
  const Layout& layout = view.store.layout;
  const HammingMetric metric(layout);
  const HeapTopK<int32_t> empty(k, layout.n_symbols);
  using Query = LookupQuery<HammingMetric, HeapTopK<int32_t>>;
  Scanned scanned(look_up(
                      n, options,
                      [&](int64_t q, const auto& use) {
                        use(Query(view, queries + q * layout.n_bytes, metric, empty, options.budget));
                      },
                      [&](int64_t q, const auto& hits) { write_row(hits, k, ids + q * k, distances + q * k); }),
                  k, options.stats);
  if (scanned.queries().empty()) return true;
  if (!options.scan) return false;
  const auto rows = gather(queries, layout.n_bytes, scanned.queries());
  search_hamming(view.store, rows.data(), scanned.queries().size(), k, options.n_threads, scanned.ids(),
                 scanned.distances());
  scanned.write(ids, distances);
  return true;
}

bool lookup_radius_one(const TablesView& view, const uint8_t* query, int radius, double budget,
                       std::vector<HammingHit>& hits) {
  const Layout& layout = view.store.layout;
  const HammingMetric metric(layout);
  LookupQuery look(view, query, metric, Within<int32_t>(std::min(radius, layout.n_symbols)), budget);
  if (!look.run()) return false;
  hits = look.finish();
  return true;
}

RadiusHits lookup_radius(const TablesView& view, const uint8_t* queries, int64_t n, int radius,
                         const LookupOptions& options) {
  const Layout& layout = view.store.layout;
  const HammingMetric metric(layout);
  const Within<int32_t> empty(std::min(radius, layout.n_symbols));
  HitLists<int32_t> lists(n);
  using Query = LookupQuery<HammingMetric, Within<int32_t>>;
  const auto left = look_up(
      n, options,
      [&](int64_t q, const auto& use) {
        use(Query(view, queries + q * layout.n_bytes, metric, empty, options.budget));
      },
      [&](int64_t q, auto hits) { lists[q] = std::move(hits); });
  if (left.empty()) return join_rows(lists);
  const auto rows = gather(queries, layout.n_bytes, left);
  return join(lists, search_hamming_radius(view.store, rows.data(), left.size(), radius, options.n_threads), left,
              options.stats);
}

void lookup_weighted(const TablesView& view, const uint8_t* queries, const float* weights, const float* tables,
                     int64_t n, int64_t k, const LookupOptions& options, int64_t* ids, float* distances) {
  const Layout& layout = view.store.layout;
  const ColumnPlan plan(layout);
  const int64_t table_size = static_cast<int64_t>(layout.n_symbols) * layout.arity;
  const HeapTopK<float> empty(k, std::numeric_limits<float>::infinity());
  using Query = LookupQuery<WeightedMetric, HeapTopK<float>>;
  Scanned scanned(look_up(
                      n, options,
                      [&](int64_t q, const auto& use) {
                        const WeightedMetric metric(layout, plan, weights, tables + q * table_size);
                        use(Query(view, queries + q * layout.n_bytes, metric, empty, options.budget));
                      },
                      [&](int64_t q, const auto& hits) { write_row(hits, k, ids + q * k, distances + q * k); }),
                  k, options.stats);
  if (scanned.queries().empty()) return;
  const auto rows = gather(tables, table_size, scanned.queries());
  search_scores(view.store, rows.data(), scanned.queries().size(), k, options.n_threads, scanned.ids(),
                scanned.distances());
  scanned.write(ids, distances);
}

RadiusHits lookup_weighted_radius(const TablesView& view, const uint8_t* queries, const float* weights,
                                  const float* tables, int64_t n, float radius, const LookupOptions& options) {
  const Layout& layout = view.store.layout;
  const ColumnPlan plan(layout);
  const int64_t table_size = static_cast<int64_t>(layout.n_symbols) * layout.arity;
  HitLists<float> lists(n);
  using Query = LookupQuery<WeightedMetric, Within<float>>;
  const auto left = look_up(
      n, options,
      [&](int64_t q, const auto& use) {
        const WeightedMetric metric(layout, plan, weights, tables + q * table_size);
        use(Query(view, queries + q * layout.n_bytes, metric, Within<float>(radius), options.budget));
      },
      [&](int64_t q, auto hits) { lists[q] = std::move(hits); });
  if (left.empty()) return join_rows(lists);
  const auto rows = gather(tables, table_size, left);
  return join(lists, search_scores_radius(view.store, rows.data(), left.size(), radius, options.n_threads), left,
              options.stats);
}

}  // namespace rankhash
