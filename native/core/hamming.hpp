// Exhaustive search by the number of differing symbols.
#pragma once
#include "core/view.hpp"

namespace rankhash {

// The k nearest codes of each of n packed query rows: ids and distances are n × k.
void search_hamming(const CodesView& view, const uint8_t* queries, int64_t n, int64_t k, int n_threads, int64_t* ids,
                    float* distances);

// All codes within the radius of each query.
RadiusHits search_hamming_radius(const CodesView& view, const uint8_t* queries, int64_t n, int radius, int n_threads);

}  // namespace rankhash
