// The interface between the core and the instruction sets: a table of functions, chosen once.
//
// The implementations (*_impl.hpp) are written once over the small vector types of vec_<isa>.hpp and compiled by
// kernels_<isa>.cpp. They use no standard library: an inline function compiled for AVX2 must never be picked by the
// linker for a machine without it.
#pragma once
#include "core/layout.hpp"

// Keeps the state of kernels in registers: a call that is not inlined would move it through memory.
#define RANKHASH_INLINE __attribute__((always_inline))

namespace rankhash {

// ---- Hamming: counting by carry-save adders over bit slices ------------------------------------------------------
//
// The counters of a query start at 2^m - limit, so that after adding one bit per differing symbol counter plane m
// is set exactly where distance >= limit, without a separate comparison.
constexpr int kMinCounter = 4;
constexpr int kMaxCounter = bit_width(kMaxSymbols);
constexpr int kBiasStride = kMaxCounter + 1;

// A hit: its query, its place among the codes that were counted together, and its counter.
struct CountedCode {
  uint16_t query;
  uint16_t place;
  uint32_t counter;
};

// In the order of queries and places.
struct HammingHits {
  const CountedCode* codes;
  int n;
  int block;  // the first of the blocks that were counted together
  bool last;  // of these blocks
};

// Where the hits of a query are appended as distance << kPositionBits | position, in the order of positions.
constexpr int kPositionBits = 48;
struct HitSink {
  uint64_t* next;  // room for the hits of blocks that are counted together, whatever `stop`
  const uint64_t* stop;
  uint64_t start;  // distance = counter + start
};

struct HammingTile {
  const uint8_t* planes;   // the slices of the blocks (direct), or the output of expand()
  const uint32_t* digits;  // per query: n_bits masks of 0 or ~0 (direct), or n_digits byte offsets into planes
  const uint32_t* bias;    // per query: kBiasStride masks of 0 or ~0, the counters' start; read again for every block
  const uint8_t* live;     // kSlice bytes per block: mask of the live codes
  int live_stride;         // kSlice, or 0: the same bytes for every block
  int n_blocks;            // consecutive blocks: any number (direct), or the number expanded together
  int n_queries;
  int n_digits;      // per query
  int counter_bits;  // m
  Layout layout;
  void* context;
  bool frequent;  // hits are expected for many queries (ignored by count_direct)
  // Called for every block with hits, several times if there are many hits; the bias may change in the last call.
  void (*on_hits)(void* context, const HammingHits& hits);
  // One per query, or null. If there are sinks, hits go there instead, and on_full gets the queries, some of them
  // repeatedly, whose sink has reached its `stop`; their bias and their sinks may change.
  HitSink* sinks;
  int64_t first;  // position of the first code
  void (*on_full)(void* context, const uint16_t* queries, int n);
};
constexpr int kMostTogether = 2;  // blocks that one register may span

// A digit is one symbol, or three symbols of arity 2 (whose count takes two planes).
constexpr int kBinaryGroup = 3;
constexpr int digits_of(const Layout& layout) {
  return layout.arity == 2 ? (layout.n_symbols + kBinaryGroup - 1) / kBinaryGroup : layout.n_symbols;
}
constexpr int planes_per_digit(const Layout& layout) { return layout.arity == 2 ? 2 << kBinaryGroup : layout.arity; }

// ---- Rows: runs of packed codes at any address -------------------------------------------------------------------
struct RowHit {
  uint32_t row;
  int distance;
};
constexpr int kRowHits = 64;
struct RowTask {
  const uint8_t* rows;     // n_bytes each, readable for 8 bytes beyond the last one
  const uint32_t* ranges;  // first and end of every run
  int n_ranges;
  Layout layout;
  const uint64_t* query;   // packed row in n_words words, padded with 0
  const uint64_t* firsts;  // the first bit of every symbol, in n_words words
  int n_words;
  int below;  // rows with a smaller distance are hits
  void* context;
  int (*on_hits)(void* context, const RowHit* hits, int n);  // up to kRowHits; returns the new limit
};

// ---- Score tables: sums of byte tables of lower bounds, looked up by shuffles ---------------------------------------
//
// A column holds four bits of every code of a block, one byte per code. Code 8j + r of the block stands at 32r + j.
struct ScoreHits {
  int n;                        // queries with hits
  const int* queries;           // ascending
  const uint64_t (*places)[4];  // of each query: bit p of word w = the code at 64w + p of a column
};

struct ScoreTile {
  const uint8_t* columns;  // n_columns × kBlock
  uint8_t* tables;         // per query: n_columns × 16
  const uint32_t* bounds;  // per query: codes whose sum is at most this are hits
  const uint32_t* live;    // 8 words: bit j of word r = code 8j + r is live
  int n_queries;
  int n_columns;  // a multiple of 4
  bool frequent;  // hits are expected for many queries
  void* context;
  void (*on_hits)(void* context, const ScoreHits& hits);
};
constexpr int kWideGroup = 16;     // columns per group: their sums are kept in bytes
constexpr int kLargestEntry = 63;  // the sum of four entries does not saturate

// ---- Projection: a tile of vectors, one lane per vector -------------------------------------------------------------
constexpr int kTileRows = 24;  // vectors in a tile
constexpr int kRowGroup = 4;   // projections computed together

// ---- Training: one rank function, pair by pair ----------------------------------------------------------------------
//
// Rows of x and of the weights are `stride` floats, a multiple of 8; the weights have kRowGroup · ceil(arity /
// kRowGroup) rows, of which those from `arity` on are 0. A step adds rate · x to the row that should win and subtracts
// it from its rival.
struct PairTask {
  const float* x;         // n × stride
  const int32_t* pairs;   // n_pairs × 2 row numbers
  const uint8_t* labels;  // n_pairs: 1 similar, 0 not
  int64_t n_pairs;
  int64_t stride;
  int arity;
  bool hinge;             // the rival is compared with the best assignment without an error (true), or with the winners
  float rho, lam;         // cost of an error: different symbols for a similar pair, equal symbols for a dissimilar one
  float rate, rate_step;  // learning rate of the first pair, and its change from pair to pair
  int64_t age;            // pairs since averaging began; negative: it begins after -age pairs
  const float* rates;     // n_pairs learning rates instead; null: rate and rate_step give them
};
struct PairTotals {
  double bound;     // the sum of the pairs' bounds
  int64_t updates;  // pairs that changed the weights
  int64_t errors;   // pairs whose winners contradicted the label
};

// ---- Cells: codes of symbols of four bits, grouped by their nearest centroid ---------------------------------------
//
// A panel is 16 rows of a matrix side by side: panel[j][r] is element j of row r.
// A block is 32 codes: byte i of pair p holds symbol 2p of code i in its lower half, symbol 2p + 1 in its upper half.
// Behind the pairs a block may have the codes' corrections, one byte each.
constexpr int kPanel = 16;
constexpr int kCellBlock = 32;
constexpr int kMostLevel = 63;  // of an entry: four of them fit into a byte

struct CellTask {
  const uint8_t* blocks;  // n_blocks × (n_pairs, and 1 for corrections) × kCellBlock
  const uint8_t* tables;  // as level_tables writes them
  int n_blocks;
  int n_pairs;
  bool corrected;
  uint16_t factor;  // a correction adds byte · factor / 256
  uint32_t last;    // mask of the codes of the last block
  uint16_t start;   // initial value of the sums
  uint16_t limit;   // codes whose sum is at most this are hits
  void* context;
  // Receives the hits of a block and all its sums, those of the codes 0, 2, … and then those of 1, 3, …; returns the
  // new limit.
  uint16_t (*on_hits)(void* context, int block, uint32_t hits, const uint16_t* sums);
};

struct KeyRange {
  float least, most;
};

enum RowType { kFloat32, kFloat16, kInt8, kRowTypes };
// The distance of a query to a stored row; elements of type int8 are multiplied by `factor` first.
using RowDistance = float (*)(const float* query, const void* row, int64_t depth, float factor);
// The same for n rows that lie one behind another; `factors` (null: 1) has one per row.
using RunDistances = void (*)(const float* query, const void* rows, int64_t n, int64_t depth, const float* factors,
                              float* distances);

struct Kernels {
  const char* name;

  // Number of blocks that are expanded and counted together; n_blocks below is at most this number.
  int (*blocks_together)(const Layout& layout);
  void (*expand)(const uint8_t* blocks, int n_blocks, const Layout& layout, uint8_t* planes);
  void (*count_expanded)(const HammingTile& tile);
  void (*count_direct)(const HammingTile& tile);

  void (*compare_rows)(const RowTask& task);

  // slices: four slice numbers per column, -1 for none.
  void (*make_columns)(const uint8_t* block, const int16_t* slices, int n_columns, uint8_t* columns);
  // For one group of columns, for two (the bound is half the sum), and for more.
  void (*sum_scores)(const ScoreTile& tile);
  void (*sum_scores_double)(const ScoreTile& tile);
  void (*sum_scores_wide)(const ScoreTile& tile);

  // tile[j][i] = x[i][j] - center[j] for j < depth and n <= kTileRows vectors, `stride` apart; 0 for the remaining
  // lanes. False if one of the numbers is NaN or infinite.
  bool (*load_tile)(const float* x, int64_t n, int64_t stride, int64_t depth, const float* center, float* tile);
  // y[r][i] += Σ_j w[r][j] tile[j][i], in the order of j, by fused multiply-adds.
  // weights: groups of kRowGroup rows, [group][j][row]; n_rows a multiple of kRowGroup.
  void (*project)(const float* tile, int64_t depth, const float* weights, int64_t n_rows, float* y);
  // y[r][i] = Π_p tile[windows[r][p]][i]
  void (*multiply)(const float* tile, const int32_t* windows, int64_t n_rows, int degree, float* y);
  // words[w][i] = the packed codes of the tile; rows_per_symbol = arity, or 1: symbol = (y > 0).
  void (*pack_tile)(const float* y, const Layout& layout, int rows_per_symbol, uint32_t* words);

  // One pass over the pairs, which updates the weights. lag += update × pairs since averaging began, so that the mean
  // of the weights since then is weights - lag / pairs.
  PairTotals (*train)(const PairTask& task, float* weights, float* lag);
  // gradient[i][k] += 1 where pair member i should win k, -1 where its rival is k; y: n × arity scores.
  PairTotals (*pair_gradient)(const PairTask& task, const float* y, float* gradient);

  // out[q][16p + r] = Σ_j panels[p][j][r] · queries[q][j], in the order of j, by fused multiply-adds.
  void (*panel_dots)(const float* panels, int64_t n_panels, int64_t depth, const float* queries, int64_t n_queries,
                     float* out, int64_t out_stride);
  // keys = squares + scores, or `farthest` where the absolute value of that is not below it; gives the smallest and the
  // largest.
  KeyRange (*cell_keys)(const float* squares, const float* scores, int n, float farthest, float* keys);
  // The places of the keys that are at most `bound`, in order; `places` has room for n + 32. Returns how many.
  int (*keys_at_most)(const float* keys, int n, float bound, int32_t* places);
  void (*scan_cell)(const CellTask& task);
  // Tables of levels: (t[s][v] - min_v t[s][v]) · step, rounded, at most kMostLevel, where t = factor · tables +
  // offsets (null: 0). Every table of 16 bytes is written twice, in groups of four symbols: 0, 2, 1, 3. `bytes` has
  // room for n_symbols rounded up to a multiple of four. Returns Σ_s min_v t[s][v], added in the order of s.
  float (*level_tables)(const float* tables, const float* offsets, float factor, float step, int n_symbols,
                        uint8_t* bytes);
  RowDistance squared_distance[kRowTypes];
  RowDistance inner_product[kRowTypes];
  RunDistances squared_distances[kRowTypes];
  RunDistances inner_products[kRowTypes];
};

const Kernels& active_kernels();
bool use_kernels(const char* name);  // false if this machine has no such instruction set
int available_kernels(const Kernels** out, int capacity);

}  // namespace rankhash
