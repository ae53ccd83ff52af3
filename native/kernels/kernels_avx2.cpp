// The kernels compiled for x86-64 with AVX2 and FMA.
#include "kernels/kernels.hpp"

#define RANKHASH_ISA avx2
#include "kernels/vec_avx2.hpp"

#include "kernels/cells_impl.hpp"
#include "kernels/hamming_hits.hpp"
#include "kernels/hamming_impl.hpp"
#include "kernels/project_impl.hpp"
#include "kernels/rows_impl.hpp"
#include "kernels/score_impl.hpp"
#include "kernels/train_impl.hpp"

namespace rankhash {
extern const Kernels kernels_avx2 = {
    "avx2",
    avx2::blocks_together,
    avx2::expand,
    avx2::count_expanded,
    avx2::count_direct,
    avx2::compare_rows,
    avx2::make_columns,
    avx2::sum_scores,
    avx2::sum_scores_double,
    avx2::sum_scores_wide,
    avx2::load_tile,
    avx2::project,
    avx2::multiply,
    avx2::pack_tile,
    avx2::train,
    avx2::pair_gradient,
    avx2::panel_dots,
    avx2::cell_keys,
    avx2::keys_at_most,
    avx2::scan_cell,
    avx2::level_tables,
    {avx2::row_sum<avx2::AddSquare, float>, avx2::row_sum<avx2::AddSquare, uint16_t>,
     avx2::row_sum<avx2::AddSquare, int8_t>},
    {avx2::row_sum<avx2::AddProduct, float>, avx2::row_sum<avx2::AddProduct, uint16_t>,
     avx2::row_sum<avx2::AddProduct, int8_t>},
    {avx2::row_sums<avx2::AddSquare, float>, avx2::row_sums<avx2::AddSquare, uint16_t>,
     avx2::row_sums<avx2::AddSquare, int8_t>},
    {avx2::row_sums<avx2::AddProduct, float>, avx2::row_sums<avx2::AddProduct, uint16_t>,
     avx2::row_sums<avx2::AddProduct, int8_t>},
};
}  // namespace rankhash
