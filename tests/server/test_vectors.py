"""A collection without a hasher behind the server: its dimension is that of the first vectors."""

from __future__ import annotations

import numpy as np
import pytest

from rankhash import Collection
from rankhash.server import Settings

from .serving import TOKEN, serving


@pytest.fixture
def writer(tmp_path):
    with (
        Collection.create(tmp_path / "items.rankhash", metric="euclidean") as collection,
        serving({"digits": collection}, Settings(writable=True, token=TOKEN)) as client,
    ):
        client.collection = collection
        yield client


def test_items_go_in_and_are_found(writer, digits):
    X, path = digits[0][:50], f"{writer.path}/items"
    empty = writer.get(writer.path).json
    assert (empty["hasher"], empty["n_features"], empty["scorings"], empty["rerank"]) == (None, None, ["auto"], False)
    assert writer.search(vector=[1.0, 2.0]).json["results"][0]["matches"] == []
    items = [{"vector": x.tolist(), "metadata": {"n": i}} for i, x in enumerate(X)]
    assert writer.call("POST", path, {"items": items}).json["n"] == 50
    assert writer.get(writer.path).json["n_features"] == 64
    found = writer.search(vectors=X[:3].tolist(), k=4, metadata=True, symbols=True, truth=True).json["results"]
    expected = writer.collection.search(X[:3], 4)
    for result, ids, distances in zip(found, expected.ids.tolist(), expected.distances.tolist(), strict=True):
        assert [match["id"] for match in result["matches"]] == ids
        np.testing.assert_allclose([match["distance"] for match in result["matches"]], distances)
        assert result["query"] == {"symbols": []}
        assert result["recall"] == 1
    assert writer.search(id=7, k=1, recall=1).json["results"][0]["matches"][0]["id"] != 7
    assert writer.get(f"{path}/7?vector=1").json["vector"] == X[7].tolist()
    assert writer.get(f"{path}?limit=2").json["items"][1] == {"id": 1, "symbols": [], "metadata": {"n": 1}}


def test_groups_give_their_nearest_item(writer, digits):
    writer.collection.add(digits[0][:50], metadata={"digit": digits[1][:50]})
    found = writer.search(id=7, k=10, group_by="digit", metadata=True).json["results"][0]["matches"]
    assert len({match["metadata"]["digit"] for match in found}) == len(found) == 10
    assert [match["id"] for match in found] == writer.collection.search_ids([7], 10, group_by="digit").ids[0].tolist()
    assert writer.search(id=7, group_by="a b").code == "422 bad_filter"


def test_what_needs_codes_is_refused(writer, digits):
    writer.collection.add(digits[0][:5])
    for wrong in ({"histogram": True}, {"scoring": "hamming"}, {"rerank": 10}):
        assert writer.search(id=1, **wrong).code == "422 invalid"
    assert writer.search(vector=[1.0, 2.0]).code == "422 invalid"


def test_a_field_that_no_item_has_is_a_warning(writer, digits):
    writer.collection.add(digits[0][:5], metadata={"n": range(5)})
    sentence = "no item has the field m, which the filter tests"
    assert writer.search(id=1, where="m = 3").json["warnings"] == [sentence]
    assert writer.get(f"{writer.path}/items?where=m%20%3D%203").json["warnings"] == [sentence]
    assert "warnings" not in writer.search(id=1, where="n = 3").json


WRONG = (
    "[NaN, 0]",
    "[1e999, 0]",
    "[1e39, 0]",
    f"[1{'0' * 400}, 0]",
    '["a", 0]',
    "[null, 0]",
    "[[0], 0]",
    "[true, 0]",
    "[]",
    "[0]",
)
LARGE_OR_SMALL = ("[3e38, 3e38]", "[-3e38, 1e20]", "[1e-45, 0]", "[1e-30, 1e-30]")


@pytest.mark.parametrize("metric", ["cosine", "euclidean", "dot"])
def test_hostile_vectors_are_refused_or_stored_and_change_no_other_answer(tmp_path, metric):
    X = np.random.default_rng(0).normal(size=(200, 2)).astype(np.float32)
    with (
        Collection.create(tmp_path / "items.rankhash", metric=metric) as collection,
        serving({"digits": collection}, Settings(writable=True, token=TOKEN)) as client,
    ):
        collection.add(X)
        own = collection.search(X[:20], 200)

        def send(path, body, kind="application/json"):
            return client.call(
                "POST", f"{client.path}/{path}", body.encode() if isinstance(body, str) else body, content_type=kind
            )

        for vector in WRONG:
            assert send("items", f'{{"items": [{{"id": "h", "vector": {vector}}}]}}').code == "422 invalid"
            assert send("search", f'{{"vector": {vector}}}').code == "422 invalid"
        for numbers in ([np.nan, 0], [np.inf, 0], [0]):
            body = np.array(numbers, np.float32).tobytes()
            assert send("search?k=3", body, "application/octet-stream").code == "422 invalid"
        assert len(collection) == 200
        for i, vector in enumerate(LARGE_OR_SMALL):
            answer = send("items", f'{{"items": [{{"id": "h{i}", "vector": {vector}}}]}}')
            if metric != "cosine" and "e38" in vector:  # its distances would be infinite
                assert answer.code == "422 invalid"
                assert "has the length" in answer.json["error"]["message"]
            else:
                assert answer.status == 200
            assert len(send("search", f'{{"vector": {vector}, "k": 3}}').json["results"][0]["matches"]) == 3
        assert collection.check().problems == ()
        found = collection.search(X[:20], 205)
        for names, before in zip(found.ids.tolist(), own.ids.tolist(), strict=True):
            assert [name for name in names if isinstance(name, int)] == before
