#include "core/encode.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <vector>

#include "core/aligned.hpp"
#include "core/threads.hpp"
#include "kernels/kernels.hpp"

namespace rankhash {
namespace {

constexpr int64_t kTilesPerTask = 32;
constexpr int64_t kDepth = 256;  // dimensions per pass, so that a tile fits into the L1 cache

int64_t round_up(int64_t value, int64_t unit) { return (value + unit - 1) / unit * unit; }

// Words of 32 bits, one lane per vector, written as the rows of packed codes.
void write_rows(const uint32_t* words, int64_t n, int n_bytes, uint8_t* rows) {
  for (int first = 0; first < n_bytes; first += 4, words += kTileRows) {
    const int bytes = std::min(4, n_bytes - first);
    if (bytes == 4)
      for (int64_t i = 0; i < n; ++i) std::memcpy(rows + i * n_bytes + first, words + i, 4);
    else
      for (int64_t i = 0; i < n; ++i) std::memcpy(rows + i * n_bytes + first, words + i, bytes);
  }
}

// fill(x, n, tile, y) computes n_rows values for each of n <= kTileRows vectors, and returns whether the vectors are
// finite; tile is scratch space of tile_size floats.
template <class Fill>
int64_t encode_tiles(const float* x, int64_t n, int64_t d, int64_t tile_size, int64_t n_rows, int rows_per_symbol,
                     const Layout& layout, int n_threads, uint8_t* rows, const Fill& fill) {
  const Kernels& kernels = active_kernels();
  const int64_t task_rows = kTilesPerTask * kTileRows;
  std::atomic<int64_t> bad_tile = n;
  parallel_for((n + task_rows - 1) / task_rows, n_threads, [&](int64_t task) {
    AlignedVector<float> tile(tile_size), y(n_rows * kTileRows);
    AlignedVector<uint32_t> words(round_up(layout.n_bytes, 4) / 4 * kTileRows);
    const int64_t last = std::min(n, (task + 1) * task_rows);
    for (int64_t i = task * task_rows; i < last; i += kTileRows) {
      const int64_t count = std::min<int64_t>(kTileRows, last - i);
      if (!fill(kernels, x + i * d, count, tile.data(), y.data()))
        for (int64_t known = bad_tile; i < known && !bad_tile.compare_exchange_weak(known, i);) {
        }
      kernels.pack_tile(y.data(), layout, rows_per_symbol, words.data());
      write_rows(words.data(), count, layout.n_bytes, rows + i * layout.n_bytes);
    }
  });
  return bad_tile < n ? bad_tile + first_nonfinite_row(x + bad_tile * d, n - bad_tile, d) : -1;
}

// Weights in the order of Kernels::project, kDepth dimensions at a time: [dimensions][group][j][row].
std::vector<float> pack_weights(const float* weights, int64_t used, int64_t n_rows, int64_t d) {
  std::vector<float> packed(n_rows * d);
  for (int64_t r = 0; r < used; ++r)
    for (int64_t j = 0; j < d; ++j) {
      const int64_t first = j / kDepth * kDepth, depth = std::min(kDepth, d - first);
      float* group = packed.data() + first * n_rows + r / kRowGroup * kRowGroup * depth;
      group[(j - first) * kRowGroup + r % kRowGroup] = weights[r * d + j];
    }
  return packed;
}

// Projections in the memory layout of the kernels.
struct PackedProjections {
  int64_t n_rows, d;
  const float* center;
  std::vector<float> weights, start;

  PackedProjections(const Projections& projections, int64_t used, int64_t d)
      : n_rows(round_up(used, kRowGroup)),
        d(d),
        center(projections.center),
        weights(pack_weights(projections.weights, used, n_rows, d)),
        start(n_rows * kTileRows) {
    for (int64_t r = 0; r < used && projections.bias; ++r)
      std::fill_n(start.begin() + r * kTileRows, kTileRows, projections.bias[r]);
  }

  int64_t tile_size() const { return std::min(d, kDepth) * kTileRows; }

  // The values y of n <= kTileRows vectors, one lane per vector; returns whether the vectors are finite.
  bool fill(const Kernels& kernels, const float* x, int64_t n, float* tile, float* y) const {
    bool finite = true;
    std::copy(start.begin(), start.end(), y);
    for (int64_t first = 0; first < d; first += kDepth) {
      const int64_t depth = std::min(kDepth, d - first);
      finite &= kernels.load_tile(x + first, n, d, depth, center ? center + first : nullptr, tile);
      kernels.project(tile, depth, weights.data() + first * n_rows, n_rows, y);
    }
    return finite;
  }
};

}  // namespace

int64_t encode_projections(const float* x, int64_t n, int64_t d, const Projections& projections, const Layout& layout,
                           int n_threads, uint8_t* rows) {
  const PackedProjections packed(projections, static_cast<int64_t>(layout.n_symbols) * projections.rows_per_symbol, d);
  const auto fill = [&](const Kernels& kernels, const float* x, int64_t n, float* tile, float* y) {
    return packed.fill(kernels, x, n, tile, y);
  };
  return encode_tiles(x, n, d, packed.tile_size(), packed.n_rows, projections.rows_per_symbol, layout, n_threads, rows,
                      fill);
}

void project(const float* x, int64_t n, int64_t d, const Projections& projections, int64_t n_rows, int n_threads,
             float* out) {
  const Kernels& kernels = active_kernels();
  const PackedProjections packed(projections, n_rows, d);
  const int64_t task_rows = kTilesPerTask * kTileRows;
  parallel_for((n + task_rows - 1) / task_rows, n_threads, [&](int64_t task) {
    AlignedVector<float> tile(packed.tile_size()), y(packed.n_rows * kTileRows);
    const int64_t last = std::min(n, (task + 1) * task_rows);
    for (int64_t i = task * task_rows; i < last; i += kTileRows) {
      const int64_t count = std::min<int64_t>(kTileRows, last - i);
      packed.fill(kernels, x + i * d, count, tile.data(), y.data());
      for (int64_t lane = 0; lane < count; ++lane)
        for (int64_t r = 0; r < n_rows; ++r) out[(i + lane) * n_rows + r] = y[r * kTileRows + lane];
    }
  });
}

int64_t encode_windows(const float* x, int64_t n, int64_t d, const int32_t* windows, int degree, const Layout& layout,
                       int n_threads, uint8_t* rows) {
  const int64_t n_rows = static_cast<int64_t>(layout.n_symbols) * layout.arity;
  const auto fill = [&](const Kernels& kernels, const float* x, int64_t n, float* tile, float* y) {
    const bool finite = kernels.load_tile(x, n, d, d, nullptr, tile);
    kernels.multiply(tile, windows, n_rows, degree, y);
    return finite;
  };
  return encode_tiles(x, n, d, d * kTileRows, n_rows, layout.arity, layout, n_threads, rows, fill);
}

int64_t first_nonfinite_row(const float* x, int64_t n, int64_t d) {
  constexpr uint32_t kExponent = 0x7F800000u;
  constexpr int64_t kChunk = 4096;  // many numbers at once: rows may be short
  const auto is_bad = [](float value) {
    uint32_t bits;
    std::memcpy(&bits, &value, 4);
    return static_cast<uint32_t>((bits & kExponent) == kExponent);
  };
  for (int64_t first = 0; first < n * d; first += kChunk) {
    const float* chunk = x + first;
    const int64_t size = std::min(kChunk, n * d - first);
    uint32_t bad = 0;
    for (int64_t i = 0; i < size; ++i) bad |= is_bad(chunk[i]);
    if (bad) return (first + (std::find_if(chunk, chunk + size, is_bad) - chunk)) / d;
  }
  return -1;
}

}  // namespace rankhash
