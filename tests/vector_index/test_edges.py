"""Searches find k vectors whenever there are k, and changes keep their promises at the edges."""

from __future__ import annotations

import numpy as np
import pytest

from rankhash import InvalidInputError, VectorIndex

from . import brute


@pytest.mark.parametrize("size", [1e7, 1e10, 1e19, 1e30, 1e38])
@pytest.mark.parametrize("metric", ["euclidean", "dot"])
def test_huge_queries_find_k_vectors(learned, queries, metric, size):
    assert (learned(metric).search(np.sign(queries) * np.float32(size)).ids >= 0).all()


@pytest.mark.parametrize("metric", ["euclidean", "dot"])
@pytest.mark.parametrize("size", [1e18, 1e20, 3e38])
def test_vectors_whose_distances_overflow_are_refused_and_change_nothing(rng, metric, size):
    X = rng.normal(size=(50, 4)).astype(np.float32)
    wrong = X[:9].copy()
    wrong[7] = size
    index = VectorIndex(metric)
    index.add(X)
    calls = (index.add, lambda rows: index.upsert(rows, np.arange(9)), VectorIndex(metric).fit)
    for call in calls:
        with pytest.raises(InvalidInputError, match=r"^row 7 of X has the length .* scale the vectors down, or use"):
            call(wrong)
    assert np.array_equal(index.get(np.arange(50)), X)
    same = VectorIndex("cosine")
    same.add(wrong)
    assert same.search(wrong[7:8], 1).ids.tolist() == [[7]]


def test_the_longest_vectors_have_finite_distances(rng):
    X = rng.normal(size=(50, 4)).astype(np.float32)
    X[:2] = np.array([[1], [-1]]) * np.float32(4.99e17)
    index = VectorIndex("euclidean")
    index.add(X)
    assert np.isfinite(index.search(X, 50).distances).all()


def test_a_refused_upsert_loses_no_vector(rng):
    X = rng.normal(size=(5, 3)).astype(np.float16)
    index = VectorIndex("euclidean", vectors="float16")
    index.add(X)
    with pytest.raises(InvalidInputError, match="float16"):
        index.upsert(np.full((1, 3), 1e6), [2])
    assert np.array_equal(index.get(np.arange(5)), X)


@pytest.mark.parametrize("call", ["remove", "get"])
def test_no_ids_of_an_empty_index_leave_the_dimension_open(call):
    index = VectorIndex()
    getattr(index, call)([])
    assert index.n_features is None
    index.add(np.ones((2, 9)))


def test_ids_are_not_given_twice(rng, tmp_path):
    index = VectorIndex("euclidean")
    index.add(rng.normal(size=(5, 3)))
    index.remove([4])
    index.compact()
    index.save(tmp_path / "index.rankhash")
    for one in (index, VectorIndex.load(tmp_path / "index.rankhash")):
        assert one.add(rng.normal(size=(1, 3))) == [5]


def test_numbers_too_large_for_float16_are_refused(rng):
    index = VectorIndex("euclidean", vectors="float16")
    with pytest.raises(InvalidInputError, match="float16"):
        index.add(rng.normal(size=(5, 3)) * 1e6)
    assert len(index) == 0


@pytest.mark.parametrize("metric", brute.METRICS)
@pytest.mark.parametrize("k", [150, 300, 1000, 5000])
def test_many_neighbours_are_found_too(learned, stored, queries, metric, k):
    found = learned(metric).search(queries, k, recall=0.9)
    assert (found.ids >= 0).all()
    assert brute.recall(found.ids, queries, stored, metric) >= 0.87


def test_filters_far_from_the_query_find_k_vectors(rng):
    near = rng.normal(size=(5000, 6)) * 0.1
    X = np.concatenate([near, near + 5]).astype(np.float32)
    index = VectorIndex("euclidean", n_cells=16, bytes_per_vector=4, verbose=False)
    index.fit(X[::4]).add(X)
    found = index.search(near[:20], filter=np.arange(5000, 10_000))
    assert (found.ids >= 5000).all()


def test_a_crowd_that_came_later_is_found(stored):
    index = VectorIndex("euclidean", bytes_per_vector=4, verbose=False)
    index.fit(stored[:3000]).add(stored)
    crowd = (stored[:1] + np.random.default_rng(4).normal(size=(3000, 12)) * 0.3).astype(np.float32)
    index.add(crowd)
    X, Q = np.concatenate([stored, crowd]), crowd[:50] + np.float32(0.01)
    # 0.95 is the average over all vectors, and the crowd is harder than the others
    assert brute.recall(index.search(Q).ids, Q, X, "euclidean") >= 0.9


def test_constant_vectors_are_found_by_inner_product():
    X = np.full((5000, 6), 0.5, np.float32)
    index = VectorIndex("dot", n_cells=16, bytes_per_vector=4, verbose=False)
    index.fit(X[:1000]).add(X)
    np.testing.assert_allclose(index.search(X[:3]).distances, -1.5, atol=1e-6)


@pytest.mark.parametrize("shape", ["different sizes", "mostly zeros"])
def test_k_vectors_are_found_in_sparse_and_stretched_data(rng, shape):
    X = rng.normal(size=(5000, 8)) * 10.0 ** np.arange(-4, 4)
    if shape == "mostly zeros":
        X = rng.normal(size=(5000, 16)) * (rng.random((5000, 16)) < 0.1)
    index = VectorIndex("euclidean", n_cells=32, bytes_per_vector=4, verbose=False)
    index.fit(X[::2]).add(X)
    assert (index.search(X[:100]).ids >= 0).all()
