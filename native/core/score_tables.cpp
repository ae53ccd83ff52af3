#include "core/score_tables.hpp"

#include "core/score_scan.hpp"

namespace rankhash {
namespace {

constexpr int64_t kTileQueries = 64;
constexpr float kInfinity = std::numeric_limits<float>::infinity();

// Tiles of queries for TiledSearch.
class ScoreTopK {
 public:
  using Distance = float;
  static constexpr float kNoLimit = kInfinity;

  ScoreTopK(const CodesView& view, const float* tables, int64_t k)
      : view_(view), plan_(view.layout), tables_(tables), k_(k) {}

  void sample(int64_t q, int64_t n, const SamplePlan& plan, float* limits) const {
    ScoreScan<FloatTopK> scan(view_, plan_, table(q), n, FloatTopK(plan.k));
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
  void run(int64_t q, int64_t n, const float* limits, int64_t first_block, int64_t last_block, const Take& take) const {
    ScoreScan<FloatTopK> scan(view_, plan_, table(q), n, FloatTopK(k_));
    set_limits(scan, n, k_, limits);
    scan.expect_hits(static_cast<double>(view_.n_blocks()) / k_);
    scan.scan(first_block, last_block);
    for (int64_t i = 0; i < n; ++i) take(i, scan.collector(i).finish());
  }

 private:
  void set_limits(ScoreScan<FloatTopK>& scan, int64_t n, int64_t k, const float* limits) const {
    for (int64_t i = 0; i < n; ++i)
      if (limits[i] != kNoLimit) scan.set_collector(i, FloatTopK(k, limits[i]));
  }

  const float* table(int64_t q) const { return tables_ + q * view_.layout.n_symbols * view_.layout.arity; }

  const CodesView& view_;
  ColumnPlan plan_;
  const float* tables_;
  int64_t k_;
};

// All codes within a radius.
class ScoreRadius {
 public:
  using Distance = float;
  static constexpr float kNoLimit = kInfinity;

  ScoreRadius(const CodesView& view, const float* tables, float radius)
      : view_(view), plan_(view.layout), tables_(tables), radius_(radius) {}

  void sample(int64_t, int64_t, const SamplePlan&, float*) const {}
  template <class Take>
  void run(int64_t q, int64_t n, const float*, int64_t first_block, int64_t last_block, const Take& take) const {
    const float* table = tables_ + q * view_.layout.n_symbols * view_.layout.arity;
    ScoreScan<Within<float>> scan(view_, plan_, table, n, Within<float>(radius_));
    scan.scan(first_block, last_block);
    for (int64_t i = 0; i < n; ++i) take(i, scan.collector(i).finish());
  }

 private:
  const CodesView& view_;
  ColumnPlan plan_;
  const float* tables_;
  float radius_;
};

}  // namespace

void search_scores(const CodesView& view, const float* tables, int64_t n, int64_t k, int n_threads, int64_t* ids,
                   float* distances) {
  const int64_t most = std::max<int64_t>(1, std::min(k, view.size));
  const ScoreTopK search(view, tables, most);
  TiledSearch(view, search, n, tile_for(most, kTileQueries), most, n_threads).run([&](int64_t q, const auto& hits) {
    write_row(hits, k, ids + q * k, distances + q * k);
  });
}

RadiusHits search_scores_radius(const CodesView& view, const float* tables, int64_t n, float radius, int n_threads) {
  HitLists<float> lists(n);
  const ScoreRadius search(view, tables, radius);
  TiledSearch(view, search, n, kTileQueries, view.size, n_threads).run([&](int64_t q, auto& hits) {
    lists[q] = std::move(hits);
  });
  return join_rows(lists);
}

}  // namespace rankhash
