// Counts differing symbols of 256 codes at once: one carry-save adder tree over bit slices for each query.

namespace rankhash::RANKHASH_ISA {

RANKHASH_INLINE static inline void full_add(Bits& sum, Bits& carry, Bits a, Bits b) {
  const Bits half = sum ^ a;
  carry = (sum & a) | (half & b);
  sum = half ^ b;
}

template <int From, int M>
RANKHASH_INLINE static inline void ripple(Bits (&c)[M + 1], Bits carry) {
  for (int i = From; i <= M; ++i) {
    const Bits next = c[i] & carry;
    c[i] = c[i] ^ carry;
    carry = next;
  }
}

// Adds the bits in(0) … in(n-1), each of weight 1, to the counters.
template <int M, class In>
RANKHASH_INLINE static inline void add_bits(Bits (&c)[M + 1], int n, const In& in) {
  const auto add4 = [&](int i) RANKHASH_INLINE {  // returns the carry of weight 4
    Bits t, u, f;
    full_add(c[0], t, in(i), in(i + 1));
    full_add(c[0], u, in(i + 2), in(i + 3));
    full_add(c[1], f, t, u);
    return f;
  };
  const auto add8 = [&](int i) RANKHASH_INLINE {  // returns the carry of weight 8
    const Bits f = add4(i), g = add4(i + 4);
    Bits e;
    full_add(c[2], e, f, g);
    return e;
  };
  int i = 0;
  for (; i + 16 <= n; i += 16) {
    const Bits e = add8(i), f = add8(i + 8);
    Bits s;
    full_add(c[3], s, e, f);
    ripple<4, M>(c, s);
  }
  if (i + 8 <= n) ripple<3, M>(c, add8(i)), i += 8;
  if (i + 4 <= n) ripple<2, M>(c, add4(i)), i += 4;
  for (; i < n; ++i) ripple<0, M>(c, in(i));
}

// Adds n numbers of two bits, of weight 1 (low) and 2 (high).
template <int M, class Low, class High>
RANKHASH_INLINE static inline void add_pairs(Bits (&c)[M + 1], int n, const Low& low, const High& high) {
  const auto add2 = [&](int i, Bits& t, Bits& f) RANKHASH_INLINE {  // t of weight 2, f of weight 4
    full_add(c[0], t, low(i), low(i + 1));
    full_add(c[1], f, high(i), high(i + 1));
  };
  int i = 0;
  for (; i + 4 <= n; i += 4) {
    Bits t, u, f, g, h, e, s;
    add2(i, t, f);
    add2(i + 2, u, g);
    full_add(c[1], h, t, u);
    full_add(c[2], e, f, g);
    const Bits d = c[2] & h;
    c[2] = c[2] ^ h;
    full_add(c[3], s, d, e);
    ripple<4, M>(c, s);
  }
  for (; i < n; ++i) {
    const Bits x = low(i), t = c[0] & x;
    Bits f;
    c[0] = c[0] ^ x;
    full_add(c[1], f, high(i), t);
    ripple<2, M>(c, f);
  }
}

// One query's expanded digits: a slice each.
struct SymbolDigits {
  template <int M>
  RANKHASH_INLINE static inline void add(Bits (&c)[M + 1], const HammingTile& tile, const uint32_t* digits) {
    const uint8_t* planes = tile.planes;
    add_bits<M>(c, tile.n_digits, [=](int i) RANKHASH_INLINE { return load_bits(planes + digits[i]); });
  }
};

// One query's expanded digits of three binary symbols: a low and a high slice each.
struct BinaryDigits {
  template <int M>
  RANKHASH_INLINE static inline void add(Bits (&c)[M + 1], const HammingTile& tile, const uint32_t* digits) {
    const uint8_t* planes = tile.planes;
    add_pairs<M>(
        c, tile.n_digits, [=](int i) RANKHASH_INLINE { return load_bits(planes + digits[i]); },
        [=](int i) RANKHASH_INLINE { return load_bits(planes + digits[i] + kSlice); });
  }
};

// The block's own slices, compared with one query's bits.
template <int B>
struct DirectDigits {
  template <int M>
  RANKHASH_INLINE static inline void add(Bits (&c)[M + 1], const HammingTile& tile, const uint32_t* masks) {
    const uint8_t* planes = tile.planes;
    add_bits<M>(c, tile.layout.n_symbols, [=](int s) RANKHASH_INLINE {
      Bits differs = load_bits(planes + s * B * kSlice) ^ fill_bits(masks[s * B]);
      for (int p = 1; p < B; ++p)
        differs = differs | (load_bits(planes + (s * B + p) * kSlice) ^ fill_bits(masks[s * B + p]));
      return differs;
    });
  }
};

template <class Digits, int M>
static void count_tile(const HammingTile& tile) {
  const Bits live = load_bits(tile.live);
  for (int q = 0; q < tile.n_queries; ++q) {
    Bits c[M + 1];
    for (int i = 0; i <= M; ++i) c[i] = fill_bits(tile.bias[q * kBiasStride + i]);
    Digits::template add<M>(c, tile, tile.digits + static_cast<int64_t>(q) * tile.n_digits);
    const Bits hits = and_not(live, c[M]);
    if (any_bit(hits)) {
      uint64_t mask[4], counters[4 * M];
      store_bits(mask, hits);
      for (int i = 0; i < M; ++i) store_bits(counters + 4 * i, c[i]);
      tile.on_hits(tile.context, q, mask, counters);
    }
  }
}

template <class Digits, int M = kMinCounter>
static void count_with(const HammingTile& tile) {
  if constexpr (M < kMaxCounter) {
    if (tile.counter_bits > M) return count_with<Digits, M + 1>(tile);
  }
  count_tile<Digits, M>(tile);
}

static void count_expanded(const HammingTile& tile) {
  if (tile.layout.arity == 2) return count_with<BinaryDigits>(tile);
  count_with<SymbolDigits>(tile);
}

// A few queries wait for memory: asking for the next block while this one is counted hides most of that.
static inline void prefetch_next_block(const HammingTile& tile) {
  const int64_t size = static_cast<int64_t>(tile.layout.n_bits) * kSlice;
  for (int64_t at = 0; at < (size < 4096 ? size : 4096); at += 64) __builtin_prefetch(tile.planes + size + at, 0, 2);
}

static void count_direct(const HammingTile& tile) {
  prefetch_next_block(tile);
  switch (tile.layout.symbol_bits) {
    case 1: return count_with<DirectDigits<1>>(tile);
    case 2: return count_with<DirectDigits<2>>(tile);
    case 3: return count_with<DirectDigits<3>>(tile);
    default: return count_with<DirectDigits<4>>(tile);
  }
}

// planes[s][v] = which codes have another symbol than v at s
template <int B>
static void expand_symbols(const uint8_t* block, const Layout& layout, uint8_t* planes) {
  for (int s = 0; s < layout.n_symbols; ++s, block += B * kSlice) {
    Bits slice[2][B];  // as it is, and inverted
    for (int p = 0; p < B; ++p) {
      slice[0][p] = load_bits(block + p * kSlice);
      slice[1][p] = slice[0][p] ^ fill_bits(~0u);
    }
    for (int v = 0; v < layout.arity; ++v, planes += kSlice) {
      Bits differs = slice[v & 1][0];
      for (int p = 1; p < B; ++p) differs = differs | slice[v >> p & 1][p];
      store_bits(planes, differs);
    }
  }
}

// planes[g][v] = low and high bit of how many of the symbols 3g, 3g+1, 3g+2 differ from the bits of v
static void expand_binary(const uint8_t* block, const Layout& layout, uint8_t* planes) {
  for (int s = 0; s < layout.n_symbols; s += kBinaryGroup) {
    for (int v = 0; v < 1 << kBinaryGroup; ++v, planes += 2 * kSlice) {
      Bits x[kBinaryGroup];
      for (int i = 0; i < kBinaryGroup; ++i)
        x[i] = s + i < layout.n_symbols
                   ? load_bits(block + (s + i) * kSlice) ^ fill_bits((v >> i & 1) ? ~0u : 0u)
                   : zero_bits();
      Bits carry;
      full_add(x[0], carry, x[1], x[2]);
      store_bits(planes, x[0]);
      store_bits(planes + kSlice, carry);
    }
  }
}

static void expand(const uint8_t* block, const Layout& layout, uint8_t* planes) {
  switch (layout.symbol_bits) {
    case 1: return expand_binary(block, layout, planes);
    case 2: return expand_symbols<2>(block, layout, planes);
    case 3: return expand_symbols<3>(block, layout, planes);
    default: return expand_symbols<4>(block, layout, planes);
  }
}

}  // namespace rankhash::RANKHASH_ISA
