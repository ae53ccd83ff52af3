#include "core/hamming.hpp"

#include "core/hamming_scan.hpp"

namespace rankhash {
namespace {

constexpr int64_t kTileQueries = 64;

template <class Collector, class Emit>
void scan(const CodesView& view, const uint8_t* queries, int64_t n, int64_t tile, int64_t most, int n_threads,
          const Collector& empty, const Emit& emit) {
  const auto run = [&](int64_t q, int64_t count, int64_t first, int64_t last) {
    return HammingScan<Collector>(view, queries + q * view.layout.n_bytes, count, empty).run(first, last);
  };
  search_tiles<int32_t>(view, n, tile, most, n_threads, run, emit);
}

}  // namespace

void search_hamming(const CodesView& view, const uint8_t* queries, int64_t n, int64_t k, int n_threads, int64_t* ids,
                    float* distances) {
  const int64_t most = std::max<int64_t>(1, std::min(k, view.size));
  scan(view, queries, n, tile_for(most, kTileQueries), most, n_threads, CountedTopK(most, view.layout.n_symbols + 1),
       [&](int64_t q, const auto& hits) { write_row(hits, k, ids + q * k, distances + q * k); });
}

RadiusHits search_hamming_radius(const CodesView& view, const uint8_t* queries, int64_t n, int radius, int n_threads) {
  HitLists<int32_t> lists(n);
  scan(view, queries, n, kTileQueries, view.size, n_threads, Within<int32_t>(std::min(radius, view.layout.n_symbols)),
       [&](int64_t q, auto& hits) { lists[q] = std::move(hits); });
  return join_rows(lists);
}

}  // namespace rankhash
