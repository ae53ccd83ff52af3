"""Kernels that turn vectors into codes, on every instruction set against their slow twins."""

from __future__ import annotations

import numpy as np
import pytest

import oracles
from rankhash import CodeLayout, _kernels, cpu_info


@pytest.mark.parametrize("d", [1, 7, 8, 40, 256, 257, 600])
@pytest.mark.parametrize(("n_symbols", "arity", "rows"), [(32, 4, 4), (64, 2, 1), (9, 2, 2), (13, 8, 8), (5, 16, 16)])
def test_encode_sums_in_the_order_of_the_dimensions(rng, isa, d, n_symbols, arity, rows):
    x = rng.normal(size=(53, d)).astype(np.float32)
    w = rng.normal(size=(n_symbols * rows, d)).astype(np.float32)
    layout = CodeLayout(n_symbols, arity)
    for bias, center in [(None, None), (rng.normal(size=len(w)).astype(np.float32), x.mean(axis=0))]:
        codes, bad = _kernels.encode(x, w, bias, center, n_symbols, arity, 2)
        assert bad == -1
        expected = oracles.encode(x, w, bias, center, n_symbols)
        np.testing.assert_array_equal(layout.unpack(codes), expected)


@pytest.mark.parametrize("d", [1, 7, 8, 40, 256, 257])
@pytest.mark.parametrize(("n", "rows"), [(1, 1), (23, 3), (24, 8), (25, 9), (800, 33)])
def test_project_gives_the_sums_that_encode_compares(rng, isa, d, n, rows):
    x, w = rng.normal(size=(n, d)).astype(np.float32), rng.normal(size=(rows, d)).astype(np.float32)
    for bias, center in [(None, None), (rng.normal(size=rows).astype(np.float32), x.mean(axis=0))]:
        values = _kernels.project(x, w, bias, center, 2)
        np.testing.assert_array_equal(values, oracles.project(x, w, bias, center))


def test_codes_do_not_depend_on_the_instruction_set_even_for_close_calls(rng):
    x = rng.integers(-3, 4, (5000, 24)).astype(np.float32) / 3
    w = rng.integers(-3, 4, (128, 24)).astype(np.float32) / 7
    codes = []
    before = cpu_info().isa
    for name in cpu_info().available:
        _kernels.use_isa(name)
        codes.append(_kernels.encode(x, w, None, None, 32, 4, 1)[0])
    _kernels.use_isa(before)
    for other in codes[1:]:
        np.testing.assert_array_equal(codes[0], other)


def test_scalar_multiply_add_rounds_once_where_rounding_twice_differs(isa):
    """1 + 2^-24 + 2^-60: a double loses the last term and rounds the tie to even; a fused operation rounds up."""
    x = np.array([[1.0, 2.0**-30]], np.float32)
    w = np.array([[1.0 + 2.0**-23, 2.0**-30]], np.float32)
    tie = np.float32(2.0**-24)  # the bias: (1 + 2^-23) + 2^-24 lies halfway
    bias = np.array([tie, 1.0 + 2.0**-23], np.float32)
    projections = np.vstack([w, np.zeros_like(w)])
    codes, _ = _kernels.encode(x, projections, bias, None, 1, 2, 1)
    assert codes[0, 0] == 0


@pytest.mark.parametrize("degree", [1, 2, 4])
def test_encode_windows_multiplies_entries(rng, isa, degree):
    x = rng.random((101, 30)).astype(np.float32)
    windows = rng.integers(0, 30, (17, 5, degree)).astype(np.int32)
    codes, bad = _kernels.encode_windows(x, windows, 2)
    assert bad == -1
    np.testing.assert_array_equal(CodeLayout(17, 5).unpack(codes), oracles.encode_windows(x, windows))


@pytest.mark.parametrize("d", [1, 5, 8, 300])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_encode_names_the_first_row_that_is_not_finite(rng, isa, d, value):
    x = rng.normal(size=(2000, d)).astype(np.float32)
    x[rng.integers(0, 2000, 5), rng.integers(0, d, 5)] = value
    expected = np.flatnonzero(~np.isfinite(x).all(axis=1))[0]
    w = rng.normal(size=(8, d)).astype(np.float32)
    for center in (None, np.ones(d, np.float32)):
        assert _kernels.encode(x, w, None, center, 2, 4, 2)[1] == expected
    windows = rng.integers(0, d, (4, 2, 1)).astype(np.int32)
    assert _kernels.encode_windows(x, windows, 2)[1] == expected


def test_first_nonfinite_row_finds_nan_and_infinity(rng):
    x = rng.normal(size=(9, 5)).astype(np.float32)
    assert _kernels.first_nonfinite_row(x) == -1
    for bad in (np.nan, np.inf, -np.inf):
        y = x.copy()
        y[7, 4] = bad
        y[8, 0] = bad
        assert _kernels.first_nonfinite_row(y) == 7
