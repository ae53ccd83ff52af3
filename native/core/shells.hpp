// The keys at a given number of differing symbols from a query's key.
#pragma once
#include <vector>

#include "core/codes.hpp"
#include "core/segment.hpp"

namespace rankhash {

class Shells {
 public:
  // row: the packed query, which must outlive this object and be readable for kRowPadding bytes beyond its end.
  Shells(const uint8_t* row, const Layout& layout, const KeySpan& span)
      : row_(row), layout_(layout), span_(span), key_(key_of(row, layout, span)) {}

  uint32_t key() const { return key_; }
  int n_symbols() const { return span_.count; }

  // The number of keys at exactly `radius`.
  double count(int radius) const {
    double keys = 1;
    for (int i = 0; i < radius; ++i) keys = keys * (span_.count - i) / (i + 1) * (layout_.arity - 1);
    return keys;
  }

  // emit(key) for every key at exactly `radius`, until it returns false.
  template <class Emit>
  bool visit(int radius, const Emit& emit) {
    if (radius == 0) return emit(key_);
    if (steps_.empty()) make_steps();
    return visit_from(span_.count - 1, radius, key_, emit);
  }

 private:
  void make_steps() {
    steps_.reserve(span_.count * (layout_.arity - 1));
    uint32_t weight = 1;
    for (int s = 0; s < span_.count; ++s, weight *= layout_.arity) {
      const uint32_t value = symbol_at(row_, layout_, span_.first + s);
      for (uint32_t other = 0; other < static_cast<uint32_t>(layout_.arity); ++other)
        if (other != value) steps_.push_back((other - value) * weight);
    }
  }

  // In descending order of symbols, so that the keys of the inner loop are close in memory.
  template <class Emit>
  bool visit_from(int symbol, int left, uint32_t key, const Emit& emit) const {
    const int n_others = layout_.arity - 1;
    for (int s = symbol; s >= left - 1; --s)
      for (int i = 0; i < n_others; ++i) {
        const uint32_t changed = key + steps_[s * n_others + i];
        if (!(left == 1 ? emit(changed) : visit_from(s - 1, left - 1, changed, emit))) return false;
      }
    return true;
  }

  const uint8_t* row_;
  const Layout& layout_;
  KeySpan span_;
  uint32_t key_;
  std::vector<uint32_t> steps_;  // change of the key by a changed symbol, modulo 2^32; computed on first use
};

}  // namespace rankhash
