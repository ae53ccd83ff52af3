// Exact search through hash tables, by increasing radius.
//
// If a code differs from the query in at least r_t + 1 symbols of table t's key, for every t, it differs in at least
// Σ (r_t + 1) symbols. So after all keys within r_t of the query's key have been probed in every table t, all codes
// with fewer than Σ (r_t + 1) differing symbols have been seen. Each step probes the table whose next radius is
// cheapest. A query whose cost exceeds its budget is scanned instead.
#pragma once
#include "core/segment.hpp"

namespace rankhash {

// The input of a look-up: the hash tables, and the codes that are not in them or have changed since.
struct TablesView {
  CodesView store;  // all codes; `live` marks those that a search may find
  std::vector<const Segment*> segments;
  int64_t n_sealed;      // codes in segments; later ones are scanned
  const uint8_t* stale;  // one bit per position: its code has changed since; null: none
  CodesView changed;     // the changed codes, with explicit ids in any order
};

struct LookupStats {
  int64_t probes = 0;      // keys probed
  int64_t buckets = 0;     // keys with codes
  int64_t candidates = 0;  // codes compared
  int64_t duplicates = 0;  // candidates already found through another table
  int64_t hits = 0;        // results
  int64_t radius = -1;     // all codes of the largest segment within it have been seen
  int64_t scanned = 0;     // 1: over budget, scanned instead
  double cost = 0;         // units, see LookupCosts
  double nanoseconds = 0;  // measured time, without a scan
};

struct LookupOptions {
  double budget;  // largest cost of a query in units; above it the query is scanned
  int n_threads;
  LookupStats* stats;  // n, or null
  bool scan;           // false: queries over budget get no answer
};

// False if queries over budget were left without an answer.
bool lookup(const TablesView& view, const uint8_t* queries, int64_t n, int64_t k, const LookupOptions& options,
            int64_t* ids, float* distances);
RadiusHits lookup_radius(const TablesView& view, const uint8_t* queries, int64_t n, int radius,
                         const LookupOptions& options);

// The hits of one query; false if it exceeds its budget.
bool lookup_radius_one(const TablesView& view, const uint8_t* query, int radius, double budget,
                       std::vector<HammingHit>& hits);

// By the sum of the weights (n_symbols) of the differing symbols; tables: the same weights, as score tables.
void lookup_weighted(const TablesView& view, const uint8_t* queries, const float* weights, const float* tables,
                     int64_t n, int64_t k, const LookupOptions& options, int64_t* ids, float* distances);
RadiusHits lookup_weighted_radius(const TablesView& view, const uint8_t* queries, const float* weights,
                                  const float* tables, int64_t n, float radius, const LookupOptions& options);

}  // namespace rankhash
