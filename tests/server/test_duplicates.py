"""Groups of near-duplicates over HTTP."""

from __future__ import annotations

import numpy as np
import pytest

from rankhash import LSH, Collection
from rankhash.server import Limits, Settings

from .serving import serving


@pytest.fixture(scope="module")
def copies():
    """Twelve vectors; items 3, 7 and 10 are copies of item 0, item 8 is one of item 5."""
    vectors = np.random.default_rng(0).normal(size=(12, 8)).astype(np.float32)
    vectors[[3, 7, 10]], vectors[8] = vectors[0], vectors[5]
    return vectors


def made(copies, hasher, **options):
    collection = Collection.create(":memory:", hasher, **options)
    collection.add(copies, ids=[f"item {i}" for i in range(12)], metadata=[{"n": i} for i in range(12)])
    return collection


def names(groups):
    return [[item["id"] for item in group] for group in groups]


GROUPS = [["item 0", "item 3", "item 7", "item 10"], ["item 5", "item 8"]]


@pytest.mark.parametrize("coded", [True, False])
def test_groups_come_in_pages_with_their_items(copies, coded):
    hasher = LSH(n_symbols=64, random_state=0).fit(copies) if coded else None
    with made(copies, hasher, **({} if coded else {"store_vectors": "float32"})) as collection:
        assert collection.duplicate_groups(radius=0 if coded else 1e-5) == GROUPS
        with serving({"copies": collection}, Settings()) as client:
            path = f"/v1/collections/copies/duplicates?radius={0 if coded else 1e-5}"
            answer = client.get(path).json
            assert names(answer["groups"]) == GROUPS
            assert (answer["total"], answer["n_items"], answer["offset"]) == (2, 6, 0)
            assert answer["groups"][1][1]["metadata"] == {"n": 8}
            assert names(client.get(f"{path}&offset=1&limit=5").json["groups"]) == GROUPS[1:]
            assert client.get(f"{path}&offset=2").json["groups"] == []
            collection.delete(["item 8"])
            assert names(client.get(path).json["groups"]) == GROUPS[:1]


def test_what_is_too_much_or_wrong_is_refused(copies):
    hasher = LSH(n_symbols=64, random_state=0).fit(copies)
    with made(copies, hasher) as collection:
        with serving({"copies": collection}, Settings(limits=Limits(stored=11))) as client:
            assert client.get("/v1/collections/copies/duplicates?radius=0").code == "422 limit"
        with serving({"copies": collection}, Settings(limits=Limits(matches=3))) as client:
            path = "/v1/collections/copies/duplicates"
            assert client.get(f"{path}?radius=64").status == 422
            assert client.get(f"{path}?radius=0&limit=1001").code == "422 limit"
            for wrong in ("", "?radius=-1", "?radius=nan", "?radius=inf", "?radius=x", "?radius=1&offset=-1"):
                assert client.get(path + wrong).status == 422, wrong
            assert client.get("/v1/collections/none/duplicates?radius=1").status == 404
