#include "core/tables.hpp"

#include "core/table_scan.hpp"

namespace rankhash {
namespace {

constexpr int64_t kTileQueries = 32;

template <class Collector, class Emit>
void scan(const CodesView& view, const float* tables, int64_t n, int64_t tile, int64_t most, int n_threads,
          const Collector& empty, const Emit& emit) {
  const ColumnPlan plan(view.layout);
  const int64_t table_size = static_cast<int64_t>(view.layout.n_symbols) * view.layout.arity;
  const auto run = [&](int64_t q, int64_t count, int64_t first, int64_t last) {
    return TableScan<Collector>(view, plan, tables + q * table_size, count, empty).run(first, last);
  };
  search_tiles<float>(view, n, tile, most, n_threads, run, emit);
}

}  // namespace

void search_tables(const CodesView& view, const float* tables, int64_t n, int64_t k, int n_threads, int64_t* ids,
                   float* distances) {
  const int64_t most = std::max<int64_t>(1, std::min(k, view.size));
  scan(view, tables, n, tile_for(most, kTileQueries), most, n_threads, FloatTopK(most),
       [&](int64_t q, const auto& hits) { write_row(hits, k, ids + q * k, distances + q * k); });
}

RadiusHits search_tables_radius(const CodesView& view, const float* tables, int64_t n, float radius, int n_threads) {
  HitLists<float> lists(n);
  scan(view, tables, n, kTileQueries, view.size, n_threads, Within<float>(radius),
       [&](int64_t q, auto& hits) { lists[q] = std::move(hits); });
  return join_rows(lists);
}

}  // namespace rankhash
