// Exact search through hash tables, by rising radius.
//
// If a code differs from the query in at least r_t + 1 symbols of table t's key, for every t, it differs in at least
// Σ (r_t + 1) symbols: after looking at all keys within r_t of the query's, everything nearer has been seen. Each step
// takes the table whose next radius is cheapest. A query that becomes dearer than its budget is scanned instead.
#pragma once
#include "core/segment.hpp"

namespace rankhash {

// What look-up reads besides the hash tables: codes that are not in them, or no longer as they were.
struct TablesView {
  CodesView store;  // all codes, with what a search may find in `live`
  std::vector<const Segment*> segments;
  int64_t n_sealed;      // codes in segments; those behind are scanned
  const uint8_t* stale;  // a bit a position: its code has changed since; null: none
  CodesView changed;     // the changed codes, with explicit ids in any order
};

struct LookupStats {
  int64_t probes = 0;      // keys looked at
  int64_t buckets = 0;     // of them with codes
  int64_t candidates = 0;  // codes compared
  int64_t duplicates = 0;  // candidates that another table had given before
  int64_t hits = 0;        // results
  int64_t radius = -1;     // everything within it has been seen; of the largest segment
  int64_t scanned = 0;     // 1: look-up was given up
  double cost = 0;         // units, see LookupCosts
  double nanoseconds = 0;  // as measured, without a scan
};

struct LookupOptions {
  double budget;  // units that a query may cost before it is scanned
  int n_threads;
  LookupStats* stats;  // n, or null
  bool scan;           // false: queries over budget get no answer
};

// False: some queries got no answer.
bool lookup(const TablesView& view, const uint8_t* queries, int64_t n, int64_t k, const LookupOptions& options,
            int64_t* ids, float* distances);
RadiusHits lookup_radius(const TablesView& view, const uint8_t* queries, int64_t n, int radius,
                         const LookupOptions& options);

// The hits of one query; false: it is too dear.
bool lookup_radius_one(const TablesView& view, const uint8_t* query, int radius, double budget,
                       std::vector<HammingHit>& hits);

// By the sum of the weights (n_symbols) of the differing symbols; tables as for search_scores, made of the same.
void lookup_weighted(const TablesView& view, const uint8_t* queries, const float* weights, const float* tables,
                     int64_t n, int64_t k, const LookupOptions& options, int64_t* ids, float* distances);
RadiusHits lookup_weighted_radius(const TablesView& view, const uint8_t* queries, const float* weights,
                                  const float* tables, int64_t n, float radius, const LookupOptions& options);

}  // namespace rankhash
