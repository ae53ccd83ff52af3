#include "core/score_tables.hpp"

#include "core/exhaustive.hpp"
#include "core/score_scan.hpp"

namespace rankhash {
namespace {

// Scans of score tables, for exhaustive.hpp.
class ScoreScans {
 public:
  using Distance = float;
  static constexpr float kNoLimit = std::numeric_limits<float>::infinity();
  static constexpr bool kAnyOrder = true;

  ScoreScans(const CodesView& view, const float* tables) : view_(view), plan_(view.layout), tables_(tables) {}

  using TopK = FloatTopK;
  static FloatTopK top_k(int64_t k, float limit, FloatHit* room) { return FloatTopK(k, limit, room); }

  template <class Collector>
  ScoreScan<Collector> scan(int64_t q, std::vector<Collector> collectors) const {
    const float* table = tables_ + q * view_.layout.n_symbols * view_.layout.arity;
    return ScoreScan<Collector>(view_, plan_, table, std::move(collectors));
  }

 private:
  const CodesView& view_;
  ColumnPlan plan_;
  const float* tables_;
};

}  // namespace

void search_scores(const CodesView& view, const float* tables, int64_t n, int64_t k, int n_threads, int64_t* ids,
                   float* distances) {
  search_top_k(view, ScoreScans(view, tables), n, k, n_threads, ids, distances);
}

RadiusHits search_scores_radius(const CodesView& view, const float* tables, int64_t n, float radius, int n_threads) {
  return search_radius(view, ScoreScans(view, tables), n, radius, n_threads);
}

}  // namespace rankhash
