"""DaskIndex: the answers of FlatIndex, from several processes, for any layout, ids and filters."""

from __future__ import annotations

import sys

import dask.array as da
import numpy as np
import pytest

from index.model import assert_same, draw
from rankhash import CodeLayout, DuplicateIdError, FlatIndex, InvalidInputError, LayoutMismatchError
from rankhash.engines.dask import DaskIndex, _loading, _searching

LAYOUTS = [CodeLayout(24, 2), CodeLayout(11, 3), CodeLayout(32, 4), CodeLayout(9, 8), CodeLayout(16, 16)]
LAYOUT = LAYOUTS[2]


def codes_of(rng, layout, n):
    return layout.pack(draw(rng, layout, n))


def both(rng, client, layout=LAYOUT, chunks=(300, 0, 256, 1, 443), ids=None, timeout=30.0):
    """The same codes in a DaskIndex and in a FlatIndex."""
    codes = codes_of(rng, layout, sum(chunks))
    flat = FlatIndex(layout)
    flat.add(codes, ids)
    array = da.from_array(codes, chunks=(chunks, -1))
    return DaskIndex.from_array(array, layout, ids=ids, client=client, timeout=timeout), flat


def filters(rng, ids):
    """Every form of filter, and ids that are not there."""
    mask = rng.random(len(ids)) < 0.2
    few = rng.permutation(np.append(ids[mask][:40], [2**40, -3]))
    return [mask, np.packbits(mask, bitorder="little"), few, few[:1], np.empty(0, np.int64), ids]


@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: f"K={layout.arity}")
def test_answers_are_those_of_a_flat_index(client, rng, layout):
    index, flat = both(rng, client, layout)
    assert (len(index), index.layout, index.n_shards) == (1000, layout, 4)
    assert str(index).startswith("DaskIndex(1000 codes of")
    assert index.nbytes <= 2 * flat.nbytes
    queries = codes_of(rng, layout, 9)
    weights = rng.integers(0, 4, layout.n_symbols) / 2
    tables = rng.integers(-3, 9, (5, layout.n_symbols, layout.arity)).astype(np.float32)
    for k in (1, 10, 400):
        assert_same(index.search(queries, k), flat.search(queries, k))
    assert_same(index.search(queries[:1], 10), flat.search(queries[:1], 10))
    assert_same(index.search(queries, 7, weights=weights), flat.search(queries, 7, weights=weights))
    assert_same(index.search_scores(tables, 7), flat.search_scores(tables, 7))
    assert_same(index.search_radius(queries, 6), flat.search_radius(queries, 6))
    assert_same(index.search_radius(queries, 3, weights=weights), flat.search_radius(queries, 3, weights=weights))


def test_k_beyond_the_codes_and_no_queries(client, rng):
    index, flat = both(rng, client, chunks=(3, 2))
    queries = codes_of(rng, LAYOUT, 4)
    assert_same(index.search(queries, 9), flat.search(queries, 9))
    assert_same(index.search(queries[:0], 9), flat.search(queries[:0], 9))
    assert_same(index.search_radius(queries[:0], 9), flat.search_radius(queries[:0], 9))


def test_filters_of_every_form(client, rng):
    index, flat = both(rng, client)
    queries = codes_of(rng, LAYOUT, 5)
    for chosen in filters(rng, flat.ids):
        assert_same(index.search(queries, 8, filter=chosen), flat.search(queries, 8, filter=chosen))
        found = index.search_radius(queries, 9, filter=chosen)
        assert_same(found, flat.search_radius(queries, 9, filter=chosen))


def test_given_ids_that_ascend_from_shard_to_shard(client, rng):
    ids = np.cumsum(rng.integers(1, 2**40, 1000))
    index, flat = both(rng, client, ids=ids)
    queries = codes_of(rng, LAYOUT, 5)
    for chosen in [None, *filters(rng, ids)]:
        assert_same(index.search(queries, 8, filter=chosen), flat.search(queries, 8, filter=chosen))


def test_given_ids_in_any_order(client, rng, monkeypatch):
    monkeypatch.setattr(_loading, "IDS_AT_ONCE", 100)
    ids = rng.permutation(2000)[:1000]
    index, flat = both(rng, client, ids=ids)
    queries = codes_of(rng, LAYOUT, 5)
    assert_same(index.search(queries, 300), flat.search(queries, 300))
    assert_same(index.search_radius(queries, 9), flat.search_radius(queries, 9))
    for chosen in filters(rng, np.sort(ids))[2:]:
        assert_same(index.search(queries, 8, filter=chosen), flat.search(queries, 8, filter=chosen))
    with pytest.raises(InvalidInputError, match="give the ids"):
        index.search(queries, 8, filter=np.ones(1000, bool))


@pytest.mark.parametrize("at", [(0, 999), (0, 1)])
def test_repeated_ids_are_refused(client, rng, monkeypatch, at):
    monkeypatch.setattr(_loading, "IDS_AT_ONCE", 100)
    ids = rng.permutation(2000)[:1000]
    ids[at[1]] = ids[at[0]]
    with pytest.raises(DuplicateIdError, match=rf"id {ids[at[0]]} is "):
        both_codes(rng, client, ids)


def both_codes(rng, client, ids):
    codes = da.from_array(codes_of(rng, LAYOUT, len(ids)), chunks=(300, -1))
    return DaskIndex.from_array(codes, LAYOUT, ids=ids, client=client)


def test_ranges_of_ids_cover_all_of_them(rng):
    shards = [np.sort(rng.integers(0, 10**6, n)) for n in (1, 5000, 300)]
    facts = [_loading.Facts(len(s), 0, True, s[np.linspace(0, len(s) - 1, 65).astype(int)]) for s in shards]
    edges = _loading.id_ranges(facts, 1000)
    assert edges[0] == min(s[0] for s in shards)
    assert edges[-1] == max(s[-1] for s in shards) + 1
    counts = np.histogram(np.concatenate(shards), edges)[0]
    assert counts.max() < 2000
    assert len(counts) >= 4


def test_many_shards_and_parts_of_queries(client, rng, monkeypatch):
    monkeypatch.setattr(_searching, "FAN_IN", 2)
    monkeypatch.setattr(_searching, "QUERY_BYTES", 3 * LAYOUT.n_bytes)
    monkeypatch.setattr(_searching, "COPIED_BYTES", 100)
    monkeypatch.setattr(_searching, "RADIUS_QUERIES", 3)
    index, flat = both(rng, client, chunks=(40,) * 11)
    queries = codes_of(rng, LAYOUT, 17)
    chosen = np.arange(0, 440, 3)
    assert_same(index.search(queries, 20), flat.search(queries, 20))
    assert_same(index.search(queries, 20, filter=chosen), flat.search(queries, 20, filter=chosen))
    assert_same(index.search_radius(queries, 12), flat.search_radius(queries, 12))


def test_progress_counts_every_answer_of_a_shard(client, rng, monkeypatch):
    class Bar(_searching.FitProgress):
        steps = 0

        def advance(self):
            Bar.steps += 1

    monkeypatch.setattr(_searching, "FitProgress", Bar)
    monkeypatch.setattr(_searching, "QUERY_BYTES", 3 * LAYOUT.n_bytes)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    index, _ = both(rng, client, chunks=(40,) * 5)
    index.search(codes_of(rng, LAYOUT, 7), 3)
    assert Bar.steps == 5 * 3


def test_blocks_of_unknown_length(client, rng):
    codes = codes_of(rng, LAYOUT, 100)
    flat = FlatIndex(LAYOUT)
    flat.add(codes[codes[:, 0] > 90])
    some = da.from_array(codes, chunks=(60, 3))
    index = DaskIndex.from_array(some[some[:, 0] > 90], LAYOUT, client=client)
    assert np.isnan(some[some[:, 0] > 90].shape[0])
    assert index.n_shards <= 2
    assert_same(index.search(codes[:5], 10), flat.search(codes[:5], 10))


def test_more_workers_than_shards(client, rng):
    index, flat = both(rng, client, chunks=(100,))
    assert index.n_shards < len(client.nthreads())
    queries = codes_of(rng, LAYOUT, 5)
    assert_same(index.search(queries, 10), flat.search(queries, 10))


def test_shards_are_spread_over_the_workers(client, rng):
    index, _ = both(rng, client, chunks=(50,) * 6)
    holders = [holder for future in index._shards.futures for holder in next(iter(client.who_has(future).values()))]
    assert min(holders.count(worker) for worker in client.nthreads()) >= 2  # Dask chooses: not always 3


def test_an_index_without_codes_answers_as_an_empty_one(client, rng):
    index, flat = both(rng, client, chunks=(0,))
    queries = codes_of(rng, LAYOUT, 3)
    assert len(index) == 0
    assert_same(index.search(queries, 2), flat.search(queries, 2))
    assert_same(index.search(queries, 2, filter=[1]), flat.search(queries, 2, filter=[1]))
    assert_same(index.search_radius(queries, 2), flat.search_radius(queries, 2))


def test_bad_questions_get_the_sentences_of_a_flat_index(client, rng):
    index, _ = both(rng, client)
    queries = codes_of(rng, LAYOUT, 2)
    for ask, error, match in [
        (lambda: index.search(queries[:, :3], 5), LayoutMismatchError, "shape"),
        (lambda: index.search(queries, 0), InvalidInputError, "k must be"),
        (lambda: index.search(queries, 5, weights=[1]), LayoutMismatchError, "weights"),
        (lambda: index.search(queries, 5, n_threads=0), InvalidInputError, "n_threads"),
        (lambda: index.search_scores(np.zeros((1, 2, 3)), 5), LayoutMismatchError, "tables"),
        (lambda: index.search_radius(queries, -1), InvalidInputError, "radius"),
        (lambda: index.search_radius(queries, 1, weights=[1]), LayoutMismatchError, "weights"),
        (lambda: index.search(queries, 5, filter=np.ones(3, bool)), InvalidInputError, "1000 entries, got 3"),
        (lambda: index.search(queries, 5, filter=np.ones(3, np.uint8)), InvalidInputError, "125 entries"),
        (lambda: index.search(queries, 5, filter=[0.5]), InvalidInputError, "filter must be"),
        (lambda: index.search(queries, 5, filter=[[1]]), InvalidInputError, "one-dimensional"),
    ]:
        with pytest.raises(error, match=match):
            ask()
