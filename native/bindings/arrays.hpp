// Shared by all bindings: typed arrays in and out, and results that own their memory.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>

#include <vector>

#include "bindings/interrupt.hpp"
#include "core/view.hpp"

namespace rankhash {

namespace nb = nanobind;

template <class T, int N>
using In = nb::ndarray<const T, nb::ndim<N>, nb::c_contig, nb::device::cpu>;
template <class T, int N>
using Out = nb::ndarray<T, nb::ndim<N>, nb::c_contig, nb::device::cpu>;
template <class T>
using Result = nb::ndarray<nb::numpy, T, nb::ndim<1>, nb::c_contig>;
using Released = nb::call_guard<nb::gil_scoped_release>;
using InterruptibleCall = nb::call_guard<Interruptible>;

template <class Array>
auto data_or_null(const std::optional<Array>& array) {
  return array ? array->data() : nullptr;
}

// A NumPy array that owns the vector's memory.
template <class T>
Result<T> give(std::vector<T>&& values) {
  auto* owned = new std::vector<T>(std::move(values));
  owned->reserve(1);  // an empty array needs an address too
  nb::capsule owner(owned, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return Result<T>(owned->data(), {owned->size()}, owner);
}

inline std::tuple<Result<int64_t>, Result<int64_t>, Result<float>> give(RadiusHits&& hits) {
  return {give(std::move(hits.offsets)), give(std::move(hits.ids)), give(std::move(hits.distances))};
}

// The hits of a search, which runs without the interpreter; it is held again when their arrays are made.
template <class Search>
auto interruptible_hits(const Search& search) {
  RadiusHits hits;
  {
    const Interruptible call;
    hits = search();
  }
  return give(std::move(hits));
}

}  // namespace rankhash
