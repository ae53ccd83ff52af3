// Exhaustive searches over either kind of scan: the k nearest codes, or all codes within a radius.
//
// Scans gives
//   Distance, kNoLimit
//   top_k(k), top_k(k, limit): a collector of the k nearest codes, or of those within the limit
//   scan(first query, queries, collector): a scan for these queries, each with a copy of the collector
//   set_collector(scan, i, collector): replaces the collector of query i
#pragma once
#include "core/tiles.hpp"

namespace rankhash {

inline constexpr int64_t kTileQueries = 64;

// The k nearest codes of tiles of queries, for TiledSearch.
template <class Scans>
class TopKSearch {
 public:
  using Distance = typename Scans::Distance;
  static constexpr Distance kNoLimit = Scans::kNoLimit;

  TopKSearch(const CodesView& view, const Scans& scans, int64_t k) : view_(view), scans_(scans), k_(k) {}

  void sample(int64_t q, int64_t n, const SamplePlan& plan, Distance* limits) const {
    auto scan = scans_.scan(q, n, scans_.top_k(plan.k));
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
  void run(int64_t q, int64_t n, const Distance* limits, int64_t first_block, int64_t last_block,
           const Take& take) const {
    auto scan = scans_.scan(q, n, scans_.top_k(k_));
    set_limits(scan, n, k_, limits);
    scan.expect_hits(static_cast<double>(view_.n_blocks()) / k_);
    scan.scan(first_block, last_block);
    for (int64_t i = 0; i < n; ++i) take(i, scan.collector(i).finish());
  }

 private:
  template <class Scan>
  void set_limits(Scan& scan, int64_t n, int64_t k, const Distance* limits) const {
    for (int64_t i = 0; i < n; ++i)
      if (limits[i] != kNoLimit) scans_.set_collector(scan, i, scans_.top_k(k, limits[i]));
  }

  const CodesView& view_;
  const Scans& scans_;
  int64_t k_;
};

// All codes within a radius of tiles of queries, for TiledSearch.
template <class Scans>
class RadiusSearch {
 public:
  using Distance = typename Scans::Distance;
  static constexpr Distance kNoLimit = Scans::kNoLimit;

  RadiusSearch(const Scans& scans, Distance radius) : scans_(scans), radius_(radius) {}

  void sample(int64_t, int64_t, const SamplePlan&, Distance*) const {}
  template <class Take>
  void run(int64_t q, int64_t n, const Distance*, int64_t first_block, int64_t last_block, const Take& take) const {
    auto scan = scans_.scan(q, n, Within<Distance>(radius_));
    scan.scan(first_block, last_block);
    for (int64_t i = 0; i < n; ++i) take(i, scan.collector(i).finish());
  }

 private:
  const Scans& scans_;
  Distance radius_;
};

// Writes the k nearest codes of n queries: ids and distances are n × k.
template <class Scans>
void search_top_k(const CodesView& view, const Scans& scans, int64_t n, int64_t k, int n_threads, int64_t* ids,
                  float* distances) {
  const int64_t most = std::max<int64_t>(1, std::min(k, view.size));
  const TopKSearch search(view, scans, most);
  TiledSearch(view, search, n, tile_for(most, kTileQueries), most, n_threads).run([&](int64_t q, const auto& hits) {
    write_row(hits, k, ids + q * k, distances + q * k);
  });
}

template <class Scans>
RadiusHits search_radius(const CodesView& view, const Scans& scans, int64_t n, typename Scans::Distance radius,
                         int n_threads) {
  HitLists<typename Scans::Distance> lists(n);
  const RadiusSearch search(scans, radius);
  TiledSearch(view, search, n, kTileQueries, view.size, n_threads).run([&](int64_t q, auto& hits) {
    lists[q] = std::move(hits);
  });
  return join_rows(lists);
}

}  // namespace rankhash
