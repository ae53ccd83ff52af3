#include "core/segment.hpp"

#include <algorithm>
#include <cstring>

#include "core/codes.hpp"
#include "core/threads.hpp"

namespace rankhash {
namespace {

constexpr int64_t kChunk = 64 * kBlock;
constexpr int64_t kPollRows = 1 << 18;

// Keys of n rows.
void make_keys(const uint8_t* rows, int64_t n, const Layout& layout, const KeySpan& span, uint32_t* keys) {
  for (int64_t i = 0; i < n; ++i) keys[i] = key_of(rows + i * layout.n_bytes, layout, span);
}

// Ranges of keys that hold nearly equal numbers of codes.
std::vector<uint32_t> split_keys(const uint32_t* starts, uint32_t n_keys, int64_t size, int parts) {
  std::vector<uint32_t> cuts{0};
  for (int p = 1; p < parts; ++p) {
    const auto wanted = static_cast<uint32_t>(size * p / parts);
    cuts.push_back(static_cast<uint32_t>(std::lower_bound(starts + cuts.back(), starts + n_keys, wanted) - starts));
  }
  cuts.push_back(n_keys);
  return cuts;
}

class TableBuilder {
 public:
  TableBuilder(const Layout& layout, const uint8_t* rows, int64_t size, const KeyTableOut& out, uint32_t* keys,
               int n_threads)
      : layout_(layout), rows_(rows), size_(size), out_(out), keys_(keys), n_threads_(n_threads) {}

  // A counting sort: offsets[key + 1] is first the size of the bucket, then its start, finally its end.
  void run() {
    const int64_t n_chunks = (size_ + kChunk - 1) / kChunk;
    parallel_for(n_chunks, n_threads_, [&](int64_t c) {
      const int64_t first = c * kChunk, n = std::min(kChunk, size_ - first);
      make_keys(rows_ + first * layout_.n_bytes, n, layout_, out_.span, keys_ + first);
    });
    std::memset(out_.offsets, 0, (static_cast<size_t>(out_.n_keys) + 1) * sizeof(uint32_t));
    for (int64_t i = 0; i < size_; ++i) {
      if (i % kPollRows == 0) check_interrupt();
      ++out_.offsets[keys_[i] + 1];
    }
    uint32_t sum = 0;
    for (uint32_t key = 0; key < out_.n_keys; ++key) {
      const uint32_t count = out_.offsets[key + 1];
      out_.offsets[key + 1] = sum;
      sum += count;
    }
    const std::vector<uint32_t> cuts = split_keys(out_.offsets + 1, out_.n_keys, size_, n_threads_);
    parallel_for(n_threads_, n_threads_, [&](int64_t p) { scatter(cuts[p], cuts[p + 1]); });
    parallel_for(n_threads_, n_threads_, [&](int64_t p) { slice_heavy(cuts[p], cuts[p + 1]); });
  }

 private:
  void scatter(uint32_t low, uint32_t high) {
    const int64_t n_bytes = layout_.n_bytes;
    for (int64_t i = 0; i < size_; ++i) {
      if (i % kPollRows == 0) check_interrupt();
      if (keys_[i] < low || keys_[i] >= high) continue;
      const uint32_t at = out_.offsets[keys_[i] + 1]++;
      out_.places[at] = static_cast<uint32_t>(i);
      uint8_t* to = out_.rows + at * n_bytes;
      if (n_bytes == 8) std::memcpy(to, rows_ + i * 8, 8);
      else std::memcpy(to, rows_ + i * n_bytes, n_bytes);
    }
  }

  void slice_heavy(uint32_t low, uint32_t high) {
    std::vector<uint8_t> block(static_cast<size_t>(layout_.n_bits) * kSlice);
    for (uint32_t key = low; key < high; ++key) {
      const BlockRun run = sliced_blocks(out_.offsets[key], out_.offsets[key + 1]);
      for (uint32_t b = run.first; b < run.end; ++b) {
        uint8_t* rows = out_.rows + static_cast<size_t>(b) * kBlock * layout_.n_bytes;
        write_slices(block.data(), layout_.n_bits, 0, rows, kBlock);
        std::memcpy(rows, block.data(), block.size());
      }
    }
  }

  const Layout& layout_;
  const uint8_t* rows_;
  int64_t size_;
  const KeyTableOut& out_;
  uint32_t* keys_;
  int n_threads_;
};

}  // namespace

uint32_t key_of(const uint8_t* row, const Layout& layout, const KeySpan& span) {
  const int b = layout.symbol_bits;
  if (layout.arity == 1 << b) {
    const int at = span.first * b;
    uint64_t word;
    std::memcpy(&word, row + (at >> 3), 8);
    return static_cast<uint32_t>(word >> (at & 7) & ((uint64_t{1} << (span.count * b)) - 1));
  }
  uint32_t key = 0;
  for (int s = span.first + span.count; s-- > span.first;) key = key * layout.arity + symbol_at(row, layout, s);
  return key;
}

std::vector<uint64_t> bits_of(const Layout& layout, const KeySpan& span) {
  std::vector<uint64_t> words((layout.n_bits + 63) / 64);
  const int b = layout.symbol_bits;
  for (int bit = span.first * b; bit < (span.first + span.count) * b; ++bit)
    words[bit >> 6] |= uint64_t{1} << (bit & 63);
  return words;
}

void mark_occupied(const uint32_t* offsets, uint32_t n_keys, uint64_t* occupied) {
  for (uint32_t word = 0; word < (n_keys + 63) / 64; ++word) {
    uint64_t bits = 0;
    const uint32_t first = word * 64, n = std::min(64u, n_keys - first);
    for (uint32_t i = 0; i < n; ++i) bits |= uint64_t{offsets[first + i + 1] > offsets[first + i]} << i;
    occupied[word] = bits;
  }
}

void build_tables(const CodesView& view, int64_t start, int64_t size, const std::vector<KeyTableOut>& tables,
                  int n_threads) {
  const Layout& layout = view.layout;
  std::vector<uint8_t> rows(static_cast<size_t>(size) * layout.n_bytes + kRowPadding);
  std::vector<uint32_t> keys(size);
  parallel_for((size + kBlock - 1) / kBlock, n_threads, [&](int64_t b) {
    const int64_t first = b * kBlock, n = std::min<int64_t>(kBlock, size - first);
    read_block(view.block(start / kBlock + b), layout.n_bits, rows.data() + first * layout.n_bytes, n);
  });
  for (const KeyTableOut& table : tables) TableBuilder(layout, rows.data(), size, table, keys.data(), n_threads).run();
}

}  // namespace rankhash
