// Sums byte tables over 256 codes at once: lower bounds of distances by weights or score tables.

namespace rankhash::RANKHASH_ISA {

// Swaps the bits N places up in r[i] with the bits of r[i + N], where bit N of i is 0.
template <int N>
static inline void swap_bits(Bits (&r)[8], Bits mask) {
  for (int i = 0; i < 8; ++i) {
    if (i & N) continue;
    const Bits t = (shift_right16<N>(r[i]) ^ r[i + N]) & mask;
    r[i + N] = r[i + N] ^ t;
    r[i] = r[i] ^ shift_left16<N>(t);
  }
}

// Transposes 8 × 8 bits in every byte lane: byte j of r[i] gets bit i of byte j of all eight.
static inline void transpose_bits(Bits (&r)[8]) {
  swap_bits<4>(r, fill_bytes(0x0F));
  swap_bits<2>(r, fill_bytes(0x33));
  swap_bits<1>(r, fill_bytes(0x55));
}

static void make_columns(const uint8_t* block, const int16_t* slices, int n_columns, uint8_t* columns) {
  const Bits nibble = fill_bytes(0x0F);
  for (int c = 0; c < n_columns; c += 2, slices += 8, columns += 2 * kBlock) {
    Bits r[8];
    for (int i = 0; i < 8; ++i)
      r[i] = slices[i] < 0 ? zero_bits() : load_bits(block + static_cast<int64_t>(slices[i]) * kSlice);
    transpose_bits(r);
    for (int i = 0; i < 8; ++i) {
      store_bits(columns + 32 * i, r[i] & nibble);
      store_bits(columns + kBlock + 32 * i, shift_right16<4>(r[i]) & nibble);
    }
  }
}

constexpr int kRegisters = kBlock / sizeof(Wide);  // that hold a byte of every code of a block
using Sums = Wide[kRegisters];

// Table entries are at most 63, so that the sum of four does not saturate.
RANKHASH_INLINE static inline void add_four_columns(Sums& sum, const uint8_t* columns, const uint8_t* table) {
  const Wide t0 = load_table<Wide>(table), t1 = load_table<Wide>(table + 16);
  const Wide t2 = load_table<Wide>(table + 32), t3 = load_table<Wide>(table + 48);
  for (int i = 0; i < kRegisters; ++i, columns += sizeof(Wide)) {
    const auto entry = [&](Wide t, int column)
                           RANKHASH_INLINE { return look_up(t, load_as<Wide>(columns + column * kBlock)); };
    const Wide a = add_bytes(entry(t0, 0), entry(t1, 1)), b = add_bytes(entry(t2, 2), entry(t3, 3));
    sum[i] = add_bytes_saturated(sum[i], add_bytes(a, b));
  }
}

// The sums of up to kWideGroup columns, saturated at 255.
RANKHASH_INLINE static inline void sum_columns(Sums& sum, const uint8_t* columns, const uint8_t* table, int n) {
  for (Wide& s : sum) s = fill_as<Wide>(0);
  for (int c = 0; c < n; c += 4) add_four_columns(sum, columns + c * kBlock, table + c * 16);
}

// Collects the codes within the bound of their query, and reports those of many queries together. Mostly there are
// none, which the smallest sum of all registers shows. Where hits are frequent, that branch would often be
// mispredicted: then the masks are always stored, and overwritten by those of the next query if they are empty.
template <bool Frequent>
class WaitingScores {
 public:
  explicit WaitingScores(const ScoreTile& tile) : tile_(tile) {}

  // any: whether a code may be within the bound; hit(i): mask of the codes of register i within the bound.
  template <class Any, class Hit>
  RANKHASH_INLINE inline void add(int query, const Any& any, const Hit& hit) {
    if (!Frequent && !any()) return;
    if (n_ == kMost) report();
    queries_[n_] = query;
    for (int i = 0; i < kRegisters; ++i) {
      const auto bits = hit(i);
      __builtin_memcpy(reinterpret_cast<char*>(places_[n_]) + i * sizeof bits, &bits, sizeof bits);
    }
    uint64_t found = 0;
    for (int w = 0; w < 4; ++w) {
      uint64_t live;
      __builtin_memcpy(&live, tile_.live + 2 * w, sizeof live);
      found |= places_[n_][w] &= live;
    }
    n_ += found != 0;
  }

  void report() {
    if (n_) tile_.on_hits(tile_.context, {n_, queries_, places_});
    n_ = 0;
  }

 private:
  static constexpr int kMost = 64;

  const ScoreTile& tile_;
  int n_ = 0;
  int queries_[kMost];
  uint64_t places_[kMost][4];
};

template <bool Frequent>
RANKHASH_INLINE static inline void compare_bytes(WaitingScores<Frequent>& hits, const ScoreTile& tile, int query,
                                                 const Sums& sum) {
  const Wide bound = fill_as<Wide>(0x01010101u * tile.bounds[query]);
  const auto any = [&]() RANKHASH_INLINE {
    Wide least = sum[0];
    for (int i = 1; i < kRegisters; ++i) least = min_bytes(least, sum[i]);
    return bytes_at_most(least, bound) != 0;
  };
  hits.add(query, any, [&](int i) RANKHASH_INLINE { return bytes_at_most(sum[i], bound); });
}

template <bool Frequent>
static void sum_bytes(const ScoreTile& tile) {
  WaitingScores<Frequent> hits(tile);
  for (int q = 0; q < tile.n_queries; ++q) {
    Sums sum;
    sum_columns(sum, tile.columns, tile.tables + q * tile.n_columns * 16, tile.n_columns);
    compare_bytes(hits, tile, q, sum);
  }
  hits.report();
}

// Two groups: their mean, rounded up, is compared.
template <bool Frequent>
static void sum_double(const ScoreTile& tile) {
  const int n = tile.n_columns - kWideGroup;
  WaitingScores<Frequent> hits(tile);
  for (int q = 0; q < tile.n_queries; ++q) {
    const uint8_t* table = tile.tables + q * tile.n_columns * 16;
    Sums first, sum;
    sum_columns(first, tile.columns, table, kWideGroup);
    sum_columns(sum, tile.columns + kWideGroup * kBlock, table + kWideGroup * 16, n);
    for (int i = 0; i < kRegisters; ++i) sum[i] = mean_bytes(sum[i], first[i]);
    compare_bytes(hits, tile, q, sum);
  }
  hits.report();
}

// Any number of groups: even and odd bytes are summed in words.
template <bool Frequent>
static void sum_wide(const ScoreTile& tile) {
  const Wide low_byte = fill_as<Wide>(0x00FF00FFu);
  WaitingScores<Frequent> hits(tile);
  for (int q = 0; q < tile.n_queries; ++q) {
    const uint8_t* table = tile.tables + static_cast<int64_t>(q) * tile.n_columns * 16;
    Sums even, odd;
    for (int i = 0; i < kRegisters; ++i) even[i] = odd[i] = fill_as<Wide>(0);
    for (int c = 0; c < tile.n_columns; c += kWideGroup) {
      const int n = tile.n_columns - c < kWideGroup ? tile.n_columns - c : kWideGroup;
      Sums sum;
      sum_columns(sum, tile.columns + c * kBlock, table + c * 16, n);
      for (int i = 0; i < kRegisters; ++i) {
        even[i] = add_words_saturated(even[i], sum[i] & low_byte);
        odd[i] = add_words_saturated(odd[i], shift_right16<8>(sum[i]));
      }
    }
    const Wide bound = fill_as<Wide>(0x00010001u * tile.bounds[q]);
    const auto any = [&]() RANKHASH_INLINE {
      Wide least = min_words(even[0], odd[0]);
      for (int i = 1; i < kRegisters; ++i) least = min_words(least, min_words(even[i], odd[i]));
      return words_at_most(least, least, bound) != 0;
    };
    hits.add(q, any, [&](int i) RANKHASH_INLINE { return words_at_most(even[i], odd[i], bound); });
  }
  hits.report();
}

static void sum_scores(const ScoreTile& tile) { tile.frequent ? sum_bytes<true>(tile) : sum_bytes<false>(tile); }
static void sum_scores_double(const ScoreTile& tile) {
  tile.frequent ? sum_double<true>(tile) : sum_double<false>(tile);
}
static void sum_scores_wide(const ScoreTile& tile) { tile.frequent ? sum_wide<true>(tile) : sum_wide<false>(tile); }

}  // namespace rankhash::RANKHASH_ISA
