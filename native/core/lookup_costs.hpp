// The cost model of look-ups.
#pragma once

namespace rankhash {

// Costs in units of about a nanosecond on the machine where they were measured; only their ratios matter. The duration
// of a unit on other machines is measured at run time, see LookupStats.
struct LookupCosts {
  static constexpr double kProbe = 1.2;    // of a key: one bit of `occupied`
  static constexpr double kBucket = 40;    // of a bucket: its offsets and first rows, from memory
  static constexpr double kRowWord = 1.3;  // of 8 bytes of a row
  static constexpr double kSlicedWord = 0.3;
  static constexpr double kHit = 15;
};

}  // namespace rankhash
