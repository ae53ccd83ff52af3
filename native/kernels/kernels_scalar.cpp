// The kernels compiled for any machine.
#include "kernels/kernels.hpp"

#define RANKHASH_ISA scalar
#include "kernels/vec_scalar.hpp"
#include "kernels/hamming_impl.hpp"
#include "kernels/lut_impl.hpp"
#include "kernels/project_impl.hpp"
#include "kernels/rows_impl.hpp"
#include "kernels/train_impl.hpp"

namespace rankhash {
extern const Kernels kernels_scalar = {
    "scalar",
    scalar::expand,
    scalar::count_expanded,
    scalar::count_direct,
    scalar::compare_rows,
    scalar::make_columns,
    scalar::sum_tables,
    scalar::sum_tables_double,
    scalar::sum_tables_wide,
    scalar::load_tile,
    scalar::project,
    scalar::multiply,
    scalar::pack_tile,
    scalar::train,
    scalar::pair_gradient,
};
}  // namespace rankhash
