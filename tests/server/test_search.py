"""Searches over HTTP find what the collection finds, however they come and whoever else asks."""

from __future__ import annotations

import io
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankhash import Collection
from rankhash.server import Settings

from .serving import Client, serving

RAW, NPY = "application/octet-stream", "application/x-npy"


def rows_of(answer):
    """Ids and distances of every result."""
    assert answer.status == 200, answer.data
    return [[(match["id"], match["distance"]) for match in result["matches"]] for result in answer.json["results"]]


def expected(matches):
    pairs = zip(matches.ids.tolist(), matches.distances.tolist(), strict=True)
    return [[(name, distance) for name, distance in zip(*row, strict=True) if name is not None] for row in pairs]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"k": 3, "where": "digit in (3, 8)"},
        {"k": 1000},
        {"scoring": "weighted"},
        {"scoring": "asymmetric", "k": 7},
        {"rerank": 50},
        {"radius": 5, "k": 20},
        {"where": "digit = 77"},
    ],
    ids=str,
)
def test_vectors_and_ids_find_what_the_collection_finds(client, collection, digits, options):
    X = digits[0][:3] + 0.25
    own = {"k": 10} | options
    assert rows_of(client.search(vectors=X.tolist(), **options)) == expected(collection.search(X, **own))
    assert rows_of(client.search(vector=X[0].tolist(), **options)) == expected(collection.search(X[:1], **own))
    assert rows_of(client.search(ids=[4, 7], **options)) == expected(collection.search_ids([4, 7], **own))
    assert rows_of(client.search(id=4, **options)) == expected(collection.search_ids([4], **own))


@pytest.mark.parametrize("options", [{}, {"k": 3, "where": "digit in (3, 8)"}, {"scoring": "hamming"}], ids=str)
def test_examples_find_what_the_collection_finds(client, collection, options):
    own = {"k": 10} | options
    asked = client.search(like=[4, 7], unlike=[9], **options)
    assert rows_of(asked) == expected(collection.search(like=[4, 7], unlike=9, **own))
    assert rows_of(client.search(like=[4, 7], **options)) == expected(collection.search(like=[4, 7], **own))
    assert rows_of(client.search(like=[4], **options)) == expected(collection.search_ids([4], **own))


def test_examples_come_with_truth_symbols_and_histogram(client, collection):
    more = {"truth": True, "symbols": True, "histogram": True}
    (result,) = client.search(like=[4, 7], unlike=[9], k=5, rerank=len(collection), **more).json["results"]
    assert result["recall"] == 1
    assert len(result["query"]["symbols"]) == 16
    assert sum(result["histogram"]) == len(collection)
    (rough,) = client.search(like=[4, 7], k=5, truth=True, scoring="hamming").json["results"]
    assert rough["recall"] == sum(match["true"] for match in rough["matches"]) / 5


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"unlike": [3], "id": 4}, "unlike needs examples in like"),
        ({"like": [3], "id": 4}, "exactly one of"),
        ({"like": []}, "like"),
        ({"like": [3], "unlike": ["nobody"]}, "nobody"),
        ({"like": [3, 4], "view": "text"}, "leave it out for items"),
        ({"like": list(range(2000))}, "the number of examples"),
    ],
    ids=str,
)
def test_wrong_examples_get_a_sentence(client, body, message):
    answer = client.search(**body)
    assert answer.status in (404, 422)
    assert message in answer.json["error"]["message"]


def test_grouping_by_a_field_that_no_item_has_is_a_warning(client):
    answer = client.search(id=4, group_by="digits").json
    assert answer["warnings"] == ["no item has the field digits, by which results are grouped"]
    assert "warnings" not in client.search(id=4, group_by="digit").json


def test_equal_examples_at_the_same_time_get_equal_answers(collection):
    def ask(port):
        client = Client(port)
        try:
            return [rows_of(client.search(like=[1, 2], unlike=[5], k=4)) for _ in range(10)]
        finally:
            client.close()

    with serving({"digits": collection}, Settings()) as server, ThreadPoolExecutor(8) as pool:
        answers = [answer for part in pool.map(ask, [server.port] * 8) for answer in part]
    assert answers == [expected(collection.search(like=[1, 2], unlike=[5], k=4))] * 80


def test_text_is_encoded_by_the_operators_function(client, collection, digits):
    X, y = digits
    first = X[np.flatnonzero(y == 3)[:1]]
    assert rows_of(client.search(text="3rd", k=5)) == expected(collection.search(first, 5))


@pytest.mark.parametrize("kind", [RAW, NPY, "fortran", "integers"])
def test_binary_bodies_ask_the_same(client, collection, digits, kind):
    X = np.round(digits[0][:4])
    options = {"k": 5, "where": "digit < 8", "scoring": "weighted"}
    data = io.BytesIO()
    np.save(data, {"fortran": np.asfortranarray(X), "integers": X.astype(np.int16)}.get(kind, X))
    body = X.astype("<f4").tobytes() if kind == RAW else data.getvalue()
    path = f"{client.path}/search?k=5&where=digit%20%3C%208&scoring=weighted"
    found = collection.search(X, **options)
    sent = RAW if kind == RAW else NPY
    assert rows_of(client.call("POST", path, body, content_type=sent)) == expected(found)
    answer = client.call("POST", path, body, content_type=sent, accept=RAW)
    n, k = map(int, answer.headers["x-rankhash-shape"].split(","))
    assert (n, k) == (4, 5)
    assert np.frombuffer(answer.data[: 8 * n * k], "<i8").reshape(n, k).tolist() == found.ids.tolist()
    assert np.frombuffer(answer.data[8 * n * k :], "<f4").reshape(n, k).tolist() == found.distances.tolist()


def test_places_that_are_not_filled_are_minus_one_in_binary_answers(client, digits):
    body = digits[0][:1].astype("<f4").tobytes()
    answer = client.call("POST", f"{client.path}/search?k=2&where=digit%3D77", body, content_type=RAW, accept=RAW)
    assert np.frombuffer(answer.data[:16], "<i8").tolist() == [-1, -1]
    assert np.isinf(np.frombuffer(answer.data[16:], "<f4")).all()


def test_metadata_symbols_truth_and_histogram_come_if_wanted(client, collection, digits):
    X = digits[0][10:11]
    plain = client.search(vector=X[0].tolist(), k=3).json["results"][0]
    assert plain["query"] == {}
    assert all(match.keys() == {"id", "distance"} for match in plain["matches"])
    asked = {"metadata": True, "symbols": True, "truth": True, "histogram": True, "where": "digit != 5"}
    asked["scoring"] = "hamming"
    (result,) = client.search(vector=X[0].tolist(), k=3, **asked).json["results"]
    symbols = collection.hasher.transform(X)[0]
    assert result["query"]["symbols"] == symbols.tolist()
    kept = [i for i in range(600) if digits[1][i] != 5]
    codes = collection.hasher.transform(digits[0][kept])
    counts = np.bincount((codes != symbols).sum(axis=1), minlength=17)
    assert result["histogram"] == counts.tolist()
    away = ((digits[0][kept] - X) ** 2).sum(axis=1)
    true = {kept[i] for i in np.argsort(away, kind="stable")[:3]}
    for match in result["matches"]:
        assert match["metadata"]["digit"] == digits[1][match["id"]] != 5
        assert sum(a != b for a, b in zip(match["symbols"], symbols, strict=True)) == match["distance"]
        assert match["true"] == (match["id"] in true)
    assert result["recall"] == sum(match["true"] for match in result["matches"]) / 3
    assert client.search(id=10, k=3, rerank=600, truth=True).json["results"][0]["recall"] == 1


def test_truncated_says_that_there_may_be_more_within_the_radius(client):
    near, far = (client.search(id=0, k=k, radius=6, scoring="hamming").json["results"][0] for k in (2, 600))
    assert near["truncated"]
    assert not far["truncated"]
    assert not client.search(id=0, k=2).json["results"][0]["truncated"]


@pytest.mark.parametrize("index", ["flat", "lookup"])
def test_many_clients_at_once_get_the_answers_they_would_get_alone(make, digits, tmp_path, index):
    """Searches of different kinds, with a wrong one among them now and then, all at once."""
    X = digits[0]
    make(tmp_path / "c.rankhash", store_vectors="float32").close()
    kinds = [{}, {"k": 3}, {"where": "digit < 5"}, {"scoring": "asymmetric"}, {"rerank": 30}]
    with Collection.open(tmp_path / "c.rankhash", index=index) as opened:

        def ask(number):
            options = kinds[number % len(kinds)]
            own = {"k": 10} | options
            client = Client(port)
            try:
                for i in range(number, number + 12):
                    if i % 7 == 0:
                        assert client.search(ids=[5, 10_000 + i], **options).code == "404 unknown_id"
                    if i % 5 == 0:
                        assert client.search(vector=[1e39] * 64, **options).code == "422 invalid"
                    if i % 3 == 0:
                        assert rows_of(client.search(id=i, **options)) == expected(opened.search_ids([i], **own))
                    some = X[i : i + 1 + i % 4]
                    assert rows_of(client.search(vectors=some.tolist(), **options)) == expected(
                        opened.search(some, **own)
                    )
            finally:
                client.close()

        with serving({"digits": opened}, Settings()) as first:
            port = first.port
            with ThreadPoolExecutor(24) as clients:
                list(clients.map(ask, range(24)))
            batcher = first.app.state.rankhash.batcher
            assert batcher.n_batches < batcher.n_requests


@settings(max_examples=25, deadline=None)
@given(st.lists(st.floats(-1e6, 1e6, width=32), min_size=64, max_size=64), st.integers(1, 40))
def test_any_vector_finds_the_same_in_json_in_binary_and_in_python(client, collection, vector, k):
    direct = expected(collection.search([vector], k))
    assert rows_of(client.search(vector=vector, k=k)) == direct
    body = np.array(vector, "<f4").tobytes()
    assert rows_of(client.call("POST", f"{client.path}/search?k={k}", body, content_type=RAW)) == direct
