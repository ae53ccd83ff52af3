// Adds up byte look-ups of 256 codes at once: lower bounds of weighted and table distances.

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

// Table entries are at most 63, so four of them add without saturation.
template <int N>
RANKHASH_INLINE static inline void add_four_columns(Bits (&sum)[N], const uint8_t* columns, const uint8_t* table) {
  const Bits t0 = load_table(table), t1 = load_table(table + 16);
  const Bits t2 = load_table(table + 32), t3 = load_table(table + 48);
  for (int i = 0; i < N; ++i, columns += 32) {
    const Bits a = add_bytes(look_up(t0, load_bits(columns)), look_up(t1, load_bits(columns + kBlock)));
    const Bits b = add_bytes(look_up(t2, load_bits(columns + 2 * kBlock)), look_up(t3, load_bits(columns + 3 * kBlock)));
    sum[i] = add_bytes_saturated(sum[i], add_bytes(a, b));
  }
}

static inline void report(const LutTile& tile, int query, const Bits (&within)[8]) {
  uint32_t hits[8], any = 0;
  for (int i = 0; i < 8; ++i) any |= hits[i] = byte_signs(within[i]) & tile.live[i];
  if (any) tile.on_hits(tile.context, query, hits);
}

// The sums of up to kWideGroup columns, saturated at 255.
RANKHASH_INLINE static inline void sum_columns(Bits (&sum)[8], const uint8_t* columns, const uint8_t* table, int n) {
  for (Bits& s : sum) s = zero_bits();
  for (int c = 0; c < n; c += 4) add_four_columns(sum, columns + c * kBlock, table + c * 16);
}

// Compares with the bound, and reports the codes of the query that are within.
RANKHASH_INLINE static inline void report_bytes(const LutTile& tile, int query, const Bits (&sum)[8]) {
  const Bits bound = fill_bytes(static_cast<uint8_t>(tile.bounds[query]));
  Bits within[8], any = zero_bits();
  for (int i = 0; i < 8; ++i) any = any | (within[i] = at_most_bytes(sum[i], bound));
  if (any_bit(any)) report(tile, query, within);
}

static void sum_tables(const LutTile& tile) {
  for (int q = 0; q < tile.n_queries; ++q) {
    Bits sum[8];
    sum_columns(sum, tile.columns, tile.tables + q * tile.n_columns * 16, tile.n_columns);
    report_bytes(tile, q, sum);
  }
}

// Two groups: their mean, rounded up, is compared.
static void sum_tables_double(const LutTile& tile) {
  const int n = tile.n_columns - kWideGroup;
  for (int q = 0; q < tile.n_queries; ++q) {
    const uint8_t* table = tile.tables + q * tile.n_columns * 16;
    Bits first[8], sum[8];
    sum_columns(first, tile.columns, table, kWideGroup);
    sum_columns(sum, tile.columns + kWideGroup * kBlock, table + kWideGroup * 16, n);
    for (int i = 0; i < 8; ++i) sum[i] = mean_bytes(sum[i], first[i]);
    report_bytes(tile, q, sum);
  }
}

// Any number of groups: even and odd bytes are added up in words.
static void sum_tables_wide(const LutTile& tile) {
  const Bits low_byte = fill_words(0x00FF);
  for (int q = 0; q < tile.n_queries; ++q) {
    const uint8_t* table = tile.tables + static_cast<int64_t>(q) * tile.n_columns * 16;
    Bits even[8], odd[8];
    for (int i = 0; i < 8; ++i) even[i] = odd[i] = zero_bits();
    for (int c = 0; c < tile.n_columns; c += kWideGroup) {
      const int n = tile.n_columns - c < kWideGroup ? tile.n_columns - c : kWideGroup;
      Bits sum[8];
      sum_columns(sum, tile.columns + c * kBlock, table + c * 16, n);
      for (int i = 0; i < 8; ++i) {
        even[i] = add_words_saturated(even[i], sum[i] & low_byte);
        odd[i] = add_words_saturated(odd[i], shift_right16<8>(sum[i]));
      }
    }
    const Bits bound = fill_words(static_cast<uint16_t>(tile.bounds[q]));
    Bits within[8], any = zero_bits();
    for (int i = 0; i < 8; ++i)
      any = any | (within[i] = choose(low_byte, at_most_words(even[i], bound), at_most_words(odd[i], bound)));
    if (any_bit(any)) report(tile, q, within);
  }
}

}  // namespace rankhash::RANKHASH_ISA
