// Projects a tile of 24 vectors and packs the winners. One lane is one vector, so that every sum runs in the order of
// the dimensions whatever the instruction set.

namespace rankhash::RANKHASH_ISA {

constexpr int kVectors = kTileRows / kLanes;
constexpr int64_t kDepth = 256;  // dimensions at a time, so that a tile stays in the nearest cache

// Eight rows and eight dimensions of the tile; rows from n on are 0.
static inline void load_square(const float* x, int64_t n, int64_t d, const float* center, float* tile) {
  Floats r[kLanes];
  for (int i = 0; i < kLanes; ++i) {
    r[i] = i < n ? load_floats(x + i * d) : fill_floats(0);
    if (center && i < n) r[i] = r[i] - load_floats(center);
  }
  transpose(r);
  for (int j = 0; j < kLanes; ++j) store_floats(tile + j * kTileRows, r[j]);
}

static void load_tile(const float* x, int64_t n, int64_t d, const float* center, float* tile) {
  for (int first = 0; first < kTileRows; first += kLanes) {
    const float* rows = x + first * d;
    int64_t j = 0;
    for (; j + kLanes <= d; j += kLanes)
      load_square(rows + j, n - first, d, center ? center + j : nullptr, tile + j * kTileRows + first);
    for (; j < d; ++j)
      for (int i = 0; i < kLanes; ++i)
        tile[j * kTileRows + first + i] = first + i < n ? rows[i * d + j] - (center ? center[j] : 0.0f) : 0.0f;
  }
}

// kRowGroup projections of a tile over the dimensions [0, depth), added to what y holds.
static inline void project_group(const float* tile, int64_t depth, const float* w, float* y) {
  Floats sum[kRowGroup][kVectors];
  for (int r = 0; r < kRowGroup; ++r)
    for (int v = 0; v < kVectors; ++v) sum[r][v] = load_floats(y + r * kTileRows + v * kLanes);
  for (int64_t j = 0; j < depth; ++j) {
    Floats x[kVectors];
    for (int v = 0; v < kVectors; ++v) x[v] = load_floats(tile + j * kTileRows + v * kLanes);
    for (int r = 0; r < kRowGroup; ++r) {
      const Floats weight = fill_floats(w[j * kRowGroup + r]);
      for (int v = 0; v < kVectors; ++v) sum[r][v] = multiply_add(weight, x[v], sum[r][v]);
    }
  }
  for (int r = 0; r < kRowGroup; ++r)
    for (int v = 0; v < kVectors; ++v) store_floats(y + r * kTileRows + v * kLanes, sum[r][v]);
}

static void project(const float* tile, int64_t d, const float* weights, const float* bias, int64_t n_rows, float* y) {
  for (int64_t r = 0; r < n_rows; ++r)
    for (int v = 0; v < kVectors; ++v) store_floats(y + r * kTileRows + v * kLanes, fill_floats(bias[r]));
  for (int64_t j = 0; j < d; j += kDepth) {
    const int64_t depth = d - j < kDepth ? d - j : kDepth;
    for (int64_t r = 0; r < n_rows; r += kRowGroup)
      project_group(tile + j * kTileRows, depth, weights + r * d + j * kRowGroup, y + r * kTileRows);
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

// The symbols of eight vectors: the first of the largest of their rows, or whether their one row is positive.
static inline Bits winners(const float* y, int rows_per_symbol) {
  if (rows_per_symbol == 1) return greater(load_floats(y), fill_floats(0)) & fill_bits(1);
  Floats best = load_floats(y);
  Bits index = zero_bits();
  for (int k = 1; k < rows_per_symbol; ++k) {
    const Floats value = load_floats(y + k * kTileRows);
    const Bits better = greater(value, best);
    best = choose(better, value, best);
    index = choose(better, fill_bits(static_cast<uint32_t>(k)), index);
  }
  return index;
}

static void pack_tile(const float* y, const Layout& layout, int rows_per_symbol, uint32_t* words) {
  const int b = layout.symbol_bits;
  for (int v = 0; v < kVectors; ++v) {
    uint32_t* out = words + v * kLanes;
    Bits word = zero_bits();
    int used = 0;
    for (int s = 0; s < layout.n_symbols; ++s) {
      const Bits symbol = winners(y + static_cast<int64_t>(s) * rows_per_symbol * kTileRows + v * kLanes, rows_per_symbol);
      word = word | shift_left32(symbol, used);
      used += b;
      if (used >= 32) {
        store_bits(out, word);
        out += kTileRows;
        used -= 32;
        word = used ? shift_right32(symbol, b - used) : zero_bits();
      }
    }
    if (used) store_bits(out, word);
  }
}

}  // namespace rankhash::RANKHASH_ISA
