"""Kernels of stored vectors on every instruction set against their slow twins."""

from __future__ import annotations

import numpy as np
import pytest

import cell_oracles
import oracles
from rankhash import _kernels

from .brute import rows_view


@pytest.mark.parametrize("dtype", _kernels.ROW_TYPES)
@pytest.mark.parametrize("product", [False, True])
@pytest.mark.parametrize("d", [1, 7, 8, 31, 32, 41, 100])
def test_all_rows_are_compared_bit_by_bit_as_the_twin_does(rng, isa, dtype, product, d):
    vectors, queries = (rng.normal(size=(n, d)).astype(np.float32) for n in (70, 5))
    vectors[40:50] = vectors[:10]  # ties
    view, stored, factors = rows_view(vectors, dtype, split=33)
    expected = cell_oracles.row_distances(queries, stored, factors, product)
    for k in (1, 10, 80):
        found = _kernels.search_rows(view, None, product, None, queries, k, 2)
        for one, other in zip(found, oracles.nearest(expected, np.arange(70), k), strict=True):
            np.testing.assert_array_equal(one, other)


def test_rows_that_do_not_pass_are_not_found_and_ids_break_ties(rng, isa):
    vectors = np.round(rng.normal(size=(300, 3))).astype(np.float32)
    view, stored, _ = rows_view(vectors, "float32")
    ids, passes = rng.permutation(1000)[:300], rng.random(300) < 0.3
    bits = np.packbits(passes, bitorder="little")
    found = _kernels.search_rows(view, ids, False, bits, vectors[:9], 20, 1)
    distances = cell_oracles.row_distances(vectors[:9], stored[passes], None, False)
    for one, other in zip(found, oracles.nearest(distances, ids[passes], 20), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("dtype", _kernels.ROW_TYPES)
@pytest.mark.parametrize("product", [False, True])
def test_the_nearest_of_given_candidates_are_those_of_the_twin(rng, isa, dtype, product):
    vectors, queries = (np.round(rng.normal(size=(n, 5))).astype(np.float32) for n in (70, 6))
    view, stored, factors = rows_view(vectors, dtype, split=33)
    ids, distances = rng.permutation(200)[:70], cell_oracles.row_distances(queries, stored, factors, product)
    candidates = np.stack([rng.permutation(70)[:30] for _ in queries])
    candidates[:, 20:25] = -1
    candidates[5] = -1
    for k in (1, 7, 40):
        found = _kernels.rank_rows(view, ids, product, candidates, queries, k, 2)
        for row, own in enumerate(candidates):
            own = own[own >= 0]
            expected = oracles.nearest(distances[row : row + 1, own], ids[own], k)
            for one, other in zip(found, expected, strict=True):
                np.testing.assert_array_equal(one[row : row + 1], other)
