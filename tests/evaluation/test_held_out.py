"""Recall of an index of vectors on held-out queries."""

from __future__ import annotations

import numpy as np
import pytest

from rankhash import LSH, InvalidInputError, VectorIndex
from rankhash.evaluation import evaluate, evaluate_index
from vector_index.brute import METRICS, clustered, nearest, recall


@pytest.mark.parametrize("metric", METRICS)
def test_recall_is_that_of_brute_force(metric):
    X, Q = clustered(1, 5000), clustered(2, 100)
    index = VectorIndex(metric, n_cells=32, bytes_per_vector=4, verbose=False).fit(X)
    index.add(X)
    found = evaluate_index(index, X, Q, k=7, recall=0.5)
    ids = index.search(Q, 7, recall=0.5).ids
    true = nearest(Q, X, 7, metric)[0]
    assert found["recall@7"] == pytest.approx(np.mean([np.isin(a, b).mean() for a, b in zip(true, ids, strict=True)]))
    assert found["recall@7, by distance"] >= recall(ids, Q, X, metric)
    assert found["recall@7"] < 0.95
    assert evaluate_index(index, X, Q, k=7, recall=1.0)["recall@7"] == pytest.approx(1, abs=0.01)


def test_its_numbers_are_comparable_with_those_of_a_hasher():
    X, Q = clustered(1, 400), clustered(2, 30)
    index = VectorIndex("euclidean")
    index.add(X)
    codes = evaluate(LSH(32, random_state=0).fit(X), X, Q, k=5)
    assert all(value > codes[name] for name, value in evaluate_index(index, X, Q, k=5).items())


@pytest.mark.parametrize("ids", [np.arange(1, 51), np.arange(49)])
def test_an_index_of_other_vectors_is_refused(rng, ids):
    X = rng.normal(size=(50, 3))
    index = VectorIndex("euclidean")
    index.add(X[: len(ids)], ids)
    with pytest.raises(InvalidInputError, match="under their row numbers, 0 to 49"):
        evaluate_index(index, X, X[:2])
