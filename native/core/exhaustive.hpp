// Exhaustive searches over either kind of scan: the k nearest codes, or all codes within a radius.
//
// Scans gives
//   Distance, kNoLimit
//   TopK: a collector of the k nearest codes; TopK::Record, TopK::capacity(k): the memory that it needs
//   top_k(k, limit, room): one for the codes within the limit, with room for capacity(k) records
//   scan(first query, collectors): a scan for as many queries as there are collectors
//   kAnyOrder: whether a scan may go through blocks in any order; then TopK and the scan have lower_limit(s)
#pragma once
#include <memory>

#include "core/tiles.hpp"

namespace rankhash {

inline constexpr int64_t kTileQueries = 64;

// The k nearest codes of tiles of queries, for TiledSearch.
template <class Scans>
class TopKSearch {
 public:
  using Distance = typename Scans::Distance;
  static constexpr Distance kNoLimit = Scans::kNoLimit;
  static constexpr bool kKeepsSample = Scans::kAnyOrder;

  TopKSearch(const CodesView& view, const Scans& scans, int64_t k) : view_(view), scans_(scans), k_(k) {}

  void sample(int64_t q, int64_t n, const SamplePlan& plan, Distance* limits) const {
    const Room room(n * TopK::capacity(plan.k));
    auto scan = scans_.scan(q, collectors(n, plan.k, limits, room));
    scan.expect_hits(1);
    plan.visit(view_, [&](int64_t first, int64_t last) { scan.scan(first, last); });
    for (int64_t i = 0; i < n; ++i) limits[i] = scan.collector(i).last_distance(kNoLimit);
  }

  template <class Take>
  void run(int64_t q, int64_t n, const Distance* limits, int64_t first_block, int64_t last_block,
           const Take& take) const {
    const Room room(n * TopK::capacity(k_));
    auto scan = scans_.scan(q, collectors(n, k_, limits, room));
    scan.expect_hits(static_cast<double>(view_.n_blocks()) / k_);
    scan.scan(first_block, last_block);
    for (int64_t i = 0; i < n; ++i) take(i, scan.collector(i).finish());
  }

  template <class Take>
  void run_kept(int64_t q, int64_t n, const SamplePlan& plan, Distance* limits, const Take& take) const {
    const Room room(n * TopK::capacity(k_));
    auto scan = scans_.scan(q, collectors(n, k_, limits, room));
    const auto part = [&](int64_t first, int64_t last) { scan.scan(first, last); };
    scan.expect_hits(1);
    plan.visit(view_, part);
    for (int64_t i = 0; i < n; ++i) limits[i] = scan.collector(i).lower_limit(plan.k);
    scan.lower_limits();
    scan.expect_hits(static_cast<double>(view_.n_blocks()) / k_);
    plan.visit_others(view_, part);
    for (int64_t i = 0; i < n; ++i) take(i, scan.collector(i).finish());
  }

 private:
  using TopK = typename Scans::TopK;
  // The memory of all collectors of a scan, uninitialised.
  struct Room {
    explicit Room(int64_t n) : records(new typename TopK::Record[n]) {}
    std::unique_ptr<typename TopK::Record[]> records;
  };

  std::vector<TopK> collectors(int64_t n, int64_t k, const Distance* limits, const Room& room) const {
    std::vector<TopK> made;
    made.reserve(n);
    for (int64_t i = 0; i < n; ++i)
      made.push_back(scans_.top_k(k, limits[i], room.records.get() + i * TopK::capacity(k)));
    return made;
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
  static constexpr bool kKeepsSample = false;

  RadiusSearch(const Scans& scans, Distance radius) : scans_(scans), radius_(radius) {}

  void sample(int64_t, int64_t, const SamplePlan&, Distance*) const {}
  template <class Take>
  void run(int64_t q, int64_t n, const Distance*, int64_t first_block, int64_t last_block, const Take& take) const {
    auto scan = scans_.scan(q, std::vector(n, Within<Distance>(radius_)));
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
