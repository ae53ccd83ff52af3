#include "core/encode.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

#include "core/threads.hpp"
#include "kernels/kernels.hpp"

namespace rankhash {
namespace {

constexpr int64_t kTilesPerTask = 32;

int64_t round_up(int64_t value, int64_t unit) { return (value + unit - 1) / unit * unit; }

// Words of 32 bits, one lane a vector, written as the rows of packed codes.
void write_rows(const uint32_t* words, int64_t n, int n_bytes, uint8_t* rows) {
  for (int first = 0; first < n_bytes; first += 4, words += kTileRows) {
    const int bytes = std::min(4, n_bytes - first);
    if (bytes == 4)
      for (int64_t i = 0; i < n; ++i) std::memcpy(rows + i * n_bytes + first, words + i, 4);
    else
      for (int64_t i = 0; i < n; ++i) std::memcpy(rows + i * n_bytes + first, words + i, bytes);
  }
}

// fill(tile of vectors, y) computes the tile's rows of values.
template <class Fill>
void encode_tiles(const float* x, int64_t n, int64_t d, const float* center, int64_t n_rows, int rows_per_symbol,
                  const Layout& layout, int n_threads, uint8_t* rows, const Fill& fill) {
  const Kernels& kernels = active_kernels();
  const int64_t task_rows = kTilesPerTask * kTileRows;
  parallel_for((n + task_rows - 1) / task_rows, n_threads, [&](int64_t task) {
    std::vector<float> tile(d * kTileRows), y(n_rows * kTileRows);
    std::vector<uint32_t> words(round_up(layout.n_bytes, 4) / 4 * kTileRows);
    const int64_t last = std::min(n, (task + 1) * task_rows);
    for (int64_t i = task * task_rows; i < last; i += kTileRows) {
      const int64_t count = std::min<int64_t>(kTileRows, last - i);
      kernels.load_tile(x + i * d, count, d, center, tile.data());
      fill(kernels, tile.data(), y.data());
      kernels.pack_tile(y.data(), layout, rows_per_symbol, words.data());
      write_rows(words.data(), count, layout.n_bytes, rows + i * layout.n_bytes);
    }
  });
}

}  // namespace

void encode_projections(const float* x, int64_t n, int64_t d, const Projections& projections, const Layout& layout,
                        int n_threads, uint8_t* rows) {
  const int64_t used = static_cast<int64_t>(layout.n_symbols) * projections.rows_per_symbol;
  const int64_t n_rows = round_up(used, kRowGroup);
  std::vector<float> weights(n_rows * d), bias(n_rows);
  for (int64_t r = 0; r < used; ++r) {
    if (projections.bias) bias[r] = projections.bias[r];
    float* group = weights.data() + r / kRowGroup * kRowGroup * d + r % kRowGroup;
    for (int64_t j = 0; j < d; ++j) group[j * kRowGroup] = projections.weights[r * d + j];
  }
  encode_tiles(x, n, d, projections.center, n_rows, projections.rows_per_symbol, layout, n_threads, rows,
               [&](const Kernels& kernels, const float* tile, float* y) {
                 kernels.project(tile, d, weights.data(), bias.data(), n_rows, y);
               });
}

void encode_windows(const float* x, int64_t n, int64_t d, const int32_t* windows, int degree, const Layout& layout,
                    int n_threads, uint8_t* rows) {
  const int64_t n_rows = static_cast<int64_t>(layout.n_symbols) * layout.arity;
  encode_tiles(x, n, d, nullptr, n_rows, layout.arity, layout, n_threads, rows,
               [&](const Kernels& kernels, const float* tile, float* y) {
                 kernels.multiply(tile, windows, n_rows, degree, y);
               });
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
