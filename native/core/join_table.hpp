// One hash table of a join: codes spread over partitions that fit into a cache, sorted there, compared by bucket.
#pragma once
#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "core/join.hpp"
#include "core/segment.hpp"
#include "core/threads.hpp"

namespace rankhash {

constexpr int64_t kJoinPartition = 4096;  // approximate number of codes per partition
constexpr int kMostPartitionBits = 12;

inline int join_words(const Layout& layout) { return (layout.n_bits + 63) / 64; }

// The hash of the masked bits of a row of n_words words; its leading bits are the best distributed.
inline uint32_t join_hash(const uint64_t* row, const uint64_t* mask, int n_words) {
  constexpr uint64_t kOdd = 0x9E3779B97F4A7C15ull;
  uint64_t h = 0;
  for (int w = 0; w < n_words; ++w) {
    h = (h ^ (row[w] & mask[w])) * kOdd;
    h ^= h >> 29;
  }
  return static_cast<uint32_t>((h * kOdd) >> 32);
}

inline int partition_bits(int64_t n) {
  int bits = 0;
  while (bits < kMostPartitionBits && n >> bits > kJoinPartition) ++bits;
  return bits;
}

// Codes in the order of their hashes, as parallel arrays of rows, positions and hashes.
struct HashedRows {
  std::vector<uint8_t> rows;  // followed by kRowPadding bytes
  std::vector<uint32_t> places, hashes;

  void resize(int64_t n, int n_bytes) {
    rows.resize(static_cast<size_t>(n) * n_bytes + kRowPadding);
    places.resize(n);
    hashes.resize(n);
  }
  void put(size_t at, const uint8_t* row, int n_bytes, uint32_t place, uint32_t hash) {
    if (n_bytes == 8) std::memcpy(rows.data() + at * 8, row, 8);
    else std::memcpy(rows.data() + at * n_bytes, row, n_bytes);
    places[at] = place;
    hashes[at] = hash;
  }
};

// The codes begin … end - 1 by the leading bits of their hashes, ascending within a partition.
class Partitions {
 public:
  // `kept` masks the bits of a code that are compared; null: all.
  Partitions(const JoinRows& source, int64_t begin, int64_t end, const Layout& layout, const uint64_t* kept)
      : source_(source), begin_(begin), n_(std::max<int64_t>(end - begin, 0)), layout_(layout), kept_(kept) {
    records_.resize(n_, layout.n_bytes);
    hashes_.resize(n_);
  }

  void spread(const uint64_t* mask, int bits, int n_threads) {
    bits_ = bits;
    const int64_t n_parts = int64_t{1} << bits, n_chunks = (n_ + kChunk - 1) / kChunk;
    std::vector<uint32_t> starts(static_cast<size_t>(n_chunks * n_parts));
    parallel_for(n_chunks, n_threads, [&](int64_t c) { count(c, mask, starts.data() + c * n_parts); });
    offsets_.assign(n_parts + 1, 0);
    uint32_t sum = 0;
    for (int64_t p = 0; p < n_parts; ++p) {
      offsets_[p] = sum;
      for (int64_t c = 0; c < n_chunks; ++c) sum += std::exchange(starts[c * n_parts + p], sum);
    }
    offsets_[n_parts] = sum;
    parallel_for(n_chunks, n_threads, [&](int64_t c) { scatter(c, starts.data() + c * n_parts); });
  }

  int64_t size(int64_t part) const { return offsets_[part + 1] - offsets_[part]; }

  // The codes of a partition, stably sorted by the `n_bits` bits after the partition's, and where each value begins.
  void sort(int64_t part, int n_bits, HashedRows& out, std::vector<uint32_t>& starts) const {
    const size_t first = offsets_[part], end = offsets_[part + 1];
    const int n_bytes = layout_.n_bytes;
    const auto bucket_of = [&](size_t i) {
      return static_cast<uint32_t>(uint64_t{records_.hashes[i]} << bits_ & 0xFFFFFFFFu) >> (32 - n_bits);
    };
    if (out.places.size() < end - first) out.resize(static_cast<int64_t>(end - first), n_bytes);
    starts.assign((size_t{1} << n_bits) + 2, 0);
    for (size_t i = first; i < end; ++i) ++starts[bucket_of(i) + 2];
    for (size_t b = 2; b < starts.size(); ++b) starts[b] += starts[b - 1];
    for (size_t i = first; i < end; ++i)
      out.put(starts[bucket_of(i) + 1]++, records_.rows.data() + i * n_bytes, n_bytes, records_.places[i],
              records_.hashes[i]);
  }

 private:
  static constexpr int64_t kChunk = 1 << 17;

  void load(int64_t i, uint64_t* words, int n_words) const {
    words[n_words - 1] = 0;
    std::memcpy(words, source_.rows + (begin_ + i) * layout_.n_bytes, layout_.n_bytes);
    for (int w = 0; kept_ && w < n_words; ++w) words[w] &= kept_[w];
  }

  size_t part_of(uint32_t hash) const { return static_cast<size_t>(uint64_t{hash} >> (32 - bits_)); }

  void count(int64_t chunk, const uint64_t* mask, uint32_t* counts) {
    const int n_words = join_words(layout_);
    std::vector<uint64_t> words(n_words);
    for (int64_t i = chunk * kChunk, end = std::min(n_, i + kChunk); i < end; ++i) {
      load(i, words.data(), n_words);
      hashes_[i] = join_hash(words.data(), mask, n_words);
      ++counts[part_of(hashes_[i])];
    }
  }

  void scatter(int64_t chunk, uint32_t* next) {
    const int n_words = join_words(layout_);
    std::vector<uint64_t> words(n_words);
    for (int64_t i = chunk * kChunk, end = std::min(n_, i + kChunk); i < end; ++i) {
      load(i, words.data(), n_words);
      records_.put(next[part_of(hashes_[i])]++, reinterpret_cast<const uint8_t*>(words.data()), layout_.n_bytes,
                   static_cast<uint32_t>(begin_ + i), hashes_[i]);
    }
  }

  JoinRows source_;
  int64_t begin_, n_;
  const Layout& layout_;
  const uint64_t* kept_;
  int bits_ = 0;
  HashedRows records_;
  std::vector<uint32_t> hashes_, offsets_;
};

}  // namespace rankhash
