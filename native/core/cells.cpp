#include "core/cells.hpp"

#include <cmath>

#include "core/cell_query.hpp"
#include "core/threads.hpp"

namespace rankhash {
namespace {

constexpr int64_t kTileQueries = 126;               // panel_dots takes six of them at once
constexpr int kMoreTimes = 2, kMoreCandidates = 4;  // searches again, with so many times the candidates

int64_t panels_of(int64_t rows) { return (rows + kPanel - 1) / kPanel; }

// What the queries of a tile share. A thread keeps it for its next tile: new memory would be filled with zeros first.
struct TileRoom {
  AlignedVector<float> scores, tables, along;
  std::vector<float> keys;
  std::vector<int32_t> places;

  void fit(const CellsView& cells, int64_t count) {
    const auto hold = [](auto& room, int64_t size) {
      if (static_cast<int64_t>(room.size()) < size) room.resize(size);
    };
    hold(scores, count * panels_of(cells.n_cells) * kPanel);
    hold(tables, count * cells.n_symbols * kPanel);
    hold(along, count * cells.n_axes);
    hold(keys, cells.n_cells);
    hold(places, cells.n_cells + 32);
  }
};

struct Visit {
  int cell;
  int query;
  float key;
};

// Products of queries with all rows of the decoder, kPanel per symbol, from their products with the axes.
void fill_tables(const CellsView& cells, const float* points, int64_t count, float* along, float* tables) {
  const Kernels& kernels = active_kernels();
  const int64_t width = cells.n_axes, table = static_cast<int64_t>(cells.n_symbols) * kPanel;
  kernels.panel_dots(cells.axes, panels_of(width), cells.depth, points, count, along, width);
  for (int64_t q = 0; q < count; ++q)
    for (int s = 0; s < cells.n_symbols; ++s) {
      const int first = cells.first_axis[s];
      kernels.panel_dots(cells.decoder + static_cast<int64_t>(first) * kPanel, 1, cells.first_axis[s + 1] - first,
                         along + q * width + first, 1, tables + q * table + s * kPanel, kPanel);
    }
}

void scan_alone(CellQuery& query) {
  const std::vector<Probe>& probes = query.probes();
  for (size_t i = 0; i < probes.size(); ++i) {
    if (i + 1 < probes.size()) query.prefetch(probes[i + 1].cell);
    query.scan(probes[i]);
    if (i % 1024 == 0) check_interrupt();
  }
}

// All cells that some query scans, each for one query after another, so that a cell is read from memory once per tile.
void scan_by_cell(std::vector<CellQuery>& queries, int n_cells) {
  if (queries.size() == 1) return scan_alone(queries[0]);
  std::vector<int64_t> starts(n_cells + 1);
  for (const CellQuery& query : queries)
    for (const auto& probe : query.probes()) ++starts[probe.cell + 1];
  for (int c = 0; c < n_cells; ++c) starts[c + 1] += starts[c];
  std::vector<Visit> visits(starts[n_cells]);
  for (size_t q = 0; q < queries.size(); ++q)
    for (const auto& probe : queries[q].probes())
      visits[starts[probe.cell]++] = {probe.cell, static_cast<int>(q), probe.key};
  for (size_t i = 0; i < visits.size(); ++i) {
    size_t next = i + 1;
    if (next < visits.size() && visits[next].cell != visits[i].cell)
      queries[visits[next].query].prefetch(visits[next].cell);
    queries[visits[i].query].scan({visits[i].key, visits[i].cell});
    if (i % 1024 == 0) check_interrupt();
  }
}

}  // namespace

CellStats search_cells(const CellsView& cells, const RowsView& rows, const RowIds& ids, const CellSearch& search,
                       const float* points, const float* queries, int64_t n, int64_t* out_ids, float* out_distances) {
  const int64_t tile = std::clamp<int64_t>((n + search.n_threads - 1) / search.n_threads, 1, kTileQueries);
  const int64_t n_tiles = (n + tile - 1) / tile;
  std::vector<CellStats> stats(n_tiles);
  parallel_for(n_tiles, search.n_threads, [&](int64_t t) {
    const int64_t first = t * tile, count = std::min(tile, n - first);
    const int64_t width = panels_of(cells.n_cells) * kPanel, table = static_cast<int64_t>(cells.n_symbols) * kPanel;
    static thread_local TileRoom room;
    room.fit(cells, count);
    const float* tile_points = points + first * cells.depth;
    active_kernels().panel_dots(cells.centroids, panels_of(cells.n_cells), cells.depth, tile_points, count,
                                room.scores.data(), width);
    fill_tables(cells, tile_points, count, room.along.data(), room.tables.data());
    std::vector<CellQuery> tile_of_queries(count, CellQuery(cells, rows, ids, search));
    const auto begin = [&](CellQuery& query, int64_t q) {
      query.begin({tile_points + q * cells.depth, queries + (first + q) * cells.depth, room.scores.data() + q * width,
                   room.tables.data() + q * table},
                  {room.keys.data(), room.places.data()});
    };
    for (int64_t q = 0; q < count; ++q) begin(tile_of_queries[q], q);
    scan_by_cell(tile_of_queries, cells.n_cells);
    tile_of_queries[0].prepare();
    for (int64_t q = 0; q < count; ++q) {
      if (q + 1 < count) tile_of_queries[q + 1].prepare();
      int64_t* found = out_ids + (first + q) * search.k;
      float* distances = out_distances + (first + q) * search.k;
      bool enough = tile_of_queries[q].finish(found, distances);
      stats[t] += tile_of_queries[q].stats();
      CellSearch wider = search;
      for (int i = 0; i < kMoreTimes && !enough; ++i) {
        wider.n_candidates *= kMoreCandidates;
        CellQuery again(cells, rows, ids, wider);
        begin(again, q);
        scan_alone(again);
        again.prepare();
        enough = again.finish(found, distances);
        stats[t] += again.stats();
      }
      const int64_t last = search.n_expected - 1;
      stats[t].incomplete += last >= 0 && (found[last] < 0 || distances[last] > search.beyond);
    }
  });
  CellStats sum;
  for (const CellStats& s : stats) sum += s;
  return sum;
}

void assign_cells(const float* x, int64_t n, int64_t depth, const float* centroids, const float* squares, int n_cells,
                  int n_threads, int32_t* cells, float* scores) {
  constexpr int64_t kTile = 48;
  parallel_for((n + kTile - 1) / kTile, n_threads, [&](int64_t t) {
    const int64_t first = t * kTile, count = std::min(kTile, n - first);
    float best[kTile], dots[kTile * kPanel];
    std::fill(best, best + count, std::numeric_limits<float>::infinity());
    for (int64_t p = 0; p < panels_of(n_cells); ++p) {
      active_kernels().panel_dots(centroids + p * depth * kPanel, 1, depth, x + first * depth, count, dots, kPanel);
      const int last = static_cast<int>(std::min<int64_t>(kPanel, n_cells - p * kPanel));
      for (int64_t q = 0; q < count; ++q)
        for (int r = 0; r < last; ++r) {
          const float score = squares[p * kPanel + r] + dots[q * kPanel + r];
          if (score < best[q]) best[q] = score, cells[first + q] = static_cast<int32_t>(p * kPanel + r);
        }
    }
    std::copy(best, best + count, scores + first);
  });
}

}  // namespace rankhash
