// A query's tables as the cells need them: the range of their sums, and their entries as levels.
#pragma once
#include <utility>
#include <vector>

#include "core/aligned.hpp"
#include "core/cells.hpp"

namespace rankhash {

class CellTables {
 public:
  explicit CellTables(const CellsView& cells)
      : cells_(cells), kernels_(active_kernels()), own_(cells.offsets ? n_bytes() : 0) {}

  // tables: as in CellQueryInput.
  void begin(const float* tables) {
    tables_ = tables;
    shared_.clear();
  }

  // The smallest and the largest sum of a code of the cell, its correction included.
  std::pair<float, float> range(int cell) {
    const float low = low_of(cell);
    if (cells_.offsets) {
      const auto [least, most] = range_of_sums(offsets_of(cell), cells_.scales[cell]);
      return {low + least, low + most};
    }
    const Shared& shared = shared_tables(cell);
    return {low + shared.low, low + shared.high};
  }

  struct Levels {
    const uint8_t* bytes;
    float least;      // the sum that level 0 of all entries stands for, its lowest correction included
    uint16_t factor;  // levels that a correction adds, in 256ths per unit of its byte
  };

  // The cell's tables as levels, `scale` of them per unit of distance; valid until the next call.
  Levels levels(int cell, float scale) {
    const float steps = std::min(step_of(cell) * scale * 256 + 0.5f, 65535.0f);
    const auto factor = static_cast<uint16_t>(steps);
    if (cells_.offsets) {
      const float least =
          kernels_.level_tables(tables_, offsets_of(cell), cells_.scales[cell], scale, cells_.n_symbols, own_.data());
      return {own_.data(), least + low_of(cell), factor};
    }
    Shared& shared = shared_tables(cell);
    if (shared.scale != scale) {
      shared.least =
          kernels_.level_tables(tables_, nullptr, shared.factor, scale, cells_.n_symbols, shared.bytes.data());
      shared.scale = scale;
    }
    return {shared.bytes.data(), shared.least + low_of(cell), factor};
  }

  // The sum of a code's entries themselves, instead of their levels. pairs: its first byte within a block.
  float sum(int cell, const uint8_t* pairs) const {
    const float scale = cells_.scales[cell];
    const float* offsets = offsets_of(cell);
    float sum = low_of(cell);
    if (cells_.lows) sum += step_of(cell) * pairs[cells_.n_symbols / 2 * kCellBlock];
    for (int s = 0; s < cells_.n_symbols; ++s) {
      const int entry = s * kPanel + (pairs[s / 2 * kCellBlock] >> (s % 2 * 4) & 15);
      sum += scale * tables_[entry] + (offsets ? offsets[entry] : 0.0f);
    }
    return sum;
  }

  void prefetch(int cell) const {
    const char* offsets = reinterpret_cast<const char*>(offsets_of(cell));
    for (int at = 0; offsets && at < cells_.n_symbols * kPanel * 4; at += 64) __builtin_prefetch(offsets + at);
  }

 private:
  // Of all cells of a scale, if cells have no offsets.
  struct Shared {
    float factor, step;  // of the cells
    float low, high;     // the smallest and the largest sum of entries
    float scale, least;  // of the levels, and the sum that level 0 stands for
    AlignedVector<uint8_t> bytes;
  };

  size_t n_bytes() const { return static_cast<size_t>(cells_.n_symbols + 3) / 4 * 4 * 2 * kPanel; }
  float low_of(int cell) const { return cells_.lows ? cells_.lows[cell] : 0.0f; }
  float step_of(int cell) const { return cells_.steps ? cells_.steps[cell] : 0.0f; }
  const float* offsets_of(int cell) const {
    return cells_.offsets ? cells_.offsets + static_cast<int64_t>(cell) * cells_.n_symbols * kPanel : nullptr;
  }

  Shared& shared_tables(int cell) {
    const float factor = cells_.scales[cell], step = step_of(cell);
    for (Shared& known : shared_)
      if (known.factor == factor && known.step == step) return known;
    if (shared_.empty()) range_ = range_of_sums(nullptr, 1);
    const auto [low, high] = range_;
    shared_.push_back(
        {factor, step, factor * low, factor * high + 255 * step, 0, 0, AlignedVector<uint8_t>(n_bytes())});
    return shared_.back();
  }

  // The smallest and the largest sum of factor · tables + offsets. Halves are compared with each other, which the
  // compiler turns into a few instructions.
  std::pair<float, float> range_of_sums(const float* offsets, float factor) const {
    float low = 0, high = 0;
    for (int s = 0; s < cells_.n_symbols; ++s) {
      float least[kPanel], most[kPanel];
      for (int v = 0; v < kPanel; ++v)
        least[v] = most[v] = factor * tables_[s * kPanel + v] + (offsets ? offsets[s * kPanel + v] : 0.0f);
      for (int half = kPanel / 2; half; half /= 2)
        for (int v = 0; v < half; ++v) {
          least[v] = std::min(least[v], least[v + half]);
          most[v] = std::max(most[v], most[v + half]);
        }
      low += least[0];
      high += most[0];
    }
    return {low, high};
  }

  const CellsView& cells_;
  const Kernels& kernels_;
  const float* tables_ = nullptr;
  AlignedVector<uint8_t> own_;  // levels of the cell that is scanned, if cells have offsets
  std::vector<Shared> shared_;
  std::pair<float, float> range_;  // of all tables, at the scale 1
};

}  // namespace rankhash
