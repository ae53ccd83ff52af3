// Hits of bit-sliced counters, from registers to lists.

namespace rankhash::RANKHASH_ISA {

struct WordNumbers {  // the numbers of the words of every set
  uint16_t of[256][8];
  constexpr WordNumbers() : of() {
    for (int set = 0; set < 256; ++set)
      for (int w = 0, n = 0; w < 8; ++w)
        if (set >> w & 1) of[set][n++] = static_cast<uint16_t>(w);
  }
};
constexpr WordNumbers kWordNumbers;

// Registers with hits and their counters, which wait to be reported together. Most hits have a counter little below
// 2^M: its upper planes are all set, and only the lower ones are kept.
template <class V, int M>
struct WaitingHits {
  static constexpr int kWords = sizeof(V) / 8, kMost = 64, kReported = 512, kLower = 2;
  static constexpr uint32_t kUpper = (1u << M) - (1u << kLower);
  int n = 0;
  uint16_t queries[kMost];
  uint8_t words[kMost];                                  // bit w: word w has a hit
  bool whole[kMost];                                     // the upper planes are kept too
  alignas(64) uint64_t registers[kMost][M + 1][kWords];  // which codes, then the counters

  // If there is no hit, the next register takes the place of this one.
  RANKHASH_INLINE inline void keep(int query, V hits, const V (&c)[M + 1]) {
    const unsigned nonzero = nonzero_words(hits);
    queries[n] = static_cast<uint16_t>(query);
    words[n] = static_cast<uint8_t>(nonzero);
    store_bits(registers[n][0], hits);
    for (int i = 0; i < kLower; ++i) store_bits(registers[n][i + 1], c[i]);
    V upper = c[kLower];
    for (int i = kLower + 1; i < M; ++i) upper = upper & c[i];
    whole[n] = nonzero_words(and_not(hits, upper)) != 0;
    if (whole[n])
      for (int i = kLower; i < M; ++i) store_bits(registers[n][i + 1], c[i]);
    n += nonzero != 0;
  }

  // block: the first of the blocks that were counted together; last: none of them has further hits.
  __attribute__((noinline)) void report(const HammingTile& tile, int block, bool last) {
    tile.sinks ? append(tile, block) : list(tile, block, last);
    n = 0;
  }

 private:
  using Places = uint16_t[kMost * kWords + 8];

  // The words that have hits, as register · kWords + word. Which words these are is no branch, and mostly a word has
  // one hit: hardly anything is mispredicted.
  RANKHASH_INLINE inline int words_with_hits(Places& places) const {
    int n_places = 0;
    for (int at = 0; at < n; ++at) {
      for (int i = 0; i < 8; ++i)
        places[n_places + i] = static_cast<uint16_t>(kWordNumbers.of[words[at]][i] + at * kWords);
      n_places += __builtin_popcount(words[at]);
    }
    return n_places;
  }

  RANKHASH_INLINE inline uint32_t planes(int at, int w, int bit, int n_planes) const {
    uint32_t value = 0;
    for (int m = n_planes; m > 0; --m) value = value << 1 | static_cast<uint32_t>(registers[at][m][w] >> bit & 1);
    return value;
  }
  RANKHASH_INLINE inline uint32_t counter(int at, int w, int bit) const {
    return whole[at] ? planes(at, w, bit, M) : kUpper | planes(at, w, bit, kLower);
  }

  void append(const HammingTile& tile, int block) const {
    Places places;
    uint16_t full[kMost * kWords];
    int n_full = 0;
    const uint64_t first = static_cast<uint64_t>(tile.first + static_cast<int64_t>(block) * kBlock);
    const int n_places = words_with_hits(places);
    for (int i = 0; i < n_places; ++i) {
      const int at = places[i] / kWords, w = places[i] % kWords;
      HitSink& sink = tile.sinks[queries[at]];
      const uint64_t start = (sink.start << kPositionBits) + first + static_cast<uint64_t>(64 * w);
      uint64_t* next = sink.next;
      for (uint64_t left = registers[at][0][w]; left; left &= left - 1) {
        const int bit = __builtin_ctzll(left);
        *next++ = start + (uint64_t{counter(at, w, bit)} << kPositionBits) + static_cast<uint64_t>(bit);
      }
      sink.next = next;
      full[n_full] = queries[at];
      n_full += next >= sink.stop;
    }
    if (n_full) tile.on_full(tile.context, full, n_full);
  }

  void list(const HammingTile& tile, int block, bool last) const {
    Places places;
    CountedCode codes[kReported + 64];
    int n_codes = 0;
    const int n_places = words_with_hits(places);
    for (int i = 0; i < n_places; ++i) {
      const int at = places[i] / kWords, w = places[i] % kWords;
      for (uint64_t left = registers[at][0][w]; left; left &= left - 1) {
        const int bit = __builtin_ctzll(left);
        codes[n_codes++] = {queries[at], static_cast<uint16_t>(64 * w + bit), counter(at, w, bit)};
      }
      if (n_codes < kReported) continue;
      tile.on_hits(tile.context, {codes, n_codes, block, false});
      n_codes = 0;
    }
    tile.on_hits(tile.context, {codes, n_codes, block, last});
  }
};

}  // namespace rankhash::RANKHASH_ISA
