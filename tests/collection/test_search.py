"""Searching a collection: scoring, re-ranking, radius, by ids; and bad input that changes nothing."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import oracles
from rankhash import (
    LSH,
    Collection,
    FileFormatError,
    FilterError,
    IdError,
    InvalidInputError,
    InvalidTypeError,
    LayoutMismatchError,
    RankQuantizer,
    StorageError,
)

from .model import Model, distances_in

NAMES = [f"item-{i}" if i % 3 else i for i in range(300)]
METADATA = [{"n": i, "even": i % 2 == 0} if i % 5 else None for i in range(300)]


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


# -- bad input -----------------------------------------------------------------------------------------------------

X = np.ones((2, 6), np.float32)
BAD_CALLS = {
    "wrong dimension": (lambda c: c.add(np.ones((2, 5))), InvalidInputError, "5 features.*expecting 6"),
    "NaN": (lambda c: c.add(X * np.nan), InvalidInputError, "NaN"),
    "infinity in upsert": (lambda c: c.upsert(X * np.inf, ["p", "q"]), InvalidInputError, "infinity"),
    "text as vectors": (lambda c: c.add([["a"] * 6]), InvalidTypeError, "numbers"),
    "beyond float16": (lambda c: c.add(X * 1e6), InvalidInputError, "float16"),
    "duplicate ids": (lambda c: c.add(X, ["p", "p"]), IdError, "'p' is given more than once"),
    "taken id": (lambda c: c.add(X, ["p", "item-1"]), IdError, "'item-1' is already"),
    "taken integer id": (lambda c: c.add(X, [900, 3]), IdError, "3 is already"),
    "too few ids": (lambda c: c.add(X, ["p"]), IdError, "one for each of 2 vectors"),
    "one string as ids": (lambda c: c.add(X, "pq"), IdError, "a list of"),
    "float ids": (lambda c: c.add(X, [1.5, 2]), IdError, "integers or strings"),
    "boolean ids": (lambda c: c.add(X, [True, "p"]), IdError, "integers or strings, got True"),
    "huge id": (lambda c: c.add(X, [2**63, 1000]), IdError, "2.63"),
    "empty id": (lambda c: c.add(X, ["", "p"]), IdError, "1 to 4096 bytes"),
    "surrogate id": (lambda c: c.add(X, ["\ud800", "p"]), IdError, "UTF-8"),
    "no more numbers": (lambda c: (c.add(X[:1], [2**63 - 2]), c.add(X)), IdError, "no room"),
    "metadata not JSON": (lambda c: c.add(X, metadata=[{"a": 1}, {"a": {1, 2}}]), InvalidInputError, "row 1 is not"),
    "metadata infinity": (lambda c: c.add(X, metadata=[{"a": float("inf")}, None]), InvalidInputError, "row 0 is not"),
    "metadata no dict": (lambda c: c.add(X, metadata=[{"a": 1}, 3]), InvalidInputError, "row 1 has 3"),
    "metadata too few": (lambda c: c.add(X, metadata=[{}]), InvalidInputError, "each of 2 vectors"),
    "unknown id": (lambda c: c.delete(["item-1", "nobody"]), IdError, "'nobody' is not in"),
    "unknown integer": (lambda c: c.delete([0, 1]), IdError, "1 is not in"),
    "delete nothing": (lambda c: c.delete(), InvalidInputError, "either ids or where"),
    "filter": (lambda c: c.delete(where="n <"), FilterError, "character 4"),
    "field": (lambda c: c.index_field("a b"), FilterError, "character 3"),
    "codes beside vectors": (lambda c: c.add_codes(np.zeros((1, 3), np.uint8)), InvalidInputError, "stores vectors"),
    "get unknown": (lambda c: c.get(["nobody"]), IdError, "nobody"),
    "k": (lambda c: c.search(X, 0), InvalidInputError, "k must be"),
    "scoring": (lambda c: c.search(X, 1, scoring="best"), InvalidInputError, "'hamming' or 'weighted' or 'asymmetric'"),
    "rerank": (lambda c: c.search(X, 1, rerank=-1), InvalidInputError, "rerank must be"),
    "radius": (lambda c: c.search(X, 1, radius=-1), InvalidInputError, "radius must be"),
    "where": (lambda c: c.search(X, 1, where="n = = 3"), FilterError, "character 5"),
    "asymmetric radius": (
        lambda c: c.search_radius(X, 1, scoring="asymmetric"),
        InvalidInputError,
        "no search by radius",
    ),
    "query of another width": (lambda c: c.search(X[:, :5], 1), InvalidInputError, "5 features"),
}


@pytest.mark.parametrize("what", BAD_CALLS)
def test_bad_input_is_refused_and_changes_nothing(what, path, hasher, vectors):
    call, error, message = BAD_CALLS[what]
    with Collection.create(path, hasher, store_vectors="float16") as collection:
        collection.add(vectors, NAMES, METADATA)
        before = collection.stats()
        with pytest.raises(error, match=message):
            call(collection)
        if what != "no more numbers":
            assert collection.stats() == before
            assert collection.ids() == NAMES
        assert collection.check().problems == ()


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


def test_weighted_scoring_needs_weights(tmp_path, vectors):
    with (
        Collection.create(tmp_path / "x", LSH(8, random_state=0).fit(vectors)) as collection,
        pytest.raises(InvalidInputError, match="LSH"),
    ):
        collection.search(vectors[:1], 1, scoring="weighted")


def test_wrong_files_and_modes_are_refused(tmp_path, path, hasher, collection):
    with pytest.raises(StorageError, match="there already"):
        Collection.create(path, hasher)
    with pytest.raises(StorageError, match="there is no collection"):
        Collection.open(tmp_path / "nowhere")
    with pytest.raises(StorageError, match="no folder"):
        Collection.create(tmp_path / "no" / "where", hasher)
    with pytest.raises(InvalidInputError, match='"r" or "rw"'):
        Collection.open(path, "w")
    with pytest.raises(InvalidInputError, match="in memory"):
        Collection.open(":memory:")
    with pytest.raises(InvalidInputError, match="hasher must be"):
        Collection.create(tmp_path / "y", "LSH")
    with pytest.raises(InvalidInputError, match="float64"):
        Collection.create(tmp_path / "y", hasher, store_vectors="float64")
    with pytest.raises(Exception, match="not fitted"):
        Collection.create(tmp_path / "y", LSH(8))
    assert not (tmp_path / "y").exists()
    (tmp_path / "text").write_text("no database at all, but long enough to have a header" * 10)
    for name in ("text", "empty"):
        (tmp_path / name).touch()
        with pytest.raises(FileFormatError, match="is not a rankhash collection"):
            Collection.open(tmp_path / name)


def test_a_closed_collection_says_so(collection, vectors):
    collection.close()
    collection.close()
    for call in (lambda: collection.add(vectors), lambda: collection.search(vectors, 1), lambda: len(collection)):
        with pytest.raises(StorageError, match="closed"):
            call()


def test_a_radius_beyond_float32_finds_everything(stored, vectors):
    found = stored.search(vectors[:3], 5, radius=1e308)
    assert (found.ids == stored.search(vectors[:3], 5).ids).all()
