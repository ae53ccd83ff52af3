// Compares one query with packed rows: runs of rows that lie anywhere, such as the buckets of a hash table.

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

// Words = 0: as many as the task says.
template <int B, int Words>
RANKHASH_INLINE static inline int row_distance(const RowTask& task, const uint8_t* row) {
  const int n = Words ? Words : task.n_words;
  int distance = 0;
  uint64_t differs = load_word(row) ^ task.query[0];
  for (int w = 0; w < n; ++w) {
    uint64_t next = 0;
    if (w + 1 < n) next = load_word(row + 8 * (w + 1)) ^ task.query[w + 1];
    distance += __builtin_popcountll(fold<B>(differs, next) & task.firsts[w]);
    differs = next;
  }
  return distance;
}

template <int B, int Words>
static void compare_with(const RowTask& task) {
  const int64_t n_bytes = task.layout.n_bytes;
  for (int r = 0; r < task.n_ranges; ++r) {
    int below = *task.below;
    const uint32_t end = task.ranges[2 * r + 1];
    for (uint32_t i = task.ranges[2 * r]; i < end; ++i) {
      const int distance = row_distance<B, Words>(task, task.rows + i * n_bytes);
      if (distance < below) below = task.on_hit(task.context, i, distance);
    }
  }
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
