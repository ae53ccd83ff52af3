// Projects a tile of 24 vectors and packs the argmax of each symbol. One lane is one vector, so that every sum is in
// the order of the dimensions on every instruction set.

namespace rankhash::RANKHASH_ISA {

constexpr int kVectors = kTileRows / kLanes;

// `check` becomes NaN, and stays so, once a value is NaN or infinite: 0 · x is 0 for all others.
RANKHASH_INLINE static inline void watch(Floats& check, Floats x) { check = multiply_add(x, fill_floats(0), check); }

// Eight rows and `depth` dimensions of the tile.
template <bool kCentered>
static inline void load_rows(const float* x, int64_t stride, int64_t depth, const float* center, float* tile,
                             Floats& check) {
  int64_t j = 0;
  for (; j + kLanes <= depth; j += kLanes) {
    Floats r[kLanes];
    for (int i = 0; i < kLanes; ++i) {
      r[i] = load_floats(x + i * stride + j);
      watch(check, r[i]);
      if constexpr (kCentered) r[i] = r[i] - load_floats(center + j);
    }
    transpose(r);
    for (int i = 0; i < kLanes; ++i) store_floats(tile + (j + i) * kTileRows, r[i]);
  }
  for (; j < depth; ++j) {
    float column[kLanes];
    for (int i = 0; i < kLanes; ++i) column[i] = x[i * stride + j];
    watch(check, load_floats(column));
    if constexpr (kCentered)
      for (float& value : column) value -= center[j];
    store_floats(tile + j * kTileRows, load_floats(column));
  }
}

// Fewer than eight rows; the remaining lanes are 0.
static inline void load_last_rows(const float* x, int64_t n, int64_t stride, int64_t depth, const float* center,
                                  float* tile, Floats& check) {
  for (int64_t j = 0; j < depth; ++j) {
    float column[kLanes] = {};
    for (int64_t i = 0; i < n; ++i) column[i] = x[i * stride + j];
    watch(check, load_floats(column));
    for (int64_t i = 0; i < n && center; ++i) column[i] -= center[j];
    store_floats(tile + j * kTileRows, load_floats(column));
  }
}

static bool load_tile(const float* x, int64_t n, int64_t stride, int64_t depth, const float* center, float* tile) {
  Floats check = fill_floats(0);
  for (int first = 0; first < kTileRows; first += kLanes) {
    const float* rows = x + first * stride;
    if (n - first < kLanes) load_last_rows(rows, n - first, stride, depth, center, tile + first, check);
    else if (center) load_rows<true>(rows, stride, depth, center, tile + first, check);
    else load_rows<false>(rows, stride, depth, center, tile + first, check);
  }
  float lanes[kLanes];
  store_floats(lanes, check);
  for (const float lane : lanes)
    if (lane != 0) return false;
  return true;
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

// The symbols of eight vectors: the argmax of their K rows, the first of equal ones. K = 0 reads the arity at run time.
template <int K>
RANKHASH_INLINE static inline Bits winners(const float* y, int rows_per_symbol) {
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

// Symbols of one row each: 1 where it is positive. Each new bit is shifted in at the top of the word.
static void pack_signs(const float* y, const Layout& layout, uint32_t* words) {
  for (int first = 0; first < layout.n_symbols; first += 32, words += kTileRows) {
    const int count = layout.n_symbols - first < 32 ? layout.n_symbols - first : 32;
    for (int v = 0; v < kVectors; ++v) {
      Bits word = zero_bits();
      for (int s = 0; s < count; ++s) {
        const Floats value = load_floats(y + static_cast<int64_t>(first + s) * kTileRows + v * kLanes);
        word = shift_right32(word, 1) | (greater(value, fill_floats(0)) & fill_bits(0x80000000u));
      }
      store_bits(words + v * kLanes, shift_right32(word, 32 - count));
    }
  }
}

static void pack_tile(const float* y, const Layout& layout, int rows_per_symbol, uint32_t* words) {
  switch (rows_per_symbol) {
    case 1: return pack_signs(y, layout, words);
    case 2: return pack_winners<2>(y, layout, 2, words);
    case 4: return pack_winners<4>(y, layout, 4, words);
    default: return pack_winners<0>(y, layout, rows_per_symbol, words);
  }
}

}  // namespace rankhash::RANKHASH_ISA
