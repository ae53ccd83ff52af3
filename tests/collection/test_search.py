"""Searching a collection: scoring, re-ranking, radius, by ids."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import oracles
from rankhash import (
    Collection,
    InvalidInputError,
    LayoutMismatchError,
    RankQuantizer,
)

from .model import METADATA, NAMES, Model, distances_in


@pytest.fixture(params=["float16", "float32"])
def stored(request, path, hasher, vectors):
    with Collection.create(path, hasher, store_vectors=request.param) as collection:
        collection.add(vectors, NAMES, METADATA)
        yield collection


def named(numbers):
    return [[None if i < 0 else NAMES[i] for i in row] for row in numbers.tolist()]


def test_scorings_are_those_of_the_index(stored, hasher, vectors):
    queries = vectors[:9] + 0.1
    symbols, asked, numbers = hasher.transform(vectors), hasher.transform(queries), np.arange(300)
    truths = {
        "hamming": oracles.hamming(asked, symbols),
        "weighted": oracles.weighted(asked, symbols, hasher.weights_),
        "asymmetric": oracles.table_sums(hasher.score_tables(queries), symbols),
    }
    for scoring, truth in truths.items():
        ids, distances = oracles.nearest(truth, numbers, 7)
        found = stored.search(queries, 7, scoring=scoring)
        assert found.ids.tolist() == named(ids)
        np.testing.assert_array_equal(found.distances, distances)


def test_reranking_orders_candidates_by_exact_distances(stored, hasher, vectors):
    queries = vectors[:9] + 0.1
    kept = vectors.astype(stored.store_vectors).astype(np.float64)
    away = np.sqrt(((queries[:, None].astype(np.float64) - kept[None]) ** 2).sum(axis=2)).astype(np.float32)
    codes, _ = oracles.nearest(
        oracles.hamming(hasher.transform(queries), hasher.transform(vectors)), np.arange(300), 40
    )
    for row in range(9):
        away[row, np.setdiff1d(np.arange(300), codes[row])] = np.inf
    ids, distances = oracles.nearest(away, np.arange(300), 5)
    found = stored.search(queries, 5, rerank=40)
    assert found.ids.tolist() == named(ids)
    np.testing.assert_allclose(found.distances, distances, rtol=1e-6)
    everything = stored.search(queries, 5, rerank=300)
    assert everything.ids[:, 0].tolist() == NAMES[:9]


def test_reranking_is_the_default_where_vectors_are_stored(stored, vectors):
    queries = vectors[:9] + 0.1
    for k, candidates in ((5, 100), (20, 200)):
        by_default, asked = stored.search(queries, k), stored.search(queries, k, scoring="hamming", rerank=candidates)
        assert by_default.ids.tolist() == asked.ids.tolist()
        np.testing.assert_array_equal(by_default.distances, asked.distances)
    plain = stored.search(queries, 5, rerank=0)
    assert plain.ids.tolist() == stored.search(queries, 5, scoring="hamming").ids.tolist()


def test_score_tables_are_the_default_where_the_hasher_has_learned_them(tmp_path, vectors):
    hasher = RankQuantizer(4, random_state=0, verbose=False).fit(vectors)
    with Collection.create(tmp_path / "x", hasher) as collection:
        collection.add(vectors)
        found = collection.search(vectors[:5] + 0.1, 4)
        assert found.ids.tolist() == collection.search(vectors[:5] + 0.1, 4, scoring="asymmetric").ids.tolist()
        assert found.ids.tolist() != collection.search(vectors[:5] + 0.1, 4, scoring="hamming").ids.tolist()
        by_ids = collection.search_ids([0, 1], 4)  # without vectors there are no tables of items
        assert by_ids.ids.tolist() == collection.search_ids([0, 1], 4, scoring="hamming").ids.tolist()


@pytest.mark.parametrize("metric", ["cosine", "euclidean", "dot"])
def test_a_radius_with_reranking_is_a_true_distance(path, hasher, vectors, metric):
    away = distances_in(metric, vectors[:4], vectors)
    radius = float(np.sort(away[0])[7]) + 1e-4
    with Collection.create(path, hasher, metric=metric, store_vectors="float32") as collection:
        collection.add(vectors)
        found = collection.search(vectors[:4], 20, rerank=300, radius=radius)
    for row in range(4):
        near = np.flatnonzero(away[row] <= radius)
        assert set(found.ids[row].tolist()) - {None} == set(near[np.argsort(away[row][near])][:20].tolist())


def test_fewer_than_k_do_not_raise(stored, vectors):
    found = stored.search(vectors[:2], 5, where="n in (1, 2)")
    assert found.ids[:, 2:].tolist() == [[None] * 3] * 2
    assert np.isinf(found.distances[:, 2:]).all()
    again = stored.search(vectors[:2], 5, where="n in (1, 2)", rerank=100)
    assert again.ids[:, 2:].tolist() == [[None] * 3] * 2


def test_radius_leaves_out_what_is_farther(stored, hasher, vectors):
    model = Model(hasher)
    model.add(vectors, NAMES, METADATA)
    for where in (None, "even = true"):
        ids, distances = model.search(vectors[:4], 20, where, radius=5)
        found = stored.search(vectors[:4], 20, where=where, radius=5, scoring="hamming")
        assert found.ids.tolist() == ids.tolist()
        np.testing.assert_array_equal(found.distances, distances)
        everything = stored.search_radius(vectors[:4], 5, where=where)
        first = everything.query(1).ids[0, :20].tolist()
        assert first == [name for name in ids[1].tolist() if name is not None]
        counts = (oracles.hamming(hasher.transform(vectors[:4]), hasher.transform(vectors)) <= 5).sum(axis=1)
        if where is None:
            np.testing.assert_array_equal(np.diff(everything.offsets), counts)


def test_search_by_ids_leaves_the_item_itself_out(stored, hasher, vectors):
    names = NAMES[20:25]
    expected = stored.search(vectors[20:25].astype(stored.store_vectors), 300)  # all candidates are re-ranked
    for scoring in ("hamming", "weighted", "asymmetric"):
        found = stored.search_ids(names, 6, scoring=scoring)
        assert all(name not in row for name, row in zip(names, found.ids.tolist(), strict=True))
    found = stored.search_ids(names, 6, rerank=300)
    for name, row, whole in zip(names, found.ids.tolist(), expected.ids.tolist(), strict=True):
        assert row == [other for other in whole if other != name][:6]
    assert stored.search_ids(names, 3, rerank=50).ids.shape == (5, 3)
    assert stored.search_ids([], 3).ids.shape == (0, 3)


def test_items_that_equal_each_other_come_in_the_order_of_adding(collection, vectors):
    collection.add(np.tile(vectors[0], (10, 1)), [f"x{9 - i}" for i in range(10)])
    assert collection.search(vectors[:1], 10).ids[0].tolist() == [f"x{9 - i}" for i in range(10)]
    collection.upsert(vectors[:1], ["x9"])
    assert collection.search(vectors[:1], 10).ids[0].tolist() == [f"x{8 - i}" for i in range(9)] + ["x9"]
    assert collection.search_ids(["x3"], 10).ids[0].tolist() == [
        "x8",
        "x7",
        "x6",
        "x5",
        "x4",
        "x2",
        "x1",
        "x0",
        "x9",
        None,
    ]


def test_ids_may_be_asked_for_more_than_once(stored, vectors):
    once = {item.id: item for item in stored.get(["item-1", 3])}
    for item in stored.get([3, "item-1", 3, 3]):
        assert (item.vector == once[item.id].vector).all()
        assert (item.code == once[item.id].code).all()
    found = stored.search_ids([3, 3], 4, rerank=30)
    assert found.ids[0].tolist() == found.ids[1].tolist()


def test_an_empty_collection_answers(collection, vectors):
    assert collection.search(vectors[:2], 3).ids.tolist() == [[None] * 3] * 2
    assert collection.count("a = 1") == 0
    assert collection.ids() == []
    assert collection.get([]) == []
    assert collection.delete(where="not exists a") == 0
    collection.compact()
    assert collection.check().problems == ()


def test_a_collection_can_be_sent_to_another_process(stored, vectors):
    with pickle.loads(pickle.dumps(stored)) as other:
        assert other.ids() == NAMES
    with Collection.create(":memory:", stored.hasher) as memory, pytest.raises(InvalidInputError, match="memory"):
        pickle.dumps(memory)


def test_the_hasher_is_kept(stored, hasher, vectors):
    with Collection.open(stored.path) as other:
        assert other.hasher.fingerprint == hasher.fingerprint
        np.testing.assert_array_equal(other.hasher.encode(vectors), hasher.encode(vectors))
        np.testing.assert_array_equal(other.hasher.weights_, hasher.weights_)
        assert other.store_vectors == stored.store_vectors
        assert repr(other) == f"Collection({stored.path!r}, 12 symbols of arity 4, mode='r')"


def test_codes_can_be_added_as_they_are(collection, hasher, vectors):
    codes = hasher.encode(vectors)
    assert collection.add_codes(codes[:5], list("abcde")) == list("abcde")
    collection.add_codes(codes[5:])
    assert collection.search(vectors[:6], 1).ids[:, 0].tolist() == [*"abcde", 5]
    with pytest.raises(LayoutMismatchError, match="shape"):
        collection.add_codes(codes[:, :1])
    with pytest.raises(InvalidInputError, match="rerank needs stored vectors"):
        collection.search(vectors[:1], 1, rerank=5)
    with pytest.raises(InvalidInputError, match="needs stored vectors"):
        collection.search_ids(["a"], 1, scoring="asymmetric")


def test_a_radius_beyond_float32_finds_everything(stored, vectors):
    found = stored.search(vectors[:3], 5, radius=1e308)
    assert (found.ids == stored.search(vectors[:3], 5).ids).all()
