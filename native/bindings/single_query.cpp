// The fast path of a single query. The search takes a few microseconds, so that the overhead of the call matters: this
// file alone allocates results itself, through NumPy's C interface. Arguments of unusual types or values are left to
// the slow path through rankhash._kernels, which raises the error.
#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#include "bindings/bindings.hpp"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>
#include <numpy/arrayobject.h>

#include "core/codes.hpp"
#include "core/lookup.hpp"
#include "core/tiles.hpp"

using namespace nanobind::literals;

namespace rankhash {
namespace {

// The query of an array (1, n_bytes); null for any other argument.
const uint8_t* row_of(nb::handle codes, const Layout& layout) {
  if (!PyArray_CheckExact(codes.ptr())) return nullptr;
  auto* array = reinterpret_cast<PyArrayObject*>(codes.ptr());
  if (PyArray_TYPE(array) != NPY_UINT8 || PyArray_NDIM(array) != 2 || !PyArray_IS_C_CONTIGUOUS(array)) return nullptr;
  if (PyArray_DIM(array, 0) != 1 || PyArray_DIM(array, 1) != layout.n_bytes) return nullptr;
  const auto* row = static_cast<const uint8_t*>(PyArray_DATA(array));
  return first_invalid_row(row, 1, layout) < 0 ? row : nullptr;
}

// An exact integer from `least` to `most`, or -1.
int64_t number_of(nb::handle value, int64_t least, int64_t most) {
  if (!PyLong_CheckExact(value.ptr())) return -1;
  int overflow = 0;
  const int64_t number = PyLong_AsLongLongAndOverflow(value.ptr(), &overflow);
  return overflow || number < least || number > most ? -1 : number;
}

bool is_threads(nb::handle value) { return value.is_none() || number_of(value, 1, 1 << 20) > 0; }

nb::object new_array(int ndim, npy_intp rows, npy_intp columns, int type) {
  npy_intp shape[] = {rows, columns};
  nb::object array = nb::steal(PyArray_SimpleNew(ndim, shape, type));
  if (!array.is_valid()) throw nb::python_error();
  return array;
}

template <class T>
T* data(const nb::object& array) {
  return static_cast<T*>(PyArray_DATA(reinterpret_cast<PyArrayObject*>(array.ptr())));
}

// An object of a class of named tuples.
template <class... Items>
nb::object named(const nb::object& type, Items... items) {
  auto* cls = reinterpret_cast<PyTypeObject*>(type.ptr());
  const auto allocate = reinterpret_cast<allocfunc>(PyType_GetSlot(cls, Py_tp_alloc));
  nb::object tuple = nb::steal(allocate(cls, sizeof...(items)));
  if (!tuple.is_valid()) throw nb::python_error();
  Py_ssize_t i = 0;
  (PyTuple_SetItem(tuple.ptr(), i++, items.release().ptr()), ...);
  return tuple;
}

using Budgets = std::vector<std::pair<int64_t, double>>;

class SingleQuery {
 public:
  SingleQuery(const TablesView& view, Budgets budgets, double radius_budget, nb::object nearest, nb::object within)
      : view_(view), budgets_(std::move(budgets)), radius_budget_(radius_budget), nearest_(nearest), within_(within) {}

  nb::object search(nb::handle codes, nb::handle k_given, nb::handle n_threads) const {
    const uint8_t* row = row_of(codes, view_.store.layout);
    const int64_t k = number_of(k_given, 1, kMostNeighbors);
    if (!row || k < 0 || !is_threads(n_threads)) return nb::none();
    const double budget = budget_of(k);
    if (budget <= 0) return nb::bool_(false);
    nb::object ids = new_array(2, 1, k, NPY_INT64), distances = new_array(2, 1, k, NPY_FLOAT32);
    bool found;
    {
      nb::gil_scoped_release release;
      found = lookup(view_, row, 1, k, {budget, 1, nullptr, false}, data<int64_t>(ids), data<float>(distances));
    }
    return found ? named(nearest_, ids, distances) : nb::bool_(false);
  }

  nb::object search_radius(nb::handle codes, nb::handle radius_given, nb::handle n_threads) const {
    const uint8_t* row = row_of(codes, view_.store.layout);
    const int64_t radius = number_of(radius_given, 0, kMaxSymbols);
    if (!row || radius < 0 || !is_threads(n_threads)) return nb::none();
    std::vector<HammingHit> hits;
    bool found;
    {
      nb::gil_scoped_release release;
      found = lookup_radius_one(view_, row, static_cast<int>(radius), radius_budget_, hits);
    }
    if (!found) return nb::bool_(false);
    const auto n = static_cast<int64_t>(hits.size());
    nb::object offsets = new_array(1, 2, 0, NPY_INT64);
    nb::object ids = new_array(1, n, 0, NPY_INT64), distances = new_array(1, n, 0, NPY_FLOAT32);
    data<int64_t>(offsets)[0] = 0, data<int64_t>(offsets)[1] = n;
    write_row(hits, n, data<int64_t>(ids), data<float>(distances));
    return named(within_, offsets, ids, distances);
  }

 private:
  static constexpr int64_t kMostNeighbors = 4096;

  double budget_of(int64_t k) const {
    for (const auto& [most, budget] : budgets_)
      if (k <= most) return budget;
    return 0;
  }

  const TablesView& view_;
  Budgets budgets_;
  double radius_budget_;
  nb::object nearest_, within_;
};

}  // namespace

void define_single_query(nb::module_& m) {
  if (_import_array() < 0) throw nb::python_error();
  nb::class_<SingleQuery>(m, "SingleQuery",
                          "Single plain queries. Answers None to others, False to one that is better scanned.")
      .def(nb::init<const TablesView&, Budgets, double, nb::object, nb::object>(), "view"_a, "budgets"_a,
           "radius_budget"_a, "neighbors"_a, "radius_neighbors"_a, nb::keep_alive<1, 2>())
      .def("search", &SingleQuery::search, "codes"_a.none(), "k"_a.none(), "n_threads"_a.none())
      .def("search_radius", &SingleQuery::search_radius, "codes"_a.none(), "radius"_a.none(), "n_threads"_a.none());
}

}  // namespace rankhash
