// Exhaustive search by the sum of table entries: weighted and asymmetric distances, exactly.
#pragma once
#include "core/view.hpp"

namespace rankhash {

// tables: n × n_symbols × arity, finite. The distance of a code is the sum of the entries of its symbols, added in
// double precision and rounded once to float.
void search_scores(const CodesView& view, const float* tables, int64_t n, int64_t k, int n_threads, int64_t* ids,
                   float* distances);

RadiusHits search_scores_radius(const CodesView& view, const float* tables, int64_t n, float radius, int n_threads);

}  // namespace rankhash
