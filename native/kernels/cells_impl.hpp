// The kernels of searches in cells: products with many rows at once, sums of byte tables over a cell's codes, and true
// distances to single rows. Sums have the same order on every instruction set.

namespace rankhash::RANKHASH_ISA {

constexpr int kPanelVectors = kPanel / kLanes;

// Q queries with one panel: out[q][r] = Σ_j panel[j][r] · queries[q][j].
template <int Q>
RANKHASH_INLINE static inline void multiply_panel(const float* panel, int64_t depth, const float* queries,
                                                  int64_t stride, float* out, int64_t out_stride) {
  Floats sum[Q][kPanelVectors];
  for (int q = 0; q < Q; ++q)
    for (int v = 0; v < kPanelVectors; ++v) sum[q][v] = fill_floats(0);
  for (int64_t j = 0; j < depth; ++j, panel += kPanel) {
    Floats rows[kPanelVectors];
    for (int v = 0; v < kPanelVectors; ++v) rows[v] = load_floats(panel + v * kLanes);
    for (int q = 0; q < Q; ++q) {
      const Floats x = fill_floats(queries[q * stride + j]);
      for (int v = 0; v < kPanelVectors; ++v) sum[q][v] = multiply_add(x, rows[v], sum[q][v]);
    }
  }
  for (int q = 0; q < Q; ++q)
    for (int v = 0; v < kPanelVectors; ++v) store_floats(out + q * out_stride + v * kLanes, sum[q][v]);
}

static void panel_dots(const float* panels, int64_t n_panels, int64_t depth, const float* queries, int64_t n_queries,
                       float* out, int64_t out_stride) {
  for (int64_t p = 0; p < n_panels; ++p, panels += depth * kPanel, out += kPanel) {
    int64_t q = 0;
    const auto at = [&](int64_t query) { return queries + query * depth; };
    for (; q + 6 <= n_queries; q += 6) multiply_panel<6>(panels, depth, at(q), depth, out + q * out_stride, out_stride);
    for (; q + 2 <= n_queries; q += 2) multiply_panel<2>(panels, depth, at(q), depth, out + q * out_stride, out_stride);
    if (q < n_queries) multiply_panel<1>(panels, depth, at(q), depth, out + q * out_stride, out_stride);
  }
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

// The sums of one block of kCellBlock codes, saturated at 255. Tables of two pairs take 128 bytes: those of the lower
// halves, then those of the upper ones.
RANKHASH_INLINE static inline Bits sum_cell_block(const uint8_t* block, const uint8_t* tables, int n_pairs,
                                                  Bits start) {
  const auto table_of = [=](int p) RANKHASH_INLINE { return tables + p / 2 * 128 + p % 2 * 32; };
  const Wide nibble = fill_as<Wide>(0x0F0F0F0F);
  Wide low = fill_as<Wide>(0), high = low;
  int p = 0;
  for (; p + kPairsTogether <= n_pairs; p += kPairsTogether) {
    const Wide codes = load_as<Wide>(block + p * kCellBlock);
    low = add_bytes_saturated(low, look_up(load_as<Wide>(table_of(p)), codes & nibble));
    high = add_bytes_saturated(high, look_up(load_as<Wide>(table_of(p) + 64), shift_right16<4>(codes) & nibble));
  }
  Bits sum = add_bytes_saturated(start, fold_bytes(add_bytes_saturated(low, high)));
  if (p < n_pairs) {
    const Bits codes = load_as<Bits>(block + p * kCellBlock), narrow = fill_as<Bits>(0x0F0F0F0F);
    const Bits first = look_up(load_as<Bits>(table_of(p)), codes & narrow);
    const Bits second = look_up(load_as<Bits>(table_of(p) + 64), shift_right16<4>(codes) & narrow);
    sum = add_bytes_saturated(sum, add_bytes_saturated(first, second));
  }
  return sum;
}

static void scan_cell(const CellTask& task) {
  const int64_t block_bytes = static_cast<int64_t>(task.n_pairs) * kCellBlock;
  const Bits start = fill_as<Bits>(0x01010101u * task.start);
  Bits limit = fill_as<Bits>(0x01010101u * task.limit);
  for (int b = 0; b < task.n_blocks; ++b) {
    const Bits sums = sum_cell_block(task.blocks + b * block_bytes, task.tables, task.n_pairs, start);
    uint32_t hits = bytes_at_most(sums, limit);
    if (b + 1 == task.n_blocks) hits &= task.last;
    if (!hits) continue;
    uint8_t levels[kCellBlock];
    store_bits(levels, sums);
    limit = fill_as<Bits>(0x01010101u * task.on_hits(task.context, b, hits, levels));
  }
}

constexpr int kPartials = 32;  // partial sums of a row's distance
constexpr int kPartialVectors = kPartials / kLanes;

RANKHASH_INLINE static inline Floats load_row(const float* row, int64_t j, Floats) { return load_floats(row + j); }
RANKHASH_INLINE static inline Floats load_row(const uint16_t* row, int64_t j, Floats) { return load_halves(row + j); }
RANKHASH_INLINE static inline Floats load_row(const int8_t* row, int64_t j, Floats scale) {
  return load_small_integers(row + j) * scale;
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
static float row_sum(const float* query, const void* data, int64_t depth, float factor) {
  const T* row = static_cast<const T*>(data);
  const Floats scale = fill_floats(factor);
  Floats sum[kPartialVectors];
  for (Floats& s : sum) s = fill_floats(0);
  int64_t j = 0;
  for (; j + kPartials <= depth; j += kPartials)
    for (int v = 0; v < kPartialVectors; ++v)
      sum[v] = Add::add(load_floats(query + j + v * kLanes), load_row(row, j + v * kLanes, scale), sum[v]);
  int v = 0;
  for (; j + kLanes <= depth; j += kLanes, ++v)
    sum[v] = Add::add(load_floats(query + j), load_row(row, j, scale), sum[v]);
  if (j < depth) {
    float q[kLanes] = {};
    T x[kLanes] = {};
    for (int64_t i = 0; j + i < depth; ++i) q[i] = query[j + i], x[i] = row[j + i];
    sum[v] = Add::add(load_floats(q), load_row(x, 0, scale), sum[v]);
  }
  float partial[kPartials];
  for (int i = 0; i < kPartialVectors; ++i) store_floats(partial + i * kLanes, sum[i]);
  for (int half = kPartials / 2; half; half /= 2)
    for (int i = 0; i < half; ++i) partial[i] += partial[i + half];
  return partial[0];
}

}  // namespace rankhash::RANKHASH_ISA
