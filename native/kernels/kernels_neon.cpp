// The kernels compiled for AArch64, which always has NEON.
#include "kernels/kernels.hpp"

#define RANKHASH_ISA neon
#include "kernels/vec_neon.hpp"

#include "kernels/cells_impl.hpp"
#include "kernels/hamming_hits.hpp"
#include "kernels/hamming_impl.hpp"
#include "kernels/project_impl.hpp"
#include "kernels/rows_impl.hpp"
#include "kernels/score_impl.hpp"
#include "kernels/train_impl.hpp"

namespace rankhash {
extern const Kernels kernels_neon = {
    "neon",
    neon::blocks_together,
    neon::expand,
    neon::count_expanded,
    neon::count_direct,
    neon::compare_rows,
    neon::make_columns,
    neon::sum_scores,
    neon::sum_scores_double,
    neon::sum_scores_wide,
    neon::load_tile,
    neon::project,
    neon::multiply,
    neon::pack_tile,
    neon::train,
    neon::pair_gradient,
    neon::panel_dots,
    neon::cell_keys,
    neon::keys_at_most,
    neon::scan_cell,
    neon::level_tables,
    {neon::row_sum<neon::AddSquare, float>, neon::row_sum<neon::AddSquare, uint16_t>,
     neon::row_sum<neon::AddSquare, int8_t>},
    {neon::row_sum<neon::AddProduct, float>, neon::row_sum<neon::AddProduct, uint16_t>,
     neon::row_sum<neon::AddProduct, int8_t>},
    {neon::row_sums<neon::AddSquare, float>, neon::row_sums<neon::AddSquare, uint16_t>,
     neon::row_sums<neon::AddSquare, int8_t>},
    {neon::row_sums<neon::AddProduct, float>, neon::row_sums<neon::AddProduct, uint16_t>,
     neon::row_sums<neon::AddProduct, int8_t>},
};
}  // namespace rankhash
