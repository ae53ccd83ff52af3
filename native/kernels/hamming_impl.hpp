// Counts differing symbols of 256 codes at once: one carry-save adder tree over bit slices for each query.

namespace rankhash::RANKHASH_ISA {

constexpr int64_t kMostPlaneBytes = 48 << 10;  // the planes of blocks that are counted together fit into the L1 cache
constexpr int64_t kFetchAhead = 8192;          // prefetch distance of a single query, in bytes
constexpr int kFetchLevel = 3;                 // prefetch into the L1 cache

template <int From, int M, class V>
RANKHASH_INLINE static inline void ripple(V (&c)[M + 1], V carry) {
  for (int i = From; i <= M; ++i) {
    const V next = c[i] & carry;
    c[i] = c[i] ^ carry;
    carry = next;
  }
}

// Adds the bits in(0) … in(n-1), each of weight 1, to the counters.
template <int M, class V, class In>
RANKHASH_INLINE static inline void add_bits(V (&c)[M + 1], int n, const In& in) {
  const auto add4 = [&](int i) RANKHASH_INLINE {  // returns the carry of weight 4
    V t, u, f;
    full_add(c[0], t, in(i), in(i + 1));
    full_add(c[0], u, in(i + 2), in(i + 3));
    full_add(c[1], f, t, u);
    return f;
  };
  const auto add8 = [&](int i) RANKHASH_INLINE {  // returns the carry of weight 8
    const V f = add4(i), g = add4(i + 4);
    V e;
    full_add(c[2], e, f, g);
    return e;
  };
  int i = 0;
  for (; i + 16 <= n; i += 16) {
    const V e = add8(i), f = add8(i + 8);
    V s;
    full_add(c[3], s, e, f);
    ripple<4, M>(c, s);
  }
  if (i + 8 <= n) ripple<3, M>(c, add8(i)), i += 8;
  if (i + 4 <= n) ripple<2, M>(c, add4(i)), i += 4;
  for (; i < n; ++i) ripple<0, M>(c, in(i));
}

// Adds n numbers of two bits, of weight 1 (low) and 2 (high).
template <int M, class V, class Low, class High>
RANKHASH_INLINE static inline void add_pairs(V (&c)[M + 1], int n, const Low& low, const High& high) {
  const auto add2 = [&](int i, V& t, V& f) RANKHASH_INLINE {  // t of weight 2, f of weight 4
    full_add(c[0], t, low(i), low(i + 1));
    full_add(c[1], f, high(i), high(i + 1));
  };
  int i = 0;
  for (; i + 4 <= n; i += 4) {
    V t, u, f, g, h, e, s;
    add2(i, t, f);
    add2(i + 2, u, g);
    full_add(c[1], h, t, u);
    full_add(c[2], e, f, g);
    const V d = c[2] & h;
    c[2] = c[2] ^ h;
    full_add(c[3], s, d, e);
    ripple<4, M>(c, s);
  }
  for (; i < n; ++i) {
    const V x = low(i), t = c[0] & x;
    V f;
    c[0] = c[0] ^ x;
    full_add(c[1], f, high(i), t);
    ripple<2, M>(c, f);
  }
}

// One query's expanded digits: one plane each.
template <class V>
struct SymbolDigits {
  using Vector = V;
  template <int M>
  RANKHASH_INLINE static inline void add(V (&c)[M + 1], const HammingTile& tile, const uint8_t* planes,
                                         const uint32_t* digits) {
    add_bits<M>(c, tile.n_digits, [=](int i) RANKHASH_INLINE { return load_as<V>(planes + digits[i]); });
  }
};

// One query's expanded digits of three binary symbols: one low and one high plane each.
template <class V>
struct BinaryDigits {
  using Vector = V;
  template <int M>
  RANKHASH_INLINE static inline void add(V (&c)[M + 1], const HammingTile& tile, const uint8_t* planes,
                                         const uint32_t* digits) {
    add_pairs<M>(
        c, tile.n_digits, [=](int i) RANKHASH_INLINE { return load_as<V>(planes + digits[i]); },
        [=](int i) RANKHASH_INLINE { return load_as<V>(planes + digits[i] + sizeof(V)); });
  }
};

// The block's own slices, compared with one query's bits. Single queries are bound by memory: what is read is
// prefetched little by little, since a whole block of prefetches at once would wait for the loads.
template <int B>
struct DirectDigits {
  using Vector = Bits;
  template <int M>
  RANKHASH_INLINE static inline void add(Bits (&c)[M + 1], const HammingTile& tile, const uint8_t* planes,
                                         const uint32_t* masks) {
    add_bits<M>(c, tile.layout.n_symbols, [=](int s) RANKHASH_INLINE {
      for (int p = 0; p < B; p += 2) __builtin_prefetch(planes + (s * B + p) * kSlice + kFetchAhead, 0, kFetchLevel);
      if (B > 2)
        asm volatile("" ::: "memory");  // GCC would mix the loads of all symbols, which are slower out of order
      Bits differs = load_bits(planes + s * B * kSlice) ^ fill_bits(masks[s * B]);
      for (int p = 1; p < B; ++p)
        differs = or_xor(differs, load_bits(planes + (s * B + p) * kSlice), fill_bits(masks[s * B + p]));
      return differs;
    });
  }
};

// All queries against one register of codes after another. Where there is a hit, the branch that tests for it is
// mispredicted and the work begun on the next queries is lost: a query is tested after the next one was counted. Where
// hits are frequent, there is no branch; all registers are kept, and those without hits overwritten.
template <class Digits, bool Frequent, int M>
static void count_tile(const HammingTile& tile) {
  using V = typename Digits::Vector;
  const int64_t size = static_cast<int64_t>(tile.layout.n_bits) * kSlice;
  const uint8_t* planes = tile.planes;
  WaitingHits<V, M> waiting;
  for (int block = 0; block < tile.n_blocks; block += sizeof(V) / kSlice, planes += size) {
    const V live = load_as<V>(tile.live + static_cast<int64_t>(block) * tile.live_stride);
    V hits = fill_as<V>(0), counted[M + 1];  // of the query before
    for (V& c : counted) c = hits;
    const auto test = [&](int query) RANKHASH_INLINE {
      if (waiting.n == waiting.kMost) waiting.report(tile, block, false);
      if (Frequent || nonzero_words(hits)) waiting.keep(query, hits, counted);
    };
    for (int q = 0; q < tile.n_queries; ++q) {
      V c[M + 1];
      for (int i = 0; i <= M; ++i) c[i] = fill_as<V>(tile.bias[q * kBiasStride + i]);
      Digits::template add<M>(c, tile, planes, tile.digits + static_cast<int64_t>(q) * tile.n_digits);
      if (!Frequent) test(q - 1);
      hits = and_not(live, c[M]);
      for (int i = 0; i <= M; ++i) counted[i] = c[i];
      if (Frequent) test(q);
    }
    if (!Frequent) test(tile.n_queries - 1);
    if (waiting.n) waiting.report(tile, block, true);
  }
}

template <class Digits, bool Frequent, int M = kMinCounter>
static void count_with(const HammingTile& tile) {
  if constexpr (M < kMaxCounter) {
    if (tile.counter_bits > M) return count_with<Digits, Frequent, M + 1>(tile);
  }
  count_tile<Digits, Frequent, M>(tile);
}

template <class Digits>
static void count_digits(const HammingTile& tile) {
  tile.frequent ? count_with<Digits, true>(tile) : count_with<Digits, false>(tile);
}

static int blocks_together(const Layout& layout) {
  const int64_t n_planes = static_cast<int64_t>(digits_of(layout)) * planes_per_digit(layout);
  return n_planes * static_cast<int64_t>(sizeof(Wide)) <= kMostPlaneBytes ? sizeof(Wide) / kSlice : 1;
}

template <class V>
static void count_planes(const HammingTile& tile) {
  tile.layout.arity == 2 ? count_digits<BinaryDigits<V>>(tile) : count_digits<SymbolDigits<V>>(tile);
}

static void count_expanded(const HammingTile& tile) {
  blocks_together(tile.layout) > 1 ? count_planes<Wide>(tile) : count_planes<Bits>(tile);
}

static void count_direct(const HammingTile& tile) {
  switch (tile.layout.symbol_bits) {
    case 1: return count_with<DirectDigits<1>, false>(tile);
    case 2: return count_with<DirectDigits<2>, false>(tile);
    case 3: return count_with<DirectDigits<3>, false>(tile);
    default: return count_with<DirectDigits<4>, false>(tile);
  }
}

// planes[s][v] = which codes have another symbol than v at s
template <class V, int B>
static void expand_symbols(const uint8_t* blocks, int n_blocks, const Layout& layout, uint8_t* planes) {
  const int64_t size = static_cast<int64_t>(layout.n_bits) * kSlice;
  for (int s = 0; s < layout.n_symbols; ++s, blocks += B * kSlice) {
    V slice[2][B];  // the slice and its complement
    for (int p = 0; p < B; ++p) {
      slice[0][p] = gather_as<V>(blocks + p * kSlice, size, n_blocks);
      slice[1][p] = slice[0][p] ^ fill_as<V>(~0u);
    }
    for (int v = 0; v < layout.arity; ++v, planes += sizeof(V)) {
      V differs = slice[v & 1][0];
      for (int p = 1; p < B; ++p) differs = differs | slice[v >> p & 1][p];
      store_bits(planes, differs);
    }
  }
}

// planes[g][v] = low and high bit of how many of the symbols 3g, 3g+1, 3g+2 differ from the bits of v
template <class V>
static void expand_binary(const uint8_t* blocks, int n_blocks, const Layout& layout, uint8_t* planes) {
  const int64_t size = static_cast<int64_t>(layout.n_bits) * kSlice;
  for (int s = 0; s < layout.n_symbols; s += kBinaryGroup) {
    V slice[kBinaryGroup];
    for (int i = 0; i < kBinaryGroup; ++i)
      slice[i] = s + i < layout.n_symbols ? gather_as<V>(blocks + (s + i) * kSlice, size, n_blocks) : fill_as<V>(0);
    for (int v = 0; v < 1 << kBinaryGroup; ++v, planes += 2 * sizeof(V)) {
      V x[kBinaryGroup];
      for (int i = 0; i < kBinaryGroup; ++i)
        x[i] = s + i < layout.n_symbols && v >> i & 1 ? slice[i] ^ fill_as<V>(~0u) : slice[i];
      V carry;
      full_add(x[0], carry, x[1], x[2]);
      store_bits(planes, x[0]);
      store_bits(planes + sizeof(V), carry);
    }
  }
}

template <class V>
static void expand_as(const uint8_t* blocks, int n_blocks, const Layout& layout, uint8_t* planes) {
  switch (layout.symbol_bits) {
    case 1: return expand_binary<V>(blocks, n_blocks, layout, planes);
    case 2: return expand_symbols<V, 2>(blocks, n_blocks, layout, planes);
    case 3: return expand_symbols<V, 3>(blocks, n_blocks, layout, planes);
    default: return expand_symbols<V, 4>(blocks, n_blocks, layout, planes);
  }
}

static void expand(const uint8_t* blocks, int n_blocks, const Layout& layout, uint8_t* planes) {
  blocks_together(layout) > 1 ? expand_as<Wide>(blocks, n_blocks, layout, planes)
                              : expand_as<Bits>(blocks, n_blocks, layout, planes);
}

}  // namespace rankhash::RANKHASH_ISA
