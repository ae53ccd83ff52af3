"""Bad input to a collection is refused and changes nothing."""

from __future__ import annotations

import numpy as np
import pytest

from rankhash import (
    LSH,
    Collection,
    FileFormatError,
    FilterError,
    IdError,
    InvalidInputError,
    InvalidTypeError,
    StorageError,
)

from .model import METADATA, NAMES

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
