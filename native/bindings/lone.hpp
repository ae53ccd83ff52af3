// The short way of a lone query.
#pragma once
#include <nanobind/nanobind.h>

void define_lone(nanobind::module_& m);
