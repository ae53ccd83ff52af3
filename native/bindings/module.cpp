// The table of contents of the native core: typed arrays in and out, the interpreter released, one call each.
// Arguments were checked by rankhash._kernels and the layers above it.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bindings/bindings.hpp"
#include "bindings/interrupt.hpp"
#include "kernels/kernels.hpp"

using namespace nanobind::literals;
using namespace rankhash;

namespace {

std::vector<std::string> isa_names() {
  const Kernels* list[8];
  const int n = available_kernels(list, 8);
  std::vector<std::string> names;
  for (int i = 0; i < n; ++i) names.emplace_back(list[i]->name);
  return names;
}

}  // namespace

NB_MODULE(_native, m) {
  m.doc() = "The native core of rankhash; use it through rankhash._kernels.";

  m.def("isa", [] { return std::string(active_kernels().name); });
  m.def("available_isas", isa_names);
  m.def("use_isa", [](const std::string& name) { return use_kernels(name.c_str()); }, "name"_a);
  m.def("set_deadline", set_deadline, "seconds"_a);
  translate_interrupts();
  define_cells(m);
  define_codes(m);
  define_join(m);
  define_scan(m);
  define_lookup(m);
  define_single_query(m);
  define_learning(m);
}
