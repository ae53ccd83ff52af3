// What the parts of a look-up cost.
#pragma once

namespace rankhash {

// Costs in units, about the nanoseconds of one machine: only their ratios count. What a unit takes elsewhere is
// measured there, see LookupStats.
struct LookupCosts {
  static constexpr double kProbe = 1.2;    // a key: a bit of `occupied`
  static constexpr double kBucket = 40;    // its bucket: offsets and the first rows, from memory
  static constexpr double kRowWord = 1.3;  // 8 bytes of a row
  static constexpr double kSlicedWord = 0.3;
  static constexpr double kHit = 15;
};

}  // namespace rankhash
