#include "core/join.hpp"

#include <atomic>
#include <bit>
#include <mutex>
#include <utility>

#include "core/codes.hpp"
#include "core/join_table.hpp"
#include "kernels/kernels.hpp"

namespace rankhash {
namespace {

struct Found {
  uint32_t first, second;
  float distance;
  bool operator<(const Found& other) const {
    return first != other.first ? first < other.first : second < other.second;
  }
};

struct TooMany {};

// State shared by all tasks of a join.
class Collected {
 public:
  explicit Collected(int64_t limit) : limit_(limit) {}

  void announce(int64_t n) {
    if (total_.fetch_add(n) + n > limit_) throw TooMany{};
  }
  void take(std::vector<Found>&& some) {
    if (some.empty()) return;
    std::lock_guard lock(mutex_);
    lists_.push_back(std::move(some));
  }
  JoinPairs in_order(int64_t begin, int64_t end, int n_threads);

 private:
  static constexpr int64_t kPairsPerBin = 4096;

  const int64_t limit_;
  std::atomic<int64_t> total_{0};
  std::mutex mutex_;
  std::vector<std::vector<Found>> lists_;
};

// A counting sort by ranges of the first member, and a comparison sort inside of each range.
JoinPairs Collected::in_order(int64_t begin, int64_t end, int n_threads) {
  int64_t n = 0;
  for (const auto& list : lists_) n += static_cast<int64_t>(list.size());
  const int64_t n_bins = std::min(n / kPairsPerBin + 1, end - begin);
  const auto bin_of = [&](const Found& pair) { return (pair.first - begin) * n_bins / (end - begin); };
  std::vector<int64_t> starts(n_bins + 2);
  for (const auto& list : lists_)
    for (const Found& pair : list) ++starts[bin_of(pair) + 2];
  for (int64_t b = 2; b < n_bins + 2; ++b) starts[b] += starts[b - 1];
  std::vector<Found> sorted(n);
  for (auto& list : lists_) {
    for (const Found& pair : list) sorted[starts[bin_of(pair) + 1]++] = pair;
    std::vector<Found>().swap(list);
  }
  JoinPairs pairs;
  pairs.first.resize(n), pairs.second.resize(n), pairs.distances.resize(n);
  parallel_for(n_bins, n_threads, [&](int64_t b) {
    std::sort(sorted.begin() + starts[b], sorted.begin() + starts[b + 1]);
    for (int64_t i = starts[b]; i < starts[b + 1]; ++i) {
      pairs.first[i] = sorted[i].first;
      pairs.second[i] = sorted[i].second;
      pairs.distances[i] = sorted[i].distance;
    }
  });
  return pairs;
}

// Compares the codes of one partition after another, with the scratch space of one thread.
class BucketJoin {
 public:
  BucketJoin(const JoinTask& task, uint64_t table, Collected& collected)
      : task_(task),
        table_(table),
        collected_(collected),
        n_words_(join_words(task.layout)),
        query_(n_words_ + 1),
        symbol_firsts_(n_words_) {
    const int b = task.layout.symbol_bits;
    for (int bit = 0; bit < task.layout.n_bits; bit += b) symbol_firsts_[bit >> 6] |= uint64_t{1} << (bit & 63);
  }

  void run(const Partitions& firsts, const Partitions& others, int64_t part) {
    const bool same = &firsts == &others;
    const int64_t n = others.size(part);
    if (!n || !firsts.size(part)) return;
    const int n_bits = std::min<int>(std::bit_width(static_cast<uint64_t>(n)), kMostBucketBits);
    others.sort(part, n_bits, others_, other_starts_);
    if (!same) firsts.sort(part, n_bits, firsts_, first_starts_);
    const HashedRows& queries = same ? others_ : firsts_;
    const std::vector<uint32_t>& starts = same ? other_starts_ : first_starts_;
    for (size_t bucket = 0; bucket < size_t{1} << n_bits; ++bucket)
      for (uint32_t i = starts[bucket]; i < starts[bucket + 1]; ++i)
        compare(queries, i, same ? i + 1 : other_starts_[bucket], other_starts_[bucket + 1]);
    collected_.announce(std::exchange(unannounced_, 0));
    collected_.take(std::exchange(found_, {}));
  }

 private:
  static constexpr int kMostBucketBits = 24;
  static constexpr int64_t kPollRows = 1 << 20;
  static constexpr int64_t kAnnounce = 4096;

  void compare(const HashedRows& queries, uint32_t i, uint32_t begin, uint32_t end) {
    if (begin >= end || queries.places[i] >= task_.end) return;
    if ((compared_ += end - begin) > kPollRows) compared_ = 0, check_interrupt();
    first_ = queries.places[i];
    std::memcpy(query_.data(), queries.rows.data() + static_cast<size_t>(i) * task_.layout.n_bytes,
                task_.layout.n_bytes);
    const uint32_t range[2] = {begin, end};
    active_kernels().compare_rows({others_.rows.data(), range, 1, task_.layout, query_.data(), symbol_firsts_.data(),
                                   n_words_, task_.max_differing + 1, this, [](void* self, const RowHit* hits, int n) {
                                     return static_cast<BucketJoin*>(self)->take(hits, n);
                                   }});
  }

  int take(const RowHit* hits, int n) {
    for (int h = 0; h < n; ++h) {
      const uint8_t* row = others_.rows.data() + static_cast<size_t>(hits[h].row) * task_.layout.n_bytes;
      if (!counted_here(row)) continue;
      const float distance = task_.weights ? weighted(row) : static_cast<float>(hits[h].distance);
      if (!(distance <= task_.radius)) continue;
      found_.push_back({first_, others_.places[hits[h].row], distance});
      if (++unannounced_ == kAnnounce) collected_.announce(std::exchange(unannounced_, 0));
    }
    return task_.max_differing + 1;
  }

  uint64_t differing(const uint8_t* row, int w) const {
    uint64_t word = 0;
    std::memcpy(&word, row + 8 * w, std::min<size_t>(8, task_.layout.n_bytes - 8 * w));
    return word ^ query_[w];
  }

  // Whether this table belongs to the first n_agree runs in which the codes agree.
  bool counted_here(const uint8_t* row) const {
    const int n_agree = std::popcount(table_);
    uint64_t first_runs = 0;
    for (int r = 0, n = 0; r < task_.n_runs && n < n_agree; ++r) {
      uint64_t differs = 0;
      for (int w = 0; w < n_words_; ++w) differs |= differing(row, w) & task_.runs[r * n_words_ + w];
      if (!differs) first_runs |= uint64_t{1} << r, ++n;
    }
    return first_runs == table_;
  }

  // The sum of the weights of the differing symbols, in their order.
  float weighted(const uint8_t* row) const {
    const int b = task_.layout.symbol_bits;
    double sum = 0;
    for (int s = 0; s < task_.layout.n_symbols; ++s) {
      const auto bits = [&](const uint8_t* from) { return row_bits(from, task_.layout.n_bytes, s * b, b); };
      if (bits(row) != bits(reinterpret_cast<const uint8_t*>(query_.data()))) sum += task_.weights[s];
    }
    return static_cast<float>(sum);
  }

  const JoinTask& task_;
  const uint64_t table_;
  Collected& collected_;
  const int n_words_;
  std::vector<uint64_t> query_, symbol_firsts_;
  uint32_t first_ = 0;
  int64_t compared_ = 0, unannounced_ = 0;
  HashedRows firsts_, others_;
  std::vector<uint32_t> first_starts_, other_starts_;
  std::vector<Found> found_;
};

// The bits of the symbols with a weight above 0.
std::vector<uint64_t> weighed_bits(const JoinTask& task) {
  std::vector<uint64_t> kept(join_words(task.layout), task.weights ? 0 : ~uint64_t{0});
  const int b = task.layout.symbol_bits;
  for (int bit = 0; task.weights && bit < task.layout.n_bits; ++bit)
    if (task.weights[bit / b] > 0) kept[bit >> 6] |= uint64_t{1} << (bit & 63);
  return kept;
}

void join_table(const JoinTask& task, uint64_t table, Partitions& firsts, Partitions& others, int bits,
                Collected& collected) {
  std::vector<uint64_t> mask(join_words(task.layout));
  for (int r = 0; r < task.n_runs; ++r)
    for (size_t w = 0; table >> r & 1 && w < mask.size(); ++w) mask[w] |= task.runs[r * mask.size() + w];
  others.spread(mask.data(), bits, task.n_threads);
  if (&firsts != &others) firsts.spread(mask.data(), bits, task.n_threads);
  const int64_t n_parts = int64_t{1} << bits;
  const int64_t n_tasks = std::min<int64_t>(n_parts, 16 * task.n_threads);
  parallel_for(n_tasks, task.n_threads, [&](int64_t t) {
    BucketJoin join(task, table, collected);
    for (int64_t part = t; part < n_parts; part += n_tasks) check_interrupt(), join.run(firsts, others, part);
  });
}

}  // namespace

JoinPairs join(const JoinTask& task) {
  Collected collected(task.limit);
  const std::vector<uint64_t> kept = weighed_bits(task);
  Partitions firsts(task.firsts, task.begin, task.others ? task.end : task.firsts.n, task.layout, kept.data());
  std::vector<Partitions> own;
  if (task.others) own.emplace_back(*task.others, 0, task.others->n, task.layout, kept.data());
  Partitions& others = own.empty() ? firsts : own.front();
  const int bits = partition_bits(task.others ? task.others->n : task.firsts.n - task.begin);
  try {
    for (const uint64_t table : task.tables) join_table(task, table, firsts, others, bits, collected);
  } catch (const TooMany&) {
    JoinPairs none;
    none.complete = false;
    return none;
  }
  return collected.in_order(task.begin, task.end, task.n_threads);
}

void connect(int64_t* parents, const int64_t* first, const int64_t* second, int64_t n_pairs) {
  const auto root = [&](int64_t i) {
    while (parents[i] != i) i = parents[i] = parents[parents[i]];
    return i;
  };
  for (int64_t p = 0; p < n_pairs; ++p) {
    const int64_t a = root(first[p]), b = root(second[p]);
    parents[std::max(a, b)] = std::min(a, b);
  }
}

}  // namespace rankhash
