// The kernels compiled for any machine.
#include "kernels/kernels.hpp"

#define RANKHASH_ISA scalar
#include "kernels/vec_scalar.hpp"

#include "kernels/cells_impl.hpp"
#include "kernels/hamming_hits.hpp"
#include "kernels/hamming_impl.hpp"
#include "kernels/project_impl.hpp"
#include "kernels/rows_impl.hpp"
#include "kernels/score_impl.hpp"
#include "kernels/train_impl.hpp"

namespace rankhash {
extern const Kernels kernels_scalar = {
    "scalar",
    scalar::blocks_together,
    scalar::expand,
    scalar::count_expanded,
    scalar::count_direct,
    scalar::compare_rows,
    scalar::make_columns,
    scalar::sum_scores,
    scalar::sum_scores_double,
    scalar::sum_scores_wide,
    scalar::load_tile,
    scalar::project,
    scalar::multiply,
    scalar::pack_tile,
    scalar::train,
    scalar::pair_gradient,
    scalar::panel_dots,
    scalar::cell_keys,
    scalar::keys_at_most,
    scalar::scan_cell,
    scalar::level_tables,
    {scalar::row_sum<scalar::AddSquare, float>, scalar::row_sum<scalar::AddSquare, uint16_t>,
     scalar::row_sum<scalar::AddSquare, int8_t>},
    {scalar::row_sum<scalar::AddProduct, float>, scalar::row_sum<scalar::AddProduct, uint16_t>,
     scalar::row_sum<scalar::AddProduct, int8_t>},
    {scalar::row_sums<scalar::AddSquare, float>, scalar::row_sums<scalar::AddSquare, uint16_t>,
     scalar::row_sums<scalar::AddSquare, int8_t>},
    {scalar::row_sums<scalar::AddProduct, float>, scalar::row_sums<scalar::AddProduct, uint16_t>,
     scalar::row_sums<scalar::AddProduct, int8_t>},
};
}  // namespace rankhash
