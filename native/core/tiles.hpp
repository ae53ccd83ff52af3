// Cuts a search into tasks (some queries × some blocks) and puts the answers together.
#pragma once
#include <cmath>
#include <vector>

#include "core/threads.hpp"
#include "core/view.hpp"

namespace rankhash {

template <class Distance>
using HitLists = std::vector<std::vector<Hit<Distance>>>;

struct TaskGrid {
  int64_t n_tiles;
  int64_t n_ranges;
};

// Whole queries are the cheapest to share out; blocks are split when there are too few of them to keep all threads busy
// to the end.
inline TaskGrid make_grid(int64_t n_blocks, int64_t n_queries, int64_t tile, int n_threads) {
  const int64_t n_tiles = (n_queries + tile - 1) / tile, wanted = 4 * n_threads;
  if (n_threads == 1 || n_tiles == 0 || n_tiles >= wanted) return {n_tiles, 1};
  return {n_tiles, std::max<int64_t>(1, std::min((wanted + n_tiles - 1) / n_tiles, n_blocks / 32))};
}

// How a sample of blocks estimates the limit of a search for many neighbours. Without it about
// most · ln(n / most) candidates are taken; with it hardly more than `most`.
struct SamplePlan {
  int64_t n_runs;   // runs of kRun blocks at equal distances; 0: no sample
  int64_t k;        // the k-th best of the sample is the limit
  double expected;  // how many of the wanted neighbours the sample is expected to hold

  static constexpr int64_t kRun = 2;

  // Of a sample that is kept, so that the search goes through the other blocks only, 1 / kKeptShare; else 1 / kShare.
  static constexpr int64_t kShare = 32, kKeptShare = 8;

  // Fewer queries are bound by memory, which is read fastest in order: their sample is not kept.
  static constexpr int64_t kLeastQueries = 8;

  static SamplePlan make(int64_t n_blocks, int64_t most, int64_t share) {
    constexpr int64_t kLeastNeighbors = 32, kLeastRuns = 8;
    const int64_t n_runs = std::max(kLeastRuns, n_blocks / (share * kRun));
    if (most < kLeastNeighbors || n_runs * kRun * 8 > n_blocks || most * 8 > n_blocks * kBlock) return {};
    return of(n_runs, static_cast<double>(most) * n_runs * kRun / n_blocks);
  }

  // A smaller sample, whose limit saves this one most of its own candidates.
  SamplePlan part() const {
    constexpr int64_t kPart = 8, kLeastRuns = 4;
    return n_runs < kPart * kLeastRuns ? SamplePlan{} : of(n_runs / kPart, expected / kPart);
  }

  // scan(first block, last block) for every run, while the next one is fetched.
  template <class Scan>
  void visit(const CodesView& view, const Scan& scan) const {
    for (int64_t run = 0; run < n_runs; ++run) {
      if (run + 1 < n_runs) view.fetch(first(view, run + 1), first(view, run + 1) + kRun);
      scan(first(view, run), first(view, run) + kRun);
    }
  }

  // The same for the blocks between the runs.
  template <class Scan>
  void visit_others(const CodesView& view, const Scan& scan) const {
    for (int64_t run = 0; run < n_runs; ++run) scan(first(view, run) + kRun, first(view, run + 1));
  }

 private:
  int64_t first(const CodesView& view, int64_t run) const { return view.n_blocks() * run / n_runs; }

  static SamplePlan of(int64_t n_runs, double expected) {
    return {n_runs, static_cast<int64_t>(expected + 3 * std::sqrt(expected) + 2), expected};
  }
};

// A search of tiles of queries. Search gives
//   Distance, kNoLimit
//   sample(first query, queries, plan, limits): sets the limits of the queries; those that are there bound the sample,
//   and kNoLimit stands where it holds too few codes within them
//   run(first query, queries, limits, first block, last block, take): take(i, hits) gets the sorted hits of query
//   `first query + i` within its limit
//   kKeepsSample: whether it can begin with blocks from anywhere; then also
//   run_kept(first query, queries, plan, limits, take): the same over all blocks, first those of the plan, after which
//   it lowers the limits
template <class Search>
class TiledSearch {
 public:
  using Distance = typename Search::Distance;

  TiledSearch(const CodesView& view, const Search& search, int64_t n_queries, int64_t tile, int64_t most, int n_threads)
      : search_(search),
        n_queries_(n_queries),
        tile_(tile),
        most_(most),
        n_threads_(n_threads),
        n_blocks_(view.n_blocks()),
        grid_(make_grid(n_blocks_, n_queries, tile, n_threads)),
        kept_(grid_.n_ranges == 1 && Search::kKeepsSample && n_queries >= SamplePlan::kLeastQueries
                  ? make_plan(SamplePlan::kKeptShare)
                  : SamplePlan{}),
        sample_(kept_.n_runs ? kept_.part() : make_plan(SamplePlan::kShare)),
        limits_(n_queries, Search::kNoLimit) {}

  // emit(query, hits) gets the best `most` of each query, from any thread.
  template <class Emit>
  void run(const Emit& emit) {
    if (grid_.n_ranges > 1) return run_ranges(emit);
    parallel_for(grid_.n_tiles, n_threads_, [&](int64_t t) {
      find_limits(t);
      const auto take = [&](int64_t i, Hits hits) { finish(t * tile_ + i, hits, emit); };
      if constexpr (Search::kKeepsSample)
        if (kept_.n_runs) return search_.run_kept(t * tile_, queries_of(t), kept_, limits_.data() + t * tile_, take);
      scan(t, 0, n_blocks_, take);
    });
  }

 private:
  using Hits = std::vector<Hit<Distance>>;

  SamplePlan make_plan(int64_t share) const { return SamplePlan::make(n_blocks_, most_, share); }
  int64_t queries_of(int64_t t) const { return std::min(tile_, n_queries_ - t * tile_); }

  void find_limits(int64_t t) {
    for (const SamplePlan& plan : {sample_.part(), sample_})
      if (plan.n_runs) search_.sample(t * tile_, queries_of(t), plan, limits_.data() + t * tile_);
  }

  template <class Take>
  void scan(int64_t t, int64_t first_block, int64_t last_block, const Take& take) const {
    search_.run(t * tile_, queries_of(t), limits_.data() + t * tile_, first_block, last_block, take);
  }

  template <class Emit>
  void run_ranges(const Emit& emit) {
    const int64_t n_ranges = grid_.n_ranges;
    std::vector<HitLists<Distance>> parts(grid_.n_tiles * n_ranges);
    parallel_for(grid_.n_tiles, n_threads_, [&](int64_t t) { find_limits(t); });
    parallel_for(grid_.n_tiles * n_ranges, n_threads_, [&](int64_t task) {
      const int64_t range = task % n_ranges;
      scan(task / n_ranges, n_blocks_ * range / n_ranges, n_blocks_ * (range + 1) / n_ranges,
           [&](int64_t, Hits hits) { parts[task].push_back(std::move(hits)); });
    });
    parallel_for(grid_.n_tiles, n_threads_, [&](int64_t t) {
      for (int64_t i = 0; i < queries_of(t); ++i) {
        Hits all;
        for (int64_t range = 0; range < n_ranges; ++range) {
          Hits& part = parts[t * n_ranges + range][i];
          const auto middle = all.insert(all.end(), part.begin(), part.end());
          std::inplace_merge(all.begin(), middle, all.end());
          Hits().swap(part);
        }
        finish(t * tile_ + i, all, emit);
      }
    });
  }

  // A limit that let too few codes pass was wrong: the query is searched again without one.
  template <class Emit>
  void finish(int64_t q, Hits& hits, const Emit& emit) const {
    if (static_cast<int64_t>(hits.size()) < most_ && limits_[q] != Search::kNoLimit) {
      const Distance none = Search::kNoLimit;
      search_.run(q, 1, &none, 0, n_blocks_, [&](int64_t, Hits found) { hits = std::move(found); });
    }
    if (static_cast<int64_t>(hits.size()) > most_) hits.resize(most_);
    emit(q, hits);
  }

  const Search& search_;
  int64_t n_queries_, tile_, most_;
  int n_threads_;
  int64_t n_blocks_;
  TaskGrid grid_;
  SamplePlan kept_, sample_;
  std::vector<Distance> limits_;
};

// Queries that are searched together, so that their candidates take at most about 64 MB.
inline int64_t tile_for(int64_t k, int64_t largest) {
  return std::clamp<int64_t>((int64_t{4} << 20) / (2 * k + 64), 1, largest);
}

// Writes one row of k results; missing places have id -1 and an infinite distance.
template <class Distance>
void write_row(const std::vector<Hit<Distance>>& hits, int64_t k, int64_t* ids, float* distances) {
  const int64_t n = std::min<int64_t>(k, hits.size());
  for (int64_t i = 0; i < n; ++i) ids[i] = hits[i].id, distances[i] = static_cast<float>(hits[i].distance);
  std::fill(ids + n, ids + k, int64_t{-1});
  std::fill(distances + n, distances + k, std::numeric_limits<float>::infinity());
}

template <class Distance>
RadiusHits join_rows(const HitLists<Distance>& lists) {
  RadiusHits out;
  out.offsets.push_back(0);
  for (const auto& hits : lists) out.offsets.push_back(out.offsets.back() + hits.size());
  out.ids.reserve(out.offsets.back());
  out.distances.reserve(out.offsets.back());
  for (const auto& hits : lists)
    for (const auto& hit : hits) out.ids.push_back(hit.id), out.distances.push_back(static_cast<float>(hit.distance));
  return out;
}

}  // namespace rankhash
