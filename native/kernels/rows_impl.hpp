// Compares one query with runs of packed rows at any address, such as the buckets of a hash table.

namespace rankhash::RANKHASH_ISA {

RANKHASH_INLINE static inline uint64_t load_word(const uint8_t* p) {
  uint64_t word;
  __builtin_memcpy(&word, p, 8);
  return word;
}

// The first bit of every symbol that differs; `next` is the following word of the differing bits.
template <int B>
RANKHASH_INLINE static inline uint64_t fold(uint64_t differs, uint64_t next) {
  if constexpr (B == 2) return differs | differs >> 1;
  if constexpr (B == 3) return differs | (differs >> 1 | next << 63) | (differs >> 2 | next << 62);
  if constexpr (B == 4) {
    const uint64_t pairs = differs | differs >> 1;
    return pairs | pairs >> 2;
  }
  return differs;
}

// Words: the number of words per row at compile time; 0 reads it at run time.
template <int B, int Words>
RANKHASH_INLINE static inline int row_distance(const uint8_t* row, const uint64_t* query, const uint64_t* firsts,
                                               int n) {
  int distance = 0;
  uint64_t differs = load_word(row) ^ query[0];
  for (int w = 0; w < (Words ? Words : n); ++w) {
    uint64_t next = 0;
    if (w + 1 < (Words ? Words : n)) next = load_word(row + 8 * (w + 1)) ^ query[w + 1];
    distance += __builtin_popcountll(fold<B>(differs, next) & firsts[w]);
    differs = next;
  }
  return distance;
}

template <int B, int Words>
static void compare_with(const RowTask& task) {
  const int64_t n_bytes = task.layout.n_bytes;
  const int n_words = task.n_words;
  const uint8_t* rows = task.rows;
  uint64_t query[Words ? Words : 1], firsts[Words ? Words : 1];  // copies, which the compiler keeps in registers
  for (int w = 0; w < Words; ++w) query[w] = task.query[w], firsts[w] = task.firsts[w];
  RowHit hits[kRowHits];
  int n_hits = 0, below = task.below;
  for (int r = 0; r < task.n_ranges; ++r) {
    const uint32_t end = task.ranges[2 * r + 1];
    for (uint32_t i = task.ranges[2 * r]; i < end; ++i) {
      const int distance =
          row_distance<B, Words>(rows + i * n_bytes, Words ? query : task.query, Words ? firsts : task.firsts, n_words);
      if (distance >= below) continue;
      hits[n_hits++] = {i, distance};
      if (n_hits == kRowHits) below = task.on_hits(task.context, hits, n_hits), n_hits = 0;
    }
  }
  if (n_hits) task.on_hits(task.context, hits, n_hits);
}

template <int B>
static void compare_symbols(const RowTask& task) {
  switch (task.n_words) {
    case 1: return compare_with<B, 1>(task);
    case 2: return compare_with<B, 2>(task);
    default: return compare_with<B, 0>(task);
  }
}

static void compare_rows(const RowTask& task) {
  switch (task.layout.symbol_bits) {
    case 1: return compare_symbols<1>(task);
    case 2: return compare_symbols<2>(task);
    case 3: return compare_symbols<3>(task);
    default: return compare_symbols<4>(task);
  }
}

}  // namespace rankhash::RANKHASH_ISA
