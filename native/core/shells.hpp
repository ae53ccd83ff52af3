// The keys at a given number of differing symbols from a query's key.
#pragma once
#include <vector>

#include "core/codes.hpp"
#include "core/segment.hpp"

namespace rankhash {

class Shells {
 public:
  // row: the packed query.
  Shells(const uint8_t* row, const Layout& layout, const KeySpan& span)
      : n_symbols_(span.count), n_others_(layout.arity - 1), steps_(span.count * (layout.arity - 1)) {
    uint32_t weight = 1;
    uint32_t* step = steps_.data();
    for (int s = 0; s < span.count; ++s, weight *= layout.arity) {
      const int b = layout.symbol_bits;
      const uint32_t value = row_bits(row, layout.n_bytes, (span.first + s) * b, b);
      for (uint32_t other = 0; other < static_cast<uint32_t>(layout.arity); ++other)
        if (other != value) *step++ = (other - value) * weight;
      key_ += value * weight;
    }
  }

  uint32_t key() const { return key_; }
  int n_symbols() const { return n_symbols_; }

  // Keys at exactly `radius`.
  double count(int radius) const {
    double keys = 1;
    for (int i = 0; i < radius; ++i) keys = keys * (n_symbols_ - i) / (i + 1) * n_others_;
    return keys;
  }

  // emit(key) for every key at exactly `radius`, until it returns false.
  template <class Emit>
  bool visit(int radius, const Emit& emit) const {
    return radius == 0 ? emit(key_) : visit_from(n_symbols_ - 1, radius, key_, emit);
  }

 private:
  // Symbols fall, so that the keys of the inner loop lie near each other.
  template <class Emit>
  bool visit_from(int symbol, int left, uint32_t key, const Emit& emit) const {
    for (int s = symbol; s >= left - 1; --s)
      for (int i = 0; i < n_others_; ++i) {
        const uint32_t changed = key + steps_[s * n_others_ + i];
        if (!(left == 1 ? emit(changed) : visit_from(s - 1, left - 1, changed, emit))) return false;
      }
    return true;
  }

  int n_symbols_;
  int n_others_;
  uint32_t key_ = 0;
  std::vector<uint32_t> steps_;  // what a changed symbol adds to the key, modulo 2^32
};

}  // namespace rankhash
