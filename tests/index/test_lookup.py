"""LookupIndex keeps the contract of all indexes, with the tables in use and out of use."""

from __future__ import annotations

import json
import math
import time
from itertools import pairwise
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import oracles
from rankhash import (
    CodeLayout,
    FileFormatError,
    FlatIndex,
    InvalidInputError,
    LayoutMismatchError,
    LookupIndex,
    Neighbors,
    RadiusNeighbors,
    _files,
    _kernels,
    cpu_info,
    open_index,
)
from rankhash.index._cost import Calibration, CostModel, best_try
from rankhash.index._plan import key_spans
from rankhash.index._segments import TableStore

from .contract import LAYOUTS, IndexContract, assert_same, draw


class EagerStore(TableStore):
    """Makes tables of few codes and tries them however long it takes."""

    tail = 64
    longest = 1e15

    def tries(self):
        return [(1 << 40, self.longest, self.longest)] if self.segments else []

    def radius_try(self, n_queries):
        return 1e15 if self.segments else 0.0


class HesitantStore(EagerStore):
    """Gives up in the middle of many queries."""

    longest = 2000.0


class Eager(LookupIndex):
    _store_class: ClassVar = EagerStore


class Hesitant(Eager):
    _store_class: ClassVar = HesitantStore


class Single(Eager):
    def __init__(self, layout, *, n_tables=1):
        super().__init__(layout, n_tables=n_tables)


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


@settings(deadline=None)
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
    assert ratio < 3  # one pass over the codes, not one a table


# -- the life of tables ----------------------------------------------------------------------------------------------


def test_new_codes_get_tables_and_small_tables_are_joined(rng):
    layout = CodeLayout(32, 4)
    index = Eager(layout)
    sizes = []
    for _ in range(60):
        index.add(layout.pack(draw(rng, layout, 100)))
        sizes.append([segment.size for segment in index._store.segments])
        assert len(index) - index._store.n_sealed < 64 + 256
    assert max(map(len, sizes)) <= 5
    assert sizes[-1] == sorted(sizes[-1], reverse=True)


def test_replaced_codes_are_found_at_once_and_many_of_them_make_new_tables(rng):
    layout = CodeLayout(32, 4)
    index = Eager(layout)
    index.add(layout.pack(draw(rng, layout, 512)))
    old = index._store.segments[0]
    code = layout.pack(np.full((1, 32), 3))
    index.upsert(code, [7])
    assert index._store.changed.tolist() == [7]
    assert index.search(code, 1).ids[0, 0] == 7
    index.upsert(np.repeat(code, 200, axis=0), np.arange(200))
    assert len(index._store.changed) == 0
    assert index._store.segments[0] is not old
    assert index.search(code, 3).ids.tolist() == [[0, 1, 2]]


def test_tables_made_beside_changes_are_of_use_only_if_no_code_has_moved(rng):
    class Later(EagerStore):
        def _seal(self):
            pass

    layout = CodeLayout(32, 4)
    codes = clustered(rng, layout, 1000)
    store = Later(layout)
    store.add(codes, np.arange(1000))
    plan = store.plan()
    store.add(codes, np.arange(1000, 2000))
    store.remove(np.arange(10))
    assert store.install(plan, *plan.make(1))
    assert store.n_sealed == 768
    for change in (lambda: store.write(np.array([900]), codes[:1]), store.compact):
        plan = store.plan()
        change()
        assert not store.install(plan, *plan.make(1))
    assert store.plan().make(1, lambda: True) is None


def test_searches_make_no_tables(rng):
    layout = CodeLayout(32, 4)
    index = Eager(layout)
    index.add(layout.pack(draw(rng, layout, 1000)))
    before = list(index._store.segments)
    index.search(index.get([1]), 5)
    index.search_radius(index.get([1]), 5)
    assert index._store.segments == before


@pytest.mark.parametrize("n_tables", [0, -1, 1.5, True, "many", None])
def test_a_bad_number_of_tables_is_refused(n_tables):
    with pytest.raises(InvalidInputError, match="n_tables must be"):
        LookupIndex(CodeLayout(32, 4), n_tables=n_tables)


@pytest.mark.parametrize("layout", [*LAYOUTS, CodeLayout(4096, 16), CodeLayout(9, 5)], ids=str)
@pytest.mark.parametrize("n_tables", ["auto", 1, 3])
def test_keys_are_disjoint_runs_with_no_more_values_than_fit(layout, n_tables):
    for n in (256, 10_000, 10_000_000):
        spans = key_spans(layout, n, n_tables)
        assert all(a + count <= b for (a, count), (b, _) in pairwise(spans))
        assert spans[-1][0] + spans[-1][1] <= layout.n_symbols
        assert sum(layout.arity**count for _, count in spans) <= max(n, len(spans) * layout.arity)


# -- what it says of itself ------------------------------------------------------------------------------------------


def clustered(rng, layout, n):
    centres = rng.integers(0, layout.arity, (200, layout.n_symbols))
    symbols = centres[rng.integers(0, 200, n)]
    noise = rng.random(symbols.shape) < 0.05
    return layout.pack(np.where(noise, rng.integers(0, layout.arity, symbols.shape), symbols))


def test_explain_says_what_was_chosen_and_why(rng, monkeypatch):
    monkeypatch.setattr(TableStore, "calibration", lambda _: Calibration(0.4, 0.12, 1.0))
    layout = CodeLayout(32, 4)
    index = LookupIndex(layout)
    index.add(clustered(rng, layout, 1000))
    assert str(index.explain(index.get([0]), 3)).startswith("scan: the index has no hash tables yet")
    index.add(clustered(rng, layout, 60_000))
    near = index.explain(index.get([0]), 3)
    assert near.method == "lookup"
    assert near.estimated_lookup < near.allowed <= near.estimated_scan
    assert not near.statistics.scanned[0]
    assert f"{near.statistics.candidates[0]} codes to compare" in near.reason
    far = index.explain(layout.pack(rng.integers(0, 4, (1, 32))), 3)
    assert far.method == "scan"
    assert "look-up stopped at" in far.reason
    random = LookupIndex(layout)
    random.add(layout.pack(rng.integers(0, 4, (60_000, 32))))
    assert "costs less than look-up" in random.explain(random.get([0]), 10).reason
    with pytest.raises(InvalidInputError, match="one query"):
        index.explain(index.get([0, 1]), 3)


def test_statistics_count_what_happened(rng):
    layout = CodeLayout(12, 4)
    index = Eager(layout, n_tables=1)
    codes = clustered(rng, layout, 5000)
    index.add(codes)
    n_key = index._store.segments[0].spans[0][1]
    counted = index.statistics(codes[:20], radius=2)
    ball = sum(math.comb(n_key, i) * 3**i for i in range(3))
    assert (counted.probes == ball).all()
    assert (counted.hits == np.diff(index.search_radius(codes[:20], 2).offsets)).all()
    assert (counted.buckets <= counted.probes).all()
    assert (counted.candidates + 256 >= counted.hits).all()
    assert (counted.duplicates == 0).all()
    assert (counted.radius == 2).all()
    assert not counted.scanned.any()
    nearest = index.statistics(codes[:20], k=7)
    assert (nearest.hits == 7).all()
    assert (nearest.radius >= index.search(codes[:20], 7).distances[:, -1]).all()
    for k, radius in ((None, None), (3, 2)):
        with pytest.raises(InvalidInputError, match="either k or radius"):
            index.statistics(codes[:1], k=k, radius=radius)


@pytest.mark.parametrize("layout", [CodeLayout(64, 2), CodeLayout(32, 4), CodeLayout(13, 7)], ids=str)
def test_a_lone_query_is_answered_as_in_a_batch_whatever_its_arguments_are(rng, layout):
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
def test_a_lone_query_that_is_wrong_is_refused_in_words(rng, codes):
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


def test_tries_are_as_long_as_makes_their_mean_cost_smallest():
    costs = np.array([10.0, 20.0, 30.0, 900.0, np.inf])
    assert best_try(costs, 1000.0) == pytest.approx((1000 - (10 + 20 + 30 + 2 * 1030) / 5) / 2)
    assert best_try(np.array([10.0, 700.0, 700.0, 700.0]), 1000.0) == pytest.approx(700 * 1.25)
    assert best_try(np.full(64, np.inf), 1000.0) == 0
    assert best_try(np.array([990.0] * 10), 1000.0) == 0
    assert best_try(np.empty(0), 1000.0) == 0


def test_tries_follow_what_a_scan_costs_on_this_machine():
    model = CostModel(1000, {10: np.full(64, 300.0)})
    slow, fast = Calibration(2.0, 0.5, 1.0), Calibration(0.2, 0.05, 1.0)
    assert model.tries(slow, 1000)[10] == (pytest.approx(850.0), pytest.approx(375.0))
    assert model.tries(fast, 1000)[10] == (0.0, 0.0)
    assert model.tries(Calibration(0.2, 0.05, 0.1), 1000)[10] == model.tries(slow, 1000)[10]


def test_a_saved_index_holds_nothing_of_the_machine(rng, tmp_path):
    layout, before = CodeLayout(32, 4), cpu_info().isa
    codes = clustered(rng, layout, 20_000)
    for name in ("scalar", before):
        _kernels.use_isa(name)
        try:
            index = LookupIndex(layout)
            index.add(codes)
            index.search(codes[:3], 10)
            index.save(tmp_path / name)
        finally:
            _kernels.use_isa(before)
    assert (tmp_path / "scalar").read_bytes() == (tmp_path / before).read_bytes()


def test_files_of_older_versions_get_their_costs_measured(rng, tmp_path):
    layout = CodeLayout(32, 4)
    index = LookupIndex(layout)
    codes = clustered(rng, layout, 20_000)
    index.add(codes)
    header, arrays = index._store.state()
    header["costs"] = {"n_codes": 16384, "tries": [[1, 1e9, 1e9]]}
    _files.write_file(tmp_path / "index", arrays, {"index": "tables", **header}, kind="index")
    opened = LookupIndex.load(tmp_path / "index")
    assert_same(opened.search(codes[:9], 10), index.search(codes[:9], 10))
    assert opened._store.state()[0]["costs"]["samples"]


@pytest.mark.parametrize("make", [FlatIndex, LookupIndex, Eager])
def test_open_index_opens_either_kind(rng, tmp_path, make):
    layout = CodeLayout(32, 4, "abc")
    index = make(layout)
    index.add(clustered(rng, layout, 700))
    index.save(tmp_path / "index")
    for mmap in (False, True):
        opened = open_index(tmp_path / "index", mmap=mmap)
        assert opened.kind == index.kind
        assert_same(opened.search(index.get([3]), 9), index.search(index.get([3]), 9))
    other = FlatIndex if index.kind == "tables" else LookupIndex
    with pytest.raises(FileFormatError, match=f"does not hold a {other.__name__}"):
        other.load(tmp_path / "index")


def contradictions():
    yield "start", lambda header, _: header["segments"][0].update(start=256)
    yield "size", lambda header, _: header["segments"][0].update(size=10**12)
    yield "ragged", lambda header, _: header["segments"][0].update(size=255)
    yield "spans", lambda header, _: header["segments"][0].update(spans=[[0, 40]])
    yield "overlap", lambda header, _: header["segments"][0].update(spans=[[0, 4], [2, 4]])
    yield "none", lambda header, _: header["segments"][0].update(spans=[])
    yield "text", lambda header, _: header.update(segments="x")
    yield "n_tables", lambda header, _: header.update(n_tables=0)
    yield "costs", lambda header, _: header.update(costs={"n_codes": "x", "samples": []})
    yield "sample", lambda header, _: header.update(costs={"n_codes": 600, "samples": [[1, [-1.0]]]})
    yield "falling", lambda _, arrays: arrays["segment0.table0.offsets"][1:-1].__imul__(0).__iadd__(999)
    yield "beyond", lambda _, arrays: arrays["segment0.table0.offsets"].__setitem__(3, 2**31)
    yield "short", lambda _, arrays: arrays.update({"segment0.table0.rows": np.zeros(9, np.uint8)})
    yield "type", lambda _, arrays: arrays.update({"segment0.table0.places": np.zeros(512, np.int32)})
    yield "lost", lambda _, arrays: arrays.pop("segment0.table1.places")
    yield "changed", lambda _, arrays: arrays.update(changed=np.array([512]))
    yield "repeated", lambda _, arrays: arrays.update(changed=np.array([3, 3]))


@pytest.mark.parametrize("change", [pytest.param(change, id=name) for name, change in contradictions()])
def test_a_file_that_contradicts_itself_is_refused(rng, change, tmp_path):
    layout = CodeLayout(32, 4)
    index = Eager(layout)
    index.add(clustered(rng, layout, 600))
    header, arrays = index._store.state()
    header = json.loads(json.dumps(header))
    arrays = {name: array.copy() for name, array in arrays.items()}
    change(header, arrays)
    _files.write_file(tmp_path / "index", arrays, {"index": "tables", **header}, kind="index")
    with pytest.raises(FileFormatError, match="is inconsistent"):
        Eager.load(tmp_path / "index")


def test_places_beyond_the_segment_are_passed_over(rng, tmp_path):
    """They are not looked at when a file is opened, since that would read all of it."""
    layout = CodeLayout(32, 4)
    index = Eager(layout)
    index.add(clustered(rng, layout, 600))
    header, arrays = index._store.state()
    arrays = {name: array.copy() for name, array in arrays.items()}
    for name in arrays:
        if name.endswith("places"):
            arrays[name][:] = 2**32 - 1
    _files.write_file(tmp_path / "index", arrays, {"index": "tables", **header}, kind="index")
    assert Eager.load(tmp_path / "index").search(index.get([0]), 5).ids.shape == (1, 5)


# -- occupancy -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [FlatIndex, Eager])
@pytest.mark.parametrize("n_symbols", [6, 40])
def test_occupancy_counts_equal_codes(rng, make, n_symbols):
    layout = CodeLayout(n_symbols, 4)
    index = make(layout)
    symbols = draw(rng, layout, 900)
    symbols[:300] = symbols[0]
    index.add(layout.pack(symbols))
    report = index.occupancy()
    _, sizes = np.unique(symbols, axis=0, return_counts=True)
    assert (report.n_codes, report.n_buckets, report.largest) == (900, len(sizes), sizes.max())
    assert report.entropy == pytest.approx(-(sizes / 900 * np.log2(sizes / 900)).sum())
    assert report.keys[:2] == (1, 1 + 3 * n_symbols)
    assert list(report.hits) == sorted(report.hits)
    assert report.hits[0] == pytest.approx((sizes / 900 * (sizes - 1)).sum(), rel=0.4)
    assert "R = 3" in str(report)


def test_occupancy_of_an_empty_index_is_empty():
    report = FlatIndex(CodeLayout(32, 4)).occupancy()
    assert (report.n_codes, report.n_buckets, report.largest, report.entropy) == (0, 0, 0, 0)
    with pytest.raises(InvalidInputError, match="n_sample"):
        FlatIndex(CodeLayout(32, 4)).occupancy(n_sample=0)
