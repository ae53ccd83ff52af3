#include "core/hamming.hpp"

#include "core/counted_topk.hpp"
#include "core/exhaustive.hpp"
#include "core/hamming_scan.hpp"

namespace rankhash {
namespace {

// Scans of packed query rows, for exhaustive.hpp.
class HammingScans {
 public:
  using Distance = int32_t;
  static constexpr int32_t kNoLimit = std::numeric_limits<int32_t>::max();
  static constexpr bool kAnyOrder = false;  // of equal distances the smaller positions come first

  HammingScans(const CodesView& view, const uint8_t* queries) : view_(view), queries_(queries) {}

  using TopK = CountedTopK;
  CountedTopK top_k(int64_t k, int32_t limit, uint64_t* room) const {
    return CountedTopK(k, n_distances(), view_.ids, limit == kNoLimit ? n_distances() : limit + 1, room);
  }

  template <class Collector>
  HammingScan<Collector> scan(int64_t q, std::vector<Collector> collectors) const {
    return HammingScan<Collector>(view_, queries_ + q * view_.layout.n_bytes, std::move(collectors));
  }

 private:
  int n_distances() const { return view_.layout.n_symbols + 1; }

  const CodesView& view_;
  const uint8_t* queries_;
};

}  // namespace

void search_hamming(const CodesView& view, const uint8_t* queries, int64_t n, int64_t k, int n_threads, int64_t* ids,
                    float* distances) {
  search_top_k(view, HammingScans(view, queries), n, k, n_threads, ids, distances);
}

RadiusHits search_hamming_radius(const CodesView& view, const uint8_t* queries, int64_t n, int radius, int n_threads) {
  return search_radius(view, HammingScans(view, queries), n, std::min(radius, view.layout.n_symbols), n_threads);
}

}  // namespace rankhash
