"""Hash tables that are in use and out of use keep the contract of all indexes, and find what brute force finds."""

from __future__ import annotations

import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracles
from rankhash import (
    CodeLayout,
    FlatIndex,
    LookupIndex,
    _kernels,
    cpu_info,
)

from .contract import IndexContract
from .eager import Eager, Hesitant, Single
from .model import assert_same, draw


class TablesContract(IndexContract):
    def most_bytes(self, index):
        return (1 + index.n_tables) * (index.layout.bits / 8 + 4)


class TestLookupIndex(TablesContract):
    make = LookupIndex


class TestEager(TablesContract):
    make = Eager


class TestHesitant:
    """What of the contract concerns queries that are given up half-way."""

    make = Hesitant
    filled, check = IndexContract.filled, IndexContract.check
    test_brute_force = IndexContract.test_search_finds_what_brute_force_finds
    test_filters = IndexContract.test_filters_keep_what_they_name
    test_threads = IndexContract.test_results_do_not_depend_on_threads_batches_or_instruction_set


class TestSingleTable:
    """What of the contract concerns the way through the tables."""

    make = Single
    filled, check = IndexContract.filled, IndexContract.check
    test_brute_force = IndexContract.test_search_finds_what_brute_force_finds
    test_life = IndexContract.test_a_random_life_of_changes_keeps_every_promise


@given(
    seed=st.integers(0, 2**32 - 1),
    arity=st.sampled_from([2, 3, 4, 5, 8, 16]),
    n_symbols=st.integers(1, 70),
    n=st.sampled_from([64, 255, 256, 257, 1500]),
    n_tables=st.sampled_from(["auto", 1, 2, 3, 7]),
    k=st.sampled_from([1, 2, 10, 100]),
    radius=st.integers(0, 8),
    budget=st.sampled_from([1e15, 3000.0]),
    gone=st.sampled_from([0.0, 0.2]),
    isa_name=st.sampled_from(cpu_info().available),
)
def test_lookup_finds_what_brute_force_finds(seed, arity, n_symbols, n, n_tables, k, radius, budget, gone, isa_name):
    rng = np.random.default_rng(seed)
    layout = CodeLayout(n_symbols, arity)
    index = Eager(layout, n_tables=n_tables)
    index._store.longest = budget
    index._store.radius_try = lambda _: budget
    symbols = draw(rng, layout, n)
    symbols[: n // 3] = symbols[0]  # many equals
    index.add(layout.pack(symbols))
    ids = np.flatnonzero(rng.random(n) >= gone)
    index.remove(np.setdiff1d(np.arange(n), ids))
    changed = ids[: len(ids) // 10]
    symbols[changed] = draw(rng, layout, len(changed))
    index.upsert(layout.pack(symbols[changed]), changed)
    queries = np.vstack([draw(rng, layout, 4), symbols[:1]])
    codes, weights = layout.pack(queries), rng.integers(0, 5, n_symbols) / 4
    before = cpu_info().isa
    _kernels.use_isa(isa_name)
    try:
        found = index.search(codes, k), index.search_radius(codes, radius)
        heavy = index.search(codes, k, weights=weights), index.search_radius(codes, radius / 4, weights=weights)
    finally:
        _kernels.use_isa(before)
    plain, weighted = oracles.hamming(queries, symbols[ids]), oracles.weighted(queries, symbols[ids], weights)
    assert_same(found[0], oracles.nearest(plain, ids, k))
    assert_same(found[1], oracles.within(plain, ids, radius))
    assert_same(heavy[0], oracles.nearest(weighted, ids, k))
    assert_same(heavy[1], oracles.within(weighted, ids, radius / 4))


@pytest.mark.parametrize("arity", [2, 4, 5])
@pytest.mark.parametrize("bits", [64, 96, 200])
def test_heavy_buckets_are_searched_exactly(rng, isa, arity, bits):
    layout = CodeLayout(bits // (arity - 1).bit_length(), arity)
    symbols = draw(rng, layout, 6000)
    symbols[1000:4000] = symbols[999]
    places = rng.integers(1000, 4000, 500), rng.integers(0, layout.n_symbols, 500)
    symbols[places] = (symbols[places] + 1) % arity
    index = Eager(layout)
    index.add(layout.pack(symbols))
    assert max(np.diff(table.offsets).max() for table in index._store.segments[0].arrays) > 600
    queries = symbols[[999, 1000, 5]]
    distances = oracles.hamming(queries, symbols)
    for k in (1, 10, 5000):
        assert_same(index.search(layout.pack(queries), k), oracles.nearest(distances, np.arange(6000), k))
    assert_same(index.search_radius(layout.pack(queries), 2), oracles.within(distances, np.arange(6000), 2))


def test_a_million_equal_codes_cost_neither_time_nor_memory(rng):
    layout = CodeLayout(32, 4)
    index = LookupIndex(layout)
    code = layout.pack(draw(rng, layout, 1))
    index.add(np.repeat(code, 1_000_000, axis=0))
    assert index.nbytes <= 1_000_000 * (1 + index.n_tables) * (layout.bits / 8 + 4)
    flat = FlatIndex(layout)
    flat.add(np.repeat(code, 1_000_000, axis=0))
    assert index.search(code, 5).ids.tolist() == [[0, 1, 2, 3, 4]]

    def seconds(one):
        start = time.thread_time()
        one.search(code, 10, n_threads=1)
        return time.thread_time() - start

    ratio = np.median([seconds(index) for _ in range(15)]) / np.median([seconds(flat) for _ in range(15)])
    assert ratio < 3  # one pass over the codes, not one per table
