// The parts of the module's table of contents, one per topic.
#pragma once
#include "bindings/arrays.hpp"

namespace rankhash {

void define_cells(nb::module_& m);         // search of codes in cells, and of stored vectors
void define_codes(nb::module_& m);         // vectors to codes, codes to slices
void define_join(nb::module_& m);          // all pairs of near codes
void define_scan(nb::module_& m);          // search by comparing all codes
void define_lookup(nb::module_& m);        // search through hash tables
void define_single_query(nb::module_& m);  // the fast path of a single query
void define_learning(nb::module_& m);      // sums over pairs of training points

}  // namespace rankhash
