"""Searches by examples, and results of which only the nearest of each group counts."""

from __future__ import annotations

import numpy as np
import pytest

from rankhash import Collection, IdError, InvalidInputError

from .model import distances_in


@pytest.fixture(params=["cosine", "euclidean", "dot"])
def stored(request, vectors):
    with Collection.create(None, metric=request.param) as collection:
        collection.add(vectors, [f"n{i}" for i in range(300)], {"group": np.arange(300) % 7, "n": np.arange(300)})
        yield collection


def unit(vectors, metric):
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True) if metric == "cosine" else vectors


def test_examples_are_left_out(stored, vectors):
    like, unlike = [3, 8, 11], [20, 21]
    points = unit(vectors, stored.metric)
    query = (2 * points[like].mean(axis=0) - points[unlike].mean(axis=0))[None]
    order = np.argsort(distances_in(stored.metric, query, vectors)[0])
    expected = [f"n{i}" for i in order if i not in like + unlike][:10]
    found = stored.search(like=[f"n{i}" for i in like], unlike=[f"n{i}" for i in unlike])
    assert found.ids.tolist() == [expected]
    some = stored.search(like=["n3"], k=4, where="n < 50").ids[0].tolist()
    assert stored.search(like="n3", k=4, where="n < 50").ids[0].tolist() == some
    order = np.argsort(distances_in(stored.metric, vectors[3:4], vectors[:50])[0])
    assert some == [f"n{i}" for i in order if i != 3][:4]


def test_bad_examples_are_refused(stored, hasher, vectors):
    for call in (
        lambda: stored.search(),
        lambda: stored.search(vectors[:1], like=["n1"]),
        lambda: stored.search(like=[]),
        lambda: stored.search(unlike=["n1"]),
    ):
        with pytest.raises(InvalidInputError, match=r"search needs either|at least one item"):
            call()
    with pytest.raises(IdError, match="'z' is not in"):
        stored.search(like=["n1"], unlike=["z"])
    with Collection.create(None, hasher) as codes_only:
        codes_only.add(vectors)
        with pytest.raises(InvalidInputError, match="stored"):
            codes_only.search(like=[1, 2])


def test_one_example_is_enough_for_codes_without_vectors(hasher, vectors):
    with Collection.create(None, hasher) as codes_only:
        codes_only.add(vectors)
        found = codes_only.search(like=7, k=5)
        assert found.ids.tolist() == codes_only.search_ids([7], 5).ids.tolist()
        assert codes_only.search(like=np.array([7]), k=5).ids.tolist() == found.ids.tolist()
        assert 7 not in found.ids


@pytest.mark.parametrize("k", [1, 5, 7, 9])
@pytest.mark.parametrize("where", [None, "n > 100"])
def test_groups_give_their_nearest_item(stored, vectors, k, where):
    away = distances_in(stored.metric, vectors[:4], vectors)
    if where:
        away[:, :101] = np.inf
    found = stored.search(vectors[:4], k, group_by="group", where=where)
    for row in range(4):
        best = {}
        for i in np.argsort(away[row], kind="stable"):
            best.setdefault(i % 7, f"n{i}")
        assert found.ids[row].tolist() == ([*best.values()] + [None] * 9)[:k]
        assert np.isinf(found.distances[row, 7:]).all()


def test_items_without_the_field_are_one_group(hasher, vectors):
    with Collection.create(None, hasher, store_vectors="float32") as collection:
        collection.add(vectors[:6], metadata=[{"g": 1}, {"g": "1"}, None, {}, {"g": None}, {"g": [1]}])
        found = [name for name in collection.search(vectors[0], 9, group_by="g").ids[0] if name is not None]
        assert len(found) == 5
        assert {0, 1, 4, 5} < {*found}


def test_grouping_by_a_field_that_no_item_has_is_a_warning(stored, vectors):
    with pytest.warns(UserWarning, match="no item has the field gruop, by which results are grouped") as caught:
        stored.search(vectors[:1], 3, group_by="gruop")
    assert caught[0].filename == __file__
    with Collection.create(None, metric="cosine") as empty:
        empty.search(vectors[:1], 3, group_by="gruop")
