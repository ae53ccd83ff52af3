// All pairs of near codes, through hash tables over the bits of a few runs of symbols.
//
//   runs     disjoint sets of bits; near codes agree in at least `n_agree` of them
//   tables   choices of n_agree runs: codes that agree in all of them share a bucket and are compared
//
// A pair is counted in one table only: that of the first n_agree runs in which its codes agree.
#pragma once
#include <vector>

#include "core/layout.hpp"

namespace rankhash {

struct JoinRows {
  const uint8_t* rows;  // packed codes, n_bytes each
  int64_t n;
};

struct JoinTask {
  Layout layout;
  JoinRows firsts;               // the first members of pairs
  int64_t begin, end;            // the range of first members to join
  const JoinRows* others;        // the second members; null: the codes after the first one
  const uint64_t* runs;          // n_runs × n_words masks of a code's bits
  int n_runs;                    // at most 64
  std::vector<uint64_t> tables;  // bit r: run r
  int max_differing;             // pairs that differ in more symbols are not near
  const float* weights;          // of differing symbols; null: 1
  float radius;
  int64_t limit;  // largest number of pairs
  int n_threads;
};

// Pairs of positions in the order (first, second).
struct JoinPairs {
  std::vector<int64_t> first, second;
  std::vector<float> distances;
  bool complete = true;  // false: there are more than `limit` pairs, and none is returned
};

JoinPairs join(const JoinTask& task);

// Union-find: merges the sets of the members of every pair; parents[i] <= i leads to the smallest member of i's set.
void connect(int64_t* parents, const int64_t* first, const int64_t* second, int64_t n_pairs);

}  // namespace rankhash
