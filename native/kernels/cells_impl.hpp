// The kernels of searches in cells: products with many rows at once, sums of byte tables over a cell's codes, and true
// distances to single rows. Sums have the same order on every instruction set.

namespace rankhash::RANKHASH_ISA {

constexpr int kPanelVectors = kPanel / kLanes;

// Q queries with P panels: out[q][p][r] = Σ_j panels[p][j][r] · queries[q][j].
template <int Q, int P>
RANKHASH_INLINE static inline void multiply_panels(const float* panels, int64_t depth, const float* queries, float* out,
                                                   int64_t out_stride) {
  Floats sum[Q][P][kPanelVectors];
  for (int q = 0; q < Q; ++q)
    for (int p = 0; p < P; ++p)
      for (int v = 0; v < kPanelVectors; ++v) sum[q][p][v] = fill_floats(0);
  for (int64_t j = 0; j < depth; ++j, panels += kPanel)
    for (int p = 0; p < P; ++p) {
      Floats rows[kPanelVectors];
      for (int v = 0; v < kPanelVectors; ++v) rows[v] = load_floats(panels + p * depth * kPanel + v * kLanes);
      for (int q = 0; q < Q; ++q) {
        const Floats x = fill_floats(queries[q * depth + j]);
        for (int v = 0; v < kPanelVectors; ++v) sum[q][p][v] = multiply_add(x, rows[v], sum[q][p][v]);
      }
    }
  for (int q = 0; q < Q; ++q)
    for (int p = 0; p < P; ++p)
      for (int v = 0; v < kPanelVectors; ++v)
        store_floats(out + q * out_stride + p * kPanel + v * kLanes, sum[q][p][v]);
}

// Six queries share the reading of a panel. One query alone takes four panels at once: each of its sums waits for the
// one before, so that there must be several of them.
static void panel_dots(const float* panels, int64_t n_panels, int64_t depth, const float* queries, int64_t n_queries,
                       float* out, int64_t out_stride) {
  constexpr int kQueries = 6, kPanels = 4;
  const int64_t together = n_queries / kQueries * kQueries;
  for (int64_t p = 0; p < n_panels; ++p)
    for (int64_t q = 0; q < together; q += kQueries)
      multiply_panels<kQueries, 1>(panels + p * depth * kPanel, depth, queries + q * depth,
                                   out + q * out_stride + p * kPanel, out_stride);
  for (int64_t q = together; q < n_queries; ++q) {
    int64_t p = 0;
    float* own = out + q * out_stride;
    for (; p + kPanels <= n_panels; p += kPanels)
      multiply_panels<1, kPanels>(panels + p * depth * kPanel, depth, queries + q * depth, own + p * kPanel, 0);
    for (; p < n_panels; ++p)
      multiply_panels<1, 1>(panels + p * depth * kPanel, depth, queries + q * depth, own + p * kPanel, 0);
  }
}

static KeyRange cell_keys(const float* squares, const float* scores, int n, float farthest, float* keys) {
  const Floats far = fill_floats(farthest), near = fill_floats(-farthest);
  Floats least = far, most = near;
  const auto add = [&](int c) RANKHASH_INLINE {
    const Floats key = load_floats(squares + c) + load_floats(scores + c);
    const Floats kept = choose(greater(far, key) & greater(key, near), key, far);
    store_floats(keys + c, kept);
    least = choose(greater(least, kept), kept, least);
    most = choose(greater(kept, most), kept, most);
  };
  int c = 0;
  for (; c + kLanes <= n; c += kLanes) add(c);
  float lows[kLanes], highs[kLanes];
  store_floats(lows, least);
  store_floats(highs, most);
  KeyRange range{lows[0], highs[0]};
  for (int i = 1; i < kLanes; ++i) {
    range.least = lows[i] < range.least ? lows[i] : range.least;
    range.most = highs[i] > range.most ? highs[i] : range.most;
  }
  for (; c < n; ++c) {
    const float key = squares[c] + scores[c];
    keys[c] = key < farthest && key > -farthest ? key : farthest;
    range.least = keys[c] < range.least ? keys[c] : range.least;
    range.most = keys[c] > range.most ? keys[c] : range.most;
  }
  return range;
}

static int keys_at_most(const float* keys, int n, float bound, int32_t* places) {
  const Floats limit = fill_floats(bound);
  int count = 0, c = 0;
  for (; c + kLanes <= n; c += kLanes) {
    // four signs per lane
    for (uint32_t hits = ~byte_signs(greater(load_floats(keys + c), limit)) & 0x88888888u; hits; hits &= hits - 1)
      places[count++] = c + __builtin_ctz(hits) / 4;
  }
  for (; c < n; ++c)
    if (keys[c] <= bound) places[count++] = c;
  return count;
}

static float level_tables(const float* tables, const float* offsets, float factor, float step, int n_symbols,
                          uint8_t* bytes) {
  static_assert(kPanelVectors == 2);
  const Floats factors = fill_floats(factor), steps = fill_floats(step), half = fill_floats(0.5f);
  float sum = 0;
  for (int s = 0; s < n_symbols; ++s, tables += kPanel) {
    Floats low = load_floats(tables), high = load_floats(tables + kLanes);
    if (offsets) {
      low = multiply_add(low, factors, load_floats(offsets));
      high = multiply_add(high, factors, load_floats(offsets + kLanes));
      offsets += kPanel;
    } else {
      low = low * factors;
      high = high * factors;
    }
    const float least = smallest(low, high);
    const Floats from = fill_floats(least);
    uint8_t* out = bytes + (s / 4 * 4 + (s % 2 * 2 + s / 2 % 2)) * 2 * kPanel;
    store_bytes(out, multiply_add(low - from, steps, half), multiply_add(high - from, steps, half));
    __builtin_memcpy(out + kPanel, out, kPanel);
    sum += least;
  }
  return sum;
}

constexpr int kPairsTogether = sizeof(Wide) / kCellBlock;

struct CellSums {
  Bits even, odd;  // 16-bit words: those of the codes 0, 2, … and of 1, 3, …
};

// Adds the entries of both symbols of a pair, or of as many pairs as a register holds, to bytes of B blocks. Tables of
// two pairs take 128 bytes: those of the lower halves, then those of the upper ones.
template <int B, class V>
RANKHASH_INLINE static inline void add_pair(const uint8_t* block, int64_t stride, const uint8_t* tables, int p,
                                            V (&bytes)[B]) {
  const uint8_t* table = tables + p / 2 * 128 + p % 2 * 32;
  const V lower = load_as<V>(table), upper = load_as<V>(table + 64), nibble = fill_as<V>(0x0F0F0F0F);
  for (int b = 0; b < B; ++b) {
    const V codes = load_as<V>(block + b * stride + p * kCellBlock);
    const V entries = add_bytes(look_up(lower, codes & nibble), look_up(upper, shift_right16<4>(codes) & nibble));
    bytes[b] = add_bytes(bytes[b], entries);
  }
}

// The sums of B consecutive blocks of codes. Bytes hold the entries of two pairs at most, so that they never overflow.
template <int B>
RANKHASH_INLINE static inline void sum_cell_blocks(const CellTask& task, const uint8_t* block, int64_t stride,
                                                   CellSums (&sums)[B]) {
  const Wide low_bytes = fill_as<Wide>(0x00FF00FF), zero = fill_as<Wide>(0);
  Wide even[B], odd[B], bytes[B];
  for (int b = 0; b < B; ++b) even[b] = odd[b] = zero;
  const auto widen = [&]() RANKHASH_INLINE {
    for (int b = 0; b < B; ++b) {
      even[b] = add_words(even[b], bytes[b] & low_bytes);
      odd[b] = add_words(odd[b], shift_right16<8>(bytes[b]));
    }
  };
  int p = 0;
  for (; p + 2 * kPairsTogether <= task.n_pairs; p += 2 * kPairsTogether) {
    for (int b = 0; b < B; ++b) bytes[b] = zero;
    add_pair<B>(block, stride, task.tables, p, bytes);
    add_pair<B>(block, stride, task.tables, p + kPairsTogether, bytes);
    widen();
  }
  if (p + kPairsTogether <= task.n_pairs) {
    for (int b = 0; b < B; ++b) bytes[b] = zero;
    add_pair<B>(block, stride, task.tables, p, bytes);
    widen();
    p += kPairsTogether;
  }
  Bits rest[B];
  for (int b = 0; b < B; ++b) {
    sums[b] = {fold_words(even[b]), fold_words(odd[b])};
    rest[b] = fill_as<Bits>(0);
  }
  if (p < task.n_pairs) add_pair<B>(block, stride, task.tables, p, rest);
  const Bits start = fill_as<Bits>(0x00010001u * task.start), factor = fill_as<Bits>(0x00010001u * task.factor);
  for (int b = 0; b < B; ++b) {
    sums[b].even = add_words(sums[b].even, rest[b] & fill_as<Bits>(0x00FF00FF));
    sums[b].odd = add_words(sums[b].odd, shift_right16<8>(rest[b]));
    if (task.corrected) {
      const Bits own = load_as<Bits>(block + b * stride + task.n_pairs * kCellBlock);
      sums[b].even = add_words_saturated(sums[b].even, multiply_high(shift_left16<8>(own), factor));
      sums[b].odd = add_words_saturated(sums[b].odd, multiply_high(own & fill_as<Bits>(0xFF00FF00), factor));
    }
    sums[b].even = add_words_saturated(sums[b].even, start);
    sums[b].odd = add_words_saturated(sums[b].odd, start);
  }
}

template <int B>
RANKHASH_INLINE static inline void scan_cell_blocks(const CellTask& task, int first, int64_t stride, uint16_t& limit) {
  CellSums sums[B];
  sum_cell_blocks<B>(task, task.blocks + first * stride, stride, sums);
  for (int b = 0; b < B; ++b) {
    uint32_t hits = words_at_most(sums[b].even, sums[b].odd, fill_as<Bits>(0x00010001u * limit));
    if (first + b + 1 == task.n_blocks) hits &= task.last;
    if (!hits) continue;
    uint16_t levels[kCellBlock];
    store_bits(levels, sums[b].even);
    store_bits(levels + kCellBlock / 2, sums[b].odd);
    limit = task.on_hits(task.context, first + b, hits, levels);
  }
}

static void scan_cell(const CellTask& task) {
  const int64_t stride = static_cast<int64_t>(task.n_pairs + task.corrected) * kCellBlock;
  uint16_t limit = task.limit;
  int b = 0;
  for (; b + 2 <= task.n_blocks; b += 2) scan_cell_blocks<2>(task, b, stride, limit);
  if (b < task.n_blocks) scan_cell_blocks<1>(task, b, stride, limit);
}

constexpr int kPartials = 32;  // partial sums of a row's distance
constexpr int kPartialVectors = kPartials / kLanes;

// Elements of a row as floats: kLanes of them, or the first n.
RANKHASH_INLINE static inline Floats load_row(const float* row, Floats) { return load_floats(row); }
RANKHASH_INLINE static inline Floats load_row(const uint16_t* row, Floats) { return load_halves(row); }
RANKHASH_INLINE static inline Floats load_row(const int8_t* row, Floats scale) {
  return load_small_integers(row) * scale;
}
RANKHASH_INLINE static inline Floats load_first(const float* row, int n, Floats) { return load_first_floats(row, n); }
template <class T>
RANKHASH_INLINE static inline Floats load_first(const T* row, int n, Floats scale) {
  T first[kLanes] = {};
  for (int i = 0; i < n; ++i) first[i] = row[i];
  return load_row(first, scale);
}

struct AddSquare {
  RANKHASH_INLINE static inline Floats add(Floats q, Floats x, Floats sum) {
    const Floats difference = q - x;
    return multiply_add(difference, difference, sum);
  }
};
struct AddProduct {
  RANKHASH_INLINE static inline Floats add(Floats q, Floats x, Floats sum) { return multiply_add(q, x, sum); }
};

// Partial sum i is over the elements i, i + 32, …; then halves are added pairwise.
template <class Add, class T>
RANKHASH_INLINE static inline float sum_row(const float* query, const T* row, int64_t depth, Floats scale) {
  static_assert(kPartialVectors == 4);
  Floats sum[kPartialVectors];
  for (Floats& s : sum) s = fill_floats(0);
  int64_t j = 0;
  for (; j + kPartials <= depth; j += kPartials)
    for (int v = 0; v < kPartialVectors; ++v)
      sum[v] = Add::add(load_floats(query + j + v * kLanes), load_row(row + j + v * kLanes, scale), sum[v]);
  for (int v = 0; v < kPartialVectors && j < depth; ++v, j += kLanes) {
    const int n = depth - j < kLanes ? static_cast<int>(depth - j) : kLanes;
    sum[v] = n == kLanes ? Add::add(load_floats(query + j), load_row(row + j, scale), sum[v])
                         : Add::add(load_first_floats(query + j, n), load_first(row + j, n, scale), sum[v]);
  }
  return sum_lanes((sum[0] + sum[2]) + (sum[1] + sum[3]));
}

template <class Add, class T>
static float row_sum(const float* query, const void* row, int64_t depth, float factor) {
  return sum_row<Add>(query, static_cast<const T*>(row), depth, fill_floats(factor));
}

// The distances of a query to n rows that lie one behind another.
template <class Add, class T>
static void row_sums(const float* query, const void* rows, int64_t n, int64_t depth, const float* factors,
                     float* sums) {
  const T* row = static_cast<const T*>(rows);
  for (int64_t i = 0; i < n; ++i, row += depth)
    sums[i] = sum_row<Add>(query, row, depth, fill_floats(factors ? factors[i] : 1.0f));
}

}  // namespace rankhash::RANKHASH_ISA
