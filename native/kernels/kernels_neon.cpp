// The kernels compiled for AArch64, which always has NEON.
#include "kernels/kernels.hpp"

#define RANKHASH_ISA neon
#include "kernels/vec_neon.hpp"
#include "kernels/hamming_impl.hpp"
#include "kernels/lut_impl.hpp"
#include "kernels/project_impl.hpp"
#include "kernels/rows_impl.hpp"
#include "kernels/train_impl.hpp"

namespace rankhash {
extern const Kernels kernels_neon = {
    "neon",
    neon::expand,
    neon::count_expanded,
    neon::count_direct,
    neon::compare_rows,
    neon::make_columns,
    neon::sum_tables,
    neon::sum_tables_double,
    neon::sum_tables_wide,
    neon::load_tile,
    neon::project,
    neon::multiply,
    neon::pack_tile,
    neon::train,
    neon::pair_gradient,
};
}  // namespace rankhash
