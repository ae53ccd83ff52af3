// Cuts a search into tasks (some queries × some blocks) and puts the answers together.
#pragma once
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

// run(first query, queries, first block, last block) gives sorted hits for each of its queries; emit(query, hits) gets
// the best `most` of each query, from any thread.
template <class Distance, class Run, class Emit>
void search_tiles(const CodesView& view, int64_t n_queries, int64_t tile, int64_t most, int n_threads, const Run& run,
                  const Emit& emit) {
  const int64_t n_blocks = view.n_blocks();
  const TaskGrid grid = make_grid(n_blocks, n_queries, tile, n_threads);
  const auto queries_of = [&](int64_t t) { return std::min(tile, n_queries - t * tile); };
  std::vector<HitLists<Distance>> parts(grid.n_tiles * grid.n_ranges);

  parallel_for(grid.n_tiles * grid.n_ranges, n_threads, [&](int64_t task) {
    const int64_t t = task / grid.n_ranges, range = task % grid.n_ranges;
    HitLists<Distance> lists = run(t * tile, queries_of(t), n_blocks * range / grid.n_ranges,
                                   n_blocks * (range + 1) / grid.n_ranges);
    if (grid.n_ranges > 1) {
      parts[task] = std::move(lists);
      return;
    }
    for (size_t i = 0; i < lists.size(); ++i) emit(t * tile + i, lists[i]);
  });
  if (grid.n_ranges == 1) return;

  parallel_for(grid.n_tiles, n_threads, [&](int64_t t) {
    for (int64_t i = 0; i < queries_of(t); ++i) {
      std::vector<Hit<Distance>> all;
      for (int64_t range = 0; range < grid.n_ranges; ++range) {
        auto& part = parts[t * grid.n_ranges + range][i];
        const auto middle = all.insert(all.end(), part.begin(), part.end());
        std::inplace_merge(all.begin(), middle, all.end());
        std::vector<Hit<Distance>>().swap(part);
      }
      if (static_cast<int64_t>(all.size()) > most) all.resize(most);
      emit(t * tile + i, all);
    }
  });
}

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
