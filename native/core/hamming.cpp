#include "core/hamming.hpp"

#include "core/hamming_scan.hpp"

namespace rankhash {
namespace {

constexpr int64_t kTileQueries = 64;

// Tiles of queries for TiledSearch.
class HammingTopK {
 public:
  using Distance = int32_t;
  static constexpr int32_t kNoLimit = std::numeric_limits<int32_t>::max();

  HammingTopK(const CodesView& view, const uint8_t* queries, int64_t k) : view_(view), queries_(queries), k_(k) {}

  void sample(int64_t q, int64_t n, const SamplePlan& plan, int32_t* limits) const {
    HammingScan<CountedTopK> scan(view_, row(q), n, CountedTopK(plan.k, n_distances(), view_.ids));
    set_limits(scan, n, plan.k, limits);
    for (int64_t run = 0; run < plan.n_runs; ++run) {
      const int64_t first = plan.first_block(view_.n_blocks(), run);
      scan.scan(first, std::min(first + SamplePlan::kRun, view_.n_blocks()));
    }
    for (int64_t i = 0; i < n; ++i) {
      const auto hits = scan.collector(i).finish();
      limits[i] = static_cast<int64_t>(hits.size()) < plan.k ? kNoLimit : hits.back().distance;
    }
  }

  template <class Take>
  void run(int64_t q, int64_t n, const int32_t* limits, int64_t first_block, int64_t last_block,
           const Take& take) const {
    HammingScan<CountedTopK> scan(view_, row(q), n, CountedTopK(k_, n_distances(), view_.ids));
    set_limits(scan, n, k_, limits);
    scan.expect_hits(static_cast<double>(view_.n_blocks()) / k_);
    scan.scan(first_block, last_block);
    for (int64_t i = 0; i < n; ++i) take(i, scan.collector(i).finish());
  }

 private:
  void set_limits(HammingScan<CountedTopK>& scan, int64_t n, int64_t k, const int32_t* limits) const {
    for (int64_t i = 0; i < n; ++i)
      if (limits[i] != kNoLimit) scan.collector(i) = CountedTopK(k, n_distances(), view_.ids, limits[i] + 1);
  }

  int n_distances() const { return view_.layout.n_symbols + 1; }
  const uint8_t* row(int64_t q) const { return queries_ + q * view_.layout.n_bytes; }

  const CodesView& view_;
  const uint8_t* queries_;
  int64_t k_;
};

// All codes within a radius.
class HammingRadius {
 public:
  using Distance = int32_t;
  static constexpr int32_t kNoLimit = std::numeric_limits<int32_t>::max();

  HammingRadius(const CodesView& view, const uint8_t* queries, int radius)
      : view_(view), queries_(queries), radius_(std::min(radius, view.layout.n_symbols)) {}

  void sample(int64_t, int64_t, const SamplePlan&, int32_t*) const {}
  template <class Take>
  void run(int64_t q, int64_t n, const int32_t*, int64_t first_block, int64_t last_block, const Take& take) const {
    const uint8_t* row = queries_ + q * view_.layout.n_bytes;
    HammingScan<Within<int32_t>> scan(view_, row, n, Within<int32_t>(radius_));
    scan.scan(first_block, last_block);
    for (int64_t i = 0; i < n; ++i) take(i, scan.collector(i).finish());
  }

 private:
  const CodesView& view_;
  const uint8_t* queries_;
  int radius_;
};

}  // namespace

void search_hamming(const CodesView& view, const uint8_t* queries, int64_t n, int64_t k, int n_threads, int64_t* ids,
                    float* distances) {
  const int64_t most = std::max<int64_t>(1, std::min(k, view.size));
  const HammingTopK search(view, queries, most);
  TiledSearch(view, search, n, tile_for(most, kTileQueries), most, n_threads).run([&](int64_t q, const auto& hits) {
    write_row(hits, k, ids + q * k, distances + q * k);
  });
}

RadiusHits search_hamming_radius(const CodesView& view, const uint8_t* queries, int64_t n, int radius, int n_threads) {
  HitLists<int32_t> lists(n);
  const HammingRadius search(view, queries, radius);
  TiledSearch(view, search, n, kTileQueries, view.size, n_threads).run([&](int64_t q, auto& hits) {
    lists[q] = std::move(hits);
  });
  return join_rows(lists);
}

}  // namespace rankhash
