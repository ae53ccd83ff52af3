"""Near-duplicates of a collection: pairs of items, new vectors against items, and adding only what is new."""

from __future__ import annotations

import numpy as np
import pytest

import oracles
from rankhash import LSH, Collection, InvalidInputError, TooManyPairsError


@pytest.fixture
def vectors(rng):
    X = rng.normal(size=(120, 8)).astype(np.float32)
    X[60:] = X[:60] + 0.05 * rng.normal(size=(60, 8))
    return X


@pytest.fixture
def items(vectors):
    with Collection.create(":memory:", LSH(32, random_state=0).fit(vectors)) as collection:
        yield collection


def distances(items, vectors):
    symbols = items.hasher.transform(vectors)
    return oracles.hamming(symbols, symbols)


def test_pairs_of_items_are_those_of_brute_force(items, vectors):
    names = [f"item-{i}" if i % 3 else i for i in range(120)]
    items.add(vectors, ids=names)
    items.delete([names[5]])
    left = [i for i in range(120) if i != 5]
    first, second, away = oracles.near_pairs(distances(items, vectors[left]), 2, same=True)
    found = items.find_duplicates(radius=2)
    assert len(first) > 20
    assert found.first.tolist() == [names[left[i]] for i in first]
    assert found.second.tolist() == [names[left[i]] for i in second]
    np.testing.assert_array_equal(found.distances, away)
    with pytest.raises(TooManyPairsError):
        items.find_duplicates(radius=32, max_pairs=10)


def test_new_vectors_find_the_items_near_them(items, vectors):
    items.add(vectors[:60], ids=[f"item-{i}" for i in range(60)])
    found = items.find_duplicates(vectors[60:], radius=3)
    away = distances(items, vectors)[60:, :60]
    expected = {(i, f"item-{j}") for i, j in zip(*np.nonzero(away <= 3), strict=True)}
    assert set(zip(found.first.tolist(), found.second.tolist(), strict=True)) == expected


def greedy(away, radius, n_stored):
    """Rows behind the stored ones that are not near a stored or an earlier added one."""
    added = list(range(n_stored))
    for row in range(n_stored, len(away)):
        if (away[row, added] > radius).all():
            added.append(row)
    return added[n_stored:]


def test_duplicates_are_skipped(items, vectors):
    items.add(vectors[:30], ids=list(range(30)))
    metadata = [{"row": i} for i in range(30, 120)]
    names = list(range(30, 120))
    added = items.add(vectors[30:], ids=names, metadata=metadata, skip_duplicates=3)
    assert added == greedy(distances(items, vectors), 3, 30)
    assert 20 < len(added) < 80
    assert [item.metadata for item in items.get(added)] == [{"row": i} for i in added]
    assert items.add(vectors, skip_duplicates=3) == []
    assert len(items) == 30 + len(added)


def test_bad_input_changes_nothing(items, vectors):
    for arguments in ({"skip_duplicates": -1}, {"skip_duplicates": 1, "metadata": [{}]}):
        with pytest.raises(InvalidInputError):
            items.add(vectors, **arguments)
    assert len(items) == 0


def test_without_a_hasher_distances_are_true(tmp_path):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(400, 6)).astype(np.float32)
    X[300:] = X[:100] + rng.normal(size=(100, 6)).astype(np.float32) * 0.01
    true = np.linalg.norm(X[:, None] - X[None], axis=2)
    first, second = np.nonzero(np.triu(true <= 0.1, 1))
    with Collection.create(tmp_path / "x.rankhash", metric="euclidean") as items:
        assert items.add(X[:300]) == list(range(300))
        kept = items.add(X[300:], metadata={"n": np.arange(100)}, skip_duplicates=0.1)
        assert len(kept) == 100 - len({*second[first < 300].tolist()} & {*range(300, 400)})
        if kept:
            items.delete(kept)
        items.add(X[300:], [f"copy {i}" for i in range(100)])
        found = items.find_duplicates(radius=0.1)
        names = [*range(300), *(f"copy {i}" for i in range(100))]
        assert set(zip(found.first, found.second, strict=True)) == {
            (names[i], names[j]) for i, j in zip(first, second, strict=True)
        }
        np.testing.assert_allclose(found.distances.max(), true[first, second].max(), rtol=1e-4)
        with pytest.raises(TooManyPairsError):
            items.find_duplicates(radius=100, max_pairs=10)
        near = items.find_duplicates(X[:2], radius=1e-3)
        assert {(row, name) for row, name in zip(near.first, near.second, strict=True)} >= {(0, 0), (1, 1)}
