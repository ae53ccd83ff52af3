"""Views over HTTP: vectors of any view are added and searched, as in the collection itself."""

from __future__ import annotations

import numpy as np
import pytest

from rankhash import CCAITQ, Collection
from rankhash.client import Client
from rankhash.server import Settings

from .serving import TOKEN, serving

RNG = np.random.default_rng(0)
LATENT = RNG.normal(size=(80, 4))
X, Z = ((LATENT @ RNG.normal(size=(4, d))).astype(np.float32) for d in (7, 5))


@pytest.fixture
def server(tmp_path):
    hasher = CCAITQ(n_bits=16, random_state=0).fit({"picture": X, "text": Z})
    with Collection.create(tmp_path / "items.rankhash", hasher) as items:
        items.add(X[:40])
        with serving({"items": items}, Settings(writable=True, token=TOKEN)) as client:
            client.name, client.items = "items", items
            yield client


def ask(server, body, path="/search"):
    return server.call("POST", server.path + path, body)


def ids_of(answer):
    assert answer.status == 200, answer.data
    return [[match["id"] for match in result["matches"]] for result in answer.json["results"]]


def test_queries_of_a_view_find_what_the_collection_finds(server):
    wanted = server.items.search(Z[:3], 5, view="text").ids.tolist()
    assert ids_of(ask(server, {"vectors": Z[:3].tolist(), "k": 5, "view": "text"})) == wanted
    raw = server.call(
        "POST",
        f"{server.path}/search?k=5&view=text",
        Z[:3].astype("<f4").tobytes(),
        content_type="application/octet-stream",
    )
    assert ids_of(raw) == wanted
    first = server.items.search(X[:3], 5).ids.tolist()
    assert ids_of(ask(server, {"vectors": X[:3].tolist(), "k": 5})) == first


def test_symbols_and_histograms_are_those_of_the_view(server):
    body = {"vectors": Z[:1].tolist(), "view": "text", "symbols": True, "histogram": True}
    result = ask(server, body).json["results"][0]
    assert result["query"]["symbols"] == server.items.hasher.transform(Z[:1], view="text")[0].tolist()
    assert sum(result["histogram"]) == 40


def test_items_of_a_view_are_added(server):
    added = ask(server, {"items": [{"vector": row} for row in Z[40:43].tolist()], "view": "text"}, "/items")
    assert added.status == 200, added.data
    codes = [item.code for item in server.items.get(added.json["ids"])]
    np.testing.assert_array_equal(codes, server.items.hasher.encode(Z[40:43], view="text"))


def test_the_client_adds_and_searches_views(server):
    with Client(f"http://127.0.0.1:{server.port}", token=TOKEN) as client:
        items = client.collection("items")
        assert items.info()["views"] == ["picture", "text"]
        ids = items.add(Z[50:53], view="text")
        items.upsert(Z[53:54], ids[:1], view="text")
        found = items.search(Z[53:54], 1, view="text")
        assert found[0][0].distance == 0
        wanted = server.items.search(Z[:4], 3, view="text").ids
        np.testing.assert_array_equal(items.search_arrays(Z[:4], 3, view="text").ids, wanted)


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ({"vectors": Z[:1].tolist(), "view": "sound"}, "one of 'picture', 'text', got 'sound'"),
        ({"vectors": X[:1].tolist(), "view": "text"}, "5"),
        ({"id": 0, "view": "text"}, "view is the view of vectors"),
        ({"vectors": Z[:1].tolist(), "view": 1}, "view"),
    ],
)
def test_wrong_views_are_refused(server, body, sentence):
    answer = ask(server, body)
    assert answer.status == 422
    assert sentence in answer.data.decode()


def test_a_collection_without_views_says_so(client, digits):
    answer = client.search(vectors=digits[0][:1].tolist(), view="text")
    assert answer.status == 422
    assert "has no views" in answer.data.decode()
