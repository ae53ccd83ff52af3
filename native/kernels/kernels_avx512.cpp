// The kernels compiled for x86-64 with AVX-512 (F, BW, DQ, VL).
#include "kernels/kernels.hpp"

#define RANKHASH_ISA avx512
#include "kernels/vec_avx512.hpp"

#include "kernels/cells_impl.hpp"
#include "kernels/hamming_hits.hpp"
#include "kernels/hamming_impl.hpp"
#include "kernels/project_impl.hpp"
#include "kernels/rows_impl.hpp"
#include "kernels/score_impl.hpp"
#include "kernels/train_impl.hpp"

namespace rankhash {
extern const Kernels kernels_avx512 = {
    "avx512",
    avx512::blocks_together,
    avx512::expand,
    avx512::count_expanded,
    avx512::count_direct,
    avx512::compare_rows,
    avx512::make_columns,
    avx512::sum_scores,
    avx512::sum_scores_double,
    avx512::sum_scores_wide,
    avx512::load_tile,
    avx512::project,
    avx512::multiply,
    avx512::pack_tile,
    avx512::train,
    avx512::pair_gradient,
    avx512::panel_dots,
    avx512::cell_keys,
    avx512::keys_at_most,
    avx512::scan_cell,
    avx512::level_tables,
    {avx512::row_sum<avx512::AddSquare, float>, avx512::row_sum<avx512::AddSquare, uint16_t>,
     avx512::row_sum<avx512::AddSquare, int8_t>},
    {avx512::row_sum<avx512::AddProduct, float>, avx512::row_sum<avx512::AddProduct, uint16_t>,
     avx512::row_sum<avx512::AddProduct, int8_t>},
    {avx512::row_sums<avx512::AddSquare, float>, avx512::row_sums<avx512::AddSquare, uint16_t>,
     avx512::row_sums<avx512::AddSquare, int8_t>},
    {avx512::row_sums<avx512::AddProduct, float>, avx512::row_sums<avx512::AddProduct, uint16_t>,
     avx512::row_sums<avx512::AddProduct, int8_t>},
};
}  // namespace rankhash
