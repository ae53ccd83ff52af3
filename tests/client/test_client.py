from __future__ import annotations

import uuid

import numpy as np
import pandas
import pytest

from rankhash import (
    SRSH,
    Collection,
    EngineError,
    FilterError,
    IdError,
    InvalidInputError,
    TakenIdError,
    UnknownIdError,
)
from rankhash.client import Client, ServerError
from rankhash.server import Limits, Settings
from server.serving import TOKEN, serving

RNG = np.random.default_rng(0)
X = RNG.standard_normal((300, 12)).astype(np.float32)


@pytest.fixture(scope="module")
def hasher():
    return SRSH(n_symbols=16, arity=4, random_state=0).fit(X)


@pytest.fixture
def served(tmp_path, hasher):
    """A collection of 300 items, and a client that may change it."""
    settings = Settings(writable=True, token=TOKEN, limits=Limits(batch=64))
    with Collection.create(tmp_path / "items.rankhash", hasher, store_vectors="float32") as collection:
        collection.add(X, metadata=[{"number": i} for i in range(300)])
        with serving({"items": collection}, settings) as server, Client(_url(server), token=TOKEN) as client:
            yield collection, client


def _url(server):
    return f"http://127.0.0.1:{server.port}"


def test_searches_are_those_of_the_collection(served):
    collection, client = served
    items = client.collection("items")
    wanted = collection.search(X[:150], 5)  # more than one request may have
    found = items.search_arrays(X[:150], 5)
    assert (found.ids == wanted.ids.astype(np.int64)).all()
    assert (found.distances == wanted.distances).all()
    lists = items.search(X[:150], 5, metadata=True)
    assert [[match.id for match in row] for row in lists] == wanted.ids.tolist()
    assert all(match.metadata == {"number": match.id} for row in lists for match in row)


def test_a_collection_is_created_and_filled(tmp_path):
    settings = Settings(writable=True, token=TOKEN, folder=str(tmp_path))
    with serving({}, settings) as server, Client(_url(server), token=TOKEN) as client:
        items = client.create("articles", metric="euclidean")
        items.add(X, metadata=[{"number": i} for i in range(300)])
        assert items.search(X[7], 1, where="number < 100")[0][0].id == 7
        with pytest.raises(ServerError, match="already"):
            client.create("articles")


def test_options_reach_the_server(served):
    collection, client = served
    items = client.collection("items")
    found = items.search(X[0], 4, where="number >= 100", rerank=50)
    wanted = collection.search(X[:1], 4, where="number >= 100", rerank=50)
    assert [match.id for match in found[0]] == wanted.ids[0].tolist()
    arrays = items.search_arrays(X[0], 4, where="number >= 100", rerank=50)
    assert arrays.ids.tolist() == wanted.ids.tolist()
    like = items.search_ids([7, 8], 3)
    assert [len(row) for row in like] == [3, 3]
    assert all(match.id != 7 for match in like[0])


def test_examples_reach_the_server(served):
    collection, client = served
    items = client.collection("items")
    found = items.search(like=[7, np.int64(8)], unlike=3, k=4, where="number >= 100")
    wanted = collection.search(like=[7, 8], unlike=3, k=4, where="number >= 100")
    assert [[match.id for match in row] for row in found] == wanted.ids.tolist()
    assert [match.id for match in items.search(like=7, k=3)[0]] == collection.search_ids([7], 3).ids[0].tolist()
    for call in (items.search, lambda: items.search(X[0], like=7)):
        with pytest.raises(InvalidInputError, match="either vectors or ids in like"):
            call()


def test_warnings_of_the_server_are_warnings_here(served):
    items = served[1].collection("items")
    for call in (
        lambda: items.search(X[:2], where="nubmer < 3"),
        lambda: items.search(like=[1, 2], where="nubmer < 3"),
        lambda: items.search_ids([1], where="nubmer < 3"),
        lambda: items.search_arrays(X[:2], where="nubmer < 3"),
        lambda: list(items.items(where="nubmer < 3")),
    ):
        with pytest.warns(UserWarning, match="no item has the field nubmer") as caught:
            call()
        assert len(caught) == 1


def test_items_come_and_go(served):
    collection, client = served
    items = client.collection("items")
    ids = items.add(X[:100] + 1, metadata=[{"number": -i} for i in range(100)])
    assert ids == list(range(300, 400))
    items.upsert(X[:2] + 2, np.array([300, 999]), [{"number": 5}, None])
    assert len(items) == len(collection) == 401
    assert items.get(300)["metadata"] == {"number": 5}
    assert np.allclose(items.get(999, vector=True)["vector"], X[1] + 2)
    assert items.delete(where="number < 0") == 98 + 1
    assert items.delete([999]) == 1
    assert sum(1 for _ in items.items(page=100)) == len(items)
    assert [item["id"] for item in items.items(where="number < 3")] == [0, 1, 2]


def test_items_are_taken_as_people_have_them(served):
    collection, client = served
    items, first = client.collection("items"), uuid.UUID(int=1)
    table = {"price": np.array([1.5, np.nan]), "when": np.array(["2024-01-02", "NaT"], "datetime64[D]")}
    assert items.add(X[:2], [first, 1000.0], table) == [str(first), 1000]
    assert collection[1000].metadata == {"price": None, "when": None}
    assert items.get(first) == items.get(str(first))
    assert items.get(first)["metadata"] == {"price": 1.5, "when": "2024-01-02"}
    items.upsert(X[:1], [first], pandas.DataFrame({"price": [7], "when": [pandas.Timestamp("2024-03-01")]}))
    assert collection[str(first)].metadata == {"price": 7, "when": "2024-03-01T00:00:00"}
    assert items.search(like=first, k=1, metadata=True) == items.search_ids([first], 1, metadata=True)
    assert items.delete([first, np.uint16(1000)]) == 2


def test_text_ids(tmp_path, hasher):
    with Collection.create(tmp_path / "words.rankhash", hasher) as collection:
        settings = Settings(writable=True, token=TOKEN)
        with serving({"words": collection}, settings) as server, Client(_url(server), token=TOKEN) as client:
            words = client.collection("words")
            words.add(X[:3], ["a/b", "ü?", "17"])
            assert words.get("a/b")["id"] == "a/b"
            assert words.get("ü?")["id"] == "ü?"
            assert words.get("17")["id"] == "17"
            with pytest.raises(UnknownIdError):
                words.get(17)
            with pytest.raises(ServerError, match="no binary form") as caught:
                words.search_arrays(X[:1], 1)
            assert caught.value.status == 406
            assert words.search(X[0], 1)[0][0].id == "a/b"


def test_no_queries_give_no_rows(served):
    _, client = served
    items = client.collection("items")
    assert items.search(np.empty((0, 12)), 5) == []
    assert items.search_arrays(np.empty((0, 12)), 5).ids.shape == (0, 5)


def test_errors_are_those_of_a_collection(served):
    _, client = served
    items = client.collection("items")
    with pytest.raises(FilterError) as caught:
        items.search(X[0], where="number <")
    assert caught.value.position == 8
    with pytest.raises(UnknownIdError, match="12345"):
        items.get(12345)
    with pytest.raises(TakenIdError):
        items.add(X[:1], [0])
    with pytest.raises(InvalidInputError, match="7 features"):
        items.search(X[:1, :7])
    with pytest.raises(IdError, match="one for each of"):
        items.add(X[:2], [1])
    with pytest.raises(InvalidInputError, match="JSON"):
        items.add(X[:1], metadata=[{"a": object()}])
    with pytest.raises(ServerError, match="nothing") as found:
        client.collection("nothing").info()
    assert found.value.status == 404


def test_a_wrong_token_is_refused(served):
    _, client = served
    with (
        Client(f"http://127.0.0.1:{client._transport._port}", token="another-token-of-some-length") as other,
        pytest.raises(ServerError) as caught,
    ):
        other.collection("items").add(X[:1])
    assert caught.value.status == 401


@pytest.mark.parametrize("url", ["", "ftp://x", "127.0.0.1:8000", "http://"])
def test_an_address_must_be_one(url):
    with pytest.raises(InvalidInputError, match="url must be like"):
        Client(url)


def test_a_server_that_does_not_answer_gets_a_sentence():
    with (
        Client("http://127.0.0.1:9", retries=1, timeout=1) as client,
        pytest.raises(EngineError, match="cannot be reached"),
    ):
        client.collections()
