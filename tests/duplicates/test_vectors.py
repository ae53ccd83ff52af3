"""Near pairs of a VectorIndex against brute force."""

from __future__ import annotations

import numpy as np
import pytest

from rankhash import InvalidInputError, VectorIndex, duplicate_groups
from rankhash.duplicates import vectors as module
from rankhash.vector_index import _options


def planted(n, d, n_copies, noise, seed=0):
    """Vectors, the last of which are noisy copies of the first ones."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)).astype(np.float32)
    X[-n_copies:] = X[:n_copies] + noise * rng.normal(size=(n_copies, d))
    return X


def brute_pairs(X, near):
    first, second = np.nonzero(np.triu(near(X.astype(np.float64)), 1))
    return set(zip(first.tolist(), second.tolist(), strict=True))


def cosines(X):
    X = X / np.linalg.norm(X, axis=1, keepdims=True)
    return X @ X.T


def distances(X):
    return np.sqrt(np.maximum(0, (X**2).sum(1)[:, None] + (X**2).sum(1) - 2 * X @ X.T))


@pytest.mark.parametrize(("metric", "threshold"), [("cosine", 0.9), ("euclidean", 1.2)])
def test_a_small_index_finds_every_pair(metric, threshold):
    X = planted(600, 16, 150, 0.1)
    X[400:440] = X[0]  # more copies than the first search returns
    index = VectorIndex(metric)
    ids = np.random.default_rng(1).permutation(5000)[:600]
    index.add(X, ids)
    index.remove(ids[-20:])
    near = (lambda V: cosines(V) >= threshold) if metric == "cosine" else (lambda V: distances(V) <= threshold)
    order = np.argsort(ids[:-20])
    kept = ids[:-20][order]
    wanted = {(kept[a], kept[b]) for a, b in brute_pairs(X[:-20][order], near)}
    found = index.near_pairs(threshold)
    pairs = list(zip(found.first.tolist(), found.second.tolist(), strict=True))
    assert len(wanted) > 900
    assert pairs == sorted(wanted)
    assert duplicate_groups(found).labels([ids[0]]) >= 0


def test_cells_miss_few_pairs(monkeypatch):
    monkeypatch.setattr(_options, "EXACT_NUMBERS", 0)  # so that few vectors are put into cells
    X = planted(2000, 16, 500, 0.15)
    index = VectorIndex(n_cells=8, bytes_per_vector=4, verbose=False)
    index.add(X)
    assert index.describe()["n_cells"] == 8
    wanted = brute_pairs(X, lambda V: cosines(V) >= 0.95)
    found = index.near_pairs(0.95)
    pairs = set(zip(found.first.tolist(), found.second.tolist(), strict=True))
    assert len(wanted) >= 490
    assert pairs <= wanted
    assert len(pairs) >= 0.95 * len(wanted)
    assert (found.distances <= 0.05 + module.ROUNDING).all()


def test_identical_vectors_have_the_cosine_1():
    X = np.repeat(np.random.default_rng(0).normal(size=(50, 33)), 2, axis=0)
    index = VectorIndex()
    index.add(X)
    assert index.near_pairs(1.0).first.tolist() == list(range(0, 100, 2))


def test_refusals():
    index = VectorIndex("euclidean")
    assert len(index.near_pairs(1.0).first) == 0
    index.add(np.zeros((100, 4)))
    with pytest.raises(InvalidInputError, match=r"about 5e\+03 pairs lie within the radius, more than max_pairs=10;"):
        index.near_pairs(1.0, max_pairs=10)
    assert len(index.near_pairs(0.0, max_pairs=4950).first) == 4950
    with pytest.raises(InvalidInputError, match="threshold must be a finite number"):
        index.near_pairs(-1.0)
    with pytest.raises(InvalidInputError, match="threshold must be a number from -1 to 1"):
        VectorIndex().near_pairs(1.5)
    with pytest.raises(InvalidInputError, match="needs the metric 'cosine' or 'euclidean', not 'dot'"):
        VectorIndex("dot").near_pairs(0.5)
