"""One query alone takes a shorter way through LookupIndex, with the same answers and errors."""

from __future__ import annotations

import numpy as np
import pytest

from rankhash import (
    CodeLayout,
    InvalidInputError,
    LayoutMismatchError,
    Neighbors,
    RadiusNeighbors,
)

from .eager import Eager, clustered
from .model import assert_same


@pytest.mark.parametrize("layout", [CodeLayout(64, 2), CodeLayout(32, 4), CodeLayout(13, 7)], ids=str)
def test_a_single_query_has_the_answer_of_a_batch(rng, layout):
    index = Eager(layout)
    index.add(clustered(rng, layout, 3000))
    queries = clustered(rng, layout, 12)
    every_other = np.repeat(queries, 2, axis=1)[:, ::2]
    nearest, within = index.search(queries, 5), index.search_radius(queries, 9)
    assert index._store.single_query is not None
    for i in range(len(queries)):
        for lone in (queries[i : i + 1], every_other[i : i + 1], np.asfortranarray(queries)[i : i + 1]):
            for k, n_threads in ((5, None), (np.int64(5), 1), (5, np.int32(2))):
                found = index.search(lone, k, n_threads=n_threads)
                assert type(found) is Neighbors
                assert_same(found, [row[i : i + 1] for row in nearest])
            for radius in (9, 9.5, np.float32(9)):
                found = index.search_radius(lone, radius)
                assert type(found) is RadiusNeighbors
                assert found.offsets.tolist() == [0, len(found.ids)]
                assert_same(found.query(0), within.query(i))


@pytest.mark.parametrize(
    "codes",
    [
        np.zeros((1, 6), np.uint8),
        np.zeros(5, np.uint8),
        np.zeros((1, 5), np.int64),
        np.full((1, 5), 255, np.uint8),
        None,
    ],
)
def test_a_wrong_single_query_gets_a_sentence(rng, codes):
    layout = CodeLayout(13, 7)
    index = Eager(layout)
    good = clustered(rng, layout, 1000)
    index.add(good)
    for _ in range(2):  # the first search makes the short way
        index.search(good[:1], 1)
        for call in (lambda: index.search(codes, 1), lambda: index.search_radius(codes, 1)):
            with pytest.raises(LayoutMismatchError, match="code"):
                call()
        for k in (0, -1, 1.0, None, True, 2**70):
            with pytest.raises(InvalidInputError, match="k"):
                index.search(good[:1], k)
        for radius in (-1, np.nan, "2", None):
            with pytest.raises(InvalidInputError, match="radius"):
                index.search_radius(good[:1], radius)
        for n_threads in (0, -3, True, "2", 1.0):
            with pytest.raises(InvalidInputError, match="n_threads"):
                index.search(good[:1], 1, n_threads=n_threads)
            with pytest.raises(InvalidInputError, match="n_threads"):
                index.search_radius(good[:1], 1, n_threads=n_threads)
        assert len(index.search_radius(good[:1], 2**70).ids) == 1000
