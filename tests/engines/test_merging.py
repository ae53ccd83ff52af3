"""Merging answers of shards, against one search over all codes."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import oracles
from rankhash import Neighbors, RadiusNeighbors
from rankhash.engines._merging import merge_neighbors, merge_radius

shards = st.lists(st.integers(0, 9), min_size=1, max_size=6)


def cut(sizes, seed):
    """Distances with many ties, and ids in random order, in parts of the given sizes."""
    rng = np.random.default_rng(seed)
    n = sum(sizes)
    distances, ids = rng.integers(0, 4, (3, n)).astype(np.float32), rng.permutation(100)[:n].astype(np.int64)
    ends = np.cumsum([0, *sizes])
    return distances, ids, [slice(*ends[i : i + 2]) for i in range(len(sizes))]


@given(shards, st.integers(1, 12), st.integers(0, 2**20))
def test_the_k_best_of_all_parts_are_those_of_the_whole(sizes, k, seed):
    distances, ids, parts = cut(sizes, seed)
    found = merge_neighbors([Neighbors(*oracles.nearest(distances[:, part], ids[part], k)) for part in parts], k)
    for one, other in zip(found, oracles.nearest(distances, ids, k), strict=True):
        np.testing.assert_array_equal(one, other)
        assert one.dtype == other.dtype


@given(shards, st.integers(0, 4), st.integers(0, 2**20))
def test_the_hits_of_all_parts_are_those_of_the_whole(sizes, radius, seed):
    distances, ids, parts = cut(sizes, seed)
    found = merge_radius([RadiusNeighbors(*oracles.within(distances[:, part], ids[part], radius)) for part in parts])
    for one, other in zip(found, oracles.within(distances, ids, radius), strict=True):
        np.testing.assert_array_equal(one, other)
