// Vectors to codes, codes to symbols, and codes to bit slices.
#include "bindings/bindings.hpp"

#include "core/codes.hpp"
#include "core/encode.hpp"

using namespace nanobind::literals;

namespace rankhash {
void define_codes(nb::module_& m) {
  m.def(
      "first_nonfinite_row",
      [](const In<float, 2>& x) { return first_nonfinite_row(x.data(), x.shape(0), x.shape(1)); }, "vectors"_a,
      Released());
  m.def(
      "encode",
      [](const In<float, 2>& x, const In<float, 2>& weights, const std::optional<In<float, 1>>& bias,
         const std::optional<In<float, 1>>& center, int n_symbols, int arity, int n_threads,
         const Out<uint8_t, 2>& codes) {
        const Projections projections{weights.data(), data_or_null(bias), data_or_null(center),
                                      static_cast<int>(weights.shape(0)) / n_symbols};
        return encode_projections(x.data(), x.shape(0), x.shape(1), projections, make_layout(n_symbols, arity),
                                  n_threads, codes.data());
      },
      "vectors"_a, "projections"_a, "bias"_a.none(), "center"_a.none(), "n_symbols"_a, "arity"_a, "n_threads"_a,
      "codes"_a, InterruptibleCall());
  m.def(
      "project",
      [](const In<float, 2>& x, const In<float, 2>& weights, const std::optional<In<float, 1>>& bias,
         const std::optional<In<float, 1>>& center, int n_threads, const Out<float, 2>& out) {
        const Projections projections{weights.data(), data_or_null(bias), data_or_null(center), 1};
        project(x.data(), x.shape(0), x.shape(1), projections, weights.shape(0), n_threads, out.data());
      },
      "vectors"_a, "projections"_a, "bias"_a.none(), "center"_a.none(), "n_threads"_a, "out"_a, InterruptibleCall());
  m.def(
      "encode_windows",
      [](const In<float, 2>& x, const In<int32_t, 3>& windows, int n_threads, const Out<uint8_t, 2>& codes) {
        const Layout layout = make_layout(static_cast<int>(windows.shape(0)), static_cast<int>(windows.shape(1)));
        return encode_windows(x.data(), x.shape(0), x.shape(1), windows.data(), static_cast<int>(windows.shape(2)),
                              layout, n_threads, codes.data());
      },
      "vectors"_a, "windows"_a, "n_threads"_a, "codes"_a, InterruptibleCall());

  m.def(
      "pack",
      [](const In<uint8_t, 2>& symbols, int arity, const Out<uint8_t, 2>& codes) {
        pack_rows(symbols.data(), symbols.shape(0), make_layout(static_cast<int>(symbols.shape(1)), arity),
                  codes.data());
      },
      "symbols"_a, "arity"_a, "codes"_a, Released());
  m.def(
      "unpack",
      [](const In<uint8_t, 2>& codes, int arity, const Out<uint8_t, 2>& symbols) {
        unpack_rows(codes.data(), codes.shape(0), make_layout(static_cast<int>(symbols.shape(1)), arity),
                    symbols.data());
      },
      "codes"_a, "arity"_a, "symbols"_a, Released());
  m.def(
      "first_invalid_code",
      [](const In<uint8_t, 2>& codes, int n_symbols, int arity) {
        return first_invalid_row(codes.data(), codes.shape(0), make_layout(n_symbols, arity));
      },
      "codes"_a, "n_symbols"_a, "arity"_a, Released());

  m.def(
      "first_invalid_position",
      [](const In<uint8_t, 3>& blocks, int64_t size, int n_symbols, int arity) {
        return first_invalid_position(blocks.data(), size, make_layout(n_symbols, arity));
      },
      "blocks"_a, "size"_a, "n_symbols"_a, "arity"_a, Released());

  m.def(
      "write_slices",
      [](const Out<uint8_t, 3>& blocks, int64_t start, const In<uint8_t, 2>& codes) {
        write_slices(blocks.data(), static_cast<int>(blocks.shape(1)), start, codes.data(), codes.shape(0));
      },
      "blocks"_a, "start"_a, "codes"_a, Released());
  m.def(
      "write_slices_at",
      [](const Out<uint8_t, 3>& blocks, const In<int64_t, 1>& positions, const In<uint8_t, 2>& codes) {
        write_slices_at(blocks.data(), static_cast<int>(blocks.shape(1)), positions.data(), codes.data(),
                        codes.shape(0));
      },
      "blocks"_a, "positions"_a, "codes"_a, Released());
  m.def(
      "read_slices",
      [](const In<uint8_t, 3>& blocks, const In<int64_t, 1>& positions, const Out<uint8_t, 2>& codes) {
        read_slices(blocks.data(), static_cast<int>(blocks.shape(1)), positions.data(), codes.data(), codes.shape(0));
      },
      "blocks"_a, "positions"_a, "codes"_a, Released());
}

}  // namespace rankhash
