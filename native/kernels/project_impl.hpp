// Projects a tile of 24 vectors and packs the winners. One lane is one vector, so that every sum runs in the order of
// the dimensions whatever the instruction set.

namespace rankhash::RANKHASH_ISA {

constexpr int kVectors = kTileRows / kLanes;

// Eight rows and eight dimensions of the tile; rows from n on are 0.
static inline void load_square(const float* x, int64_t n, int64_t stride, const float* center, float* tile) {
  Floats r[kLanes];
  for (int i = 0; i < kLanes; ++i) {
    r[i] = i < n ? load_floats(x + i * stride) : fill_floats(0);
    if (center && i < n) r[i] = r[i] - load_floats(center);
  }
  transpose(r);
  for (int j = 0; j < kLanes; ++j) store_floats(tile + j * kTileRows, r[j]);
}

static void load_tile(const float* x, int64_t n, int64_t stride, int64_t depth, const float* center, float* tile) {
  for (int first = 0; first < kTileRows; first += kLanes) {
    const float* rows = x + first * stride;
    int64_t j = 0;
    for (; j + kLanes <= depth; j += kLanes)
      load_square(rows + j, n - first, stride, center ? center + j : nullptr, tile + j * kTileRows + first);
    for (; j < depth; ++j)
      for (int i = 0; i < kLanes; ++i)
        tile[j * kTileRows + first + i] = first + i < n ? rows[i * stride + j] - (center ? center[j] : 0.0f) : 0.0f;
  }
}

static void project(const float* tile, int64_t depth, const float* weights, int64_t n_rows, float* y) {
  for (int64_t row = 0; row < n_rows; row += kRowGroup, weights += kRowGroup * depth, y += kRowGroup * kTileRows) {
    Floats sum[kRowGroup][kVectors];
    for (int r = 0; r < kRowGroup; ++r)
      for (int v = 0; v < kVectors; ++v) sum[r][v] = load_floats(y + r * kTileRows + v * kLanes);
    for (int64_t j = 0; j < depth; ++j) {
      Floats x[kVectors];
      for (int v = 0; v < kVectors; ++v) x[v] = load_floats(tile + j * kTileRows + v * kLanes);
      for (int r = 0; r < kRowGroup; ++r) {
        const Floats weight = fill_floats(weights[j * kRowGroup + r]);
        for (int v = 0; v < kVectors; ++v) sum[r][v] = multiply_add(weight, x[v], sum[r][v]);
      }
    }
    for (int r = 0; r < kRowGroup; ++r)
      for (int v = 0; v < kVectors; ++v) store_floats(y + r * kTileRows + v * kLanes, sum[r][v]);
  }
}

static void multiply(const float* tile, const int32_t* windows, int64_t n_rows, int degree, float* y) {
  for (int64_t r = 0; r < n_rows; ++r, windows += degree)
    for (int v = 0; v < kVectors; ++v) {
      Floats product = load_floats(tile + windows[0] * static_cast<int64_t>(kTileRows) + v * kLanes);
      for (int p = 1; p < degree; ++p)
        product = product * load_floats(tile + windows[p] * static_cast<int64_t>(kTileRows) + v * kLanes);
      store_floats(y + r * kTileRows + v * kLanes, product);
    }
}

// The symbols of eight vectors: the first of the largest of their K rows, or whether their one row is positive.
// K = 0 reads the number of rows at run time.
template <int K>
RANKHASH_INLINE static inline Bits winners(const float* y, int rows_per_symbol) {
  if constexpr (K == 1) return greater(load_floats(y), fill_floats(0)) & fill_bits(1);
  Floats best = load_floats(y);
  Bits index = zero_bits();
  for (int k = 1; k < (K ? K : rows_per_symbol); ++k) {
    const Floats value = load_floats(y + k * kTileRows);
    const Bits better = greater(value, best);
    best = choose(better, value, best);
    index = choose(better, fill_bits(static_cast<uint32_t>(k)), index);
  }
  return index;
}

template <int K>
static void pack_winners(const float* y, const Layout& layout, int rows_per_symbol, uint32_t* words) {
  const int b = layout.symbol_bits;
  const int64_t symbol_size = static_cast<int64_t>(rows_per_symbol) * kTileRows;
  Bits word[kVectors];
  for (Bits& w : word) w = zero_bits();
  int used = 0;
  for (int s = 0; s < layout.n_symbols; ++s, y += symbol_size) {
    Bits symbol[kVectors];
    for (int v = 0; v < kVectors; ++v) {
      symbol[v] = winners<K>(y + v * kLanes, rows_per_symbol);
      word[v] = word[v] | shift_left32(symbol[v], used);
    }
    used += b;
    if (used < 32) continue;
    used -= 32;
    for (int v = 0; v < kVectors; ++v) {
      store_bits(words + v * kLanes, word[v]);
      word[v] = used ? shift_right32(symbol[v], b - used) : zero_bits();
    }
    words += kTileRows;
  }
  if (used)
    for (int v = 0; v < kVectors; ++v) store_bits(words + v * kLanes, word[v]);
}

static void pack_tile(const float* y, const Layout& layout, int rows_per_symbol, uint32_t* words) {
  switch (rows_per_symbol) {
    case 1: return pack_winners<1>(y, layout, 1, words);
    case 2: return pack_winners<2>(y, layout, 2, words);
    case 4: return pack_winners<4>(y, layout, 4, words);
    default: return pack_winners<0>(y, layout, rows_per_symbol, words);
  }
}

}  // namespace rankhash::RANKHASH_ISA
