"""Exact neighbours are exact, ties included; truths agree with a look at all pairs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import oracles
from rankhash import InvalidInputError
from rankhash.evaluation import (
    ClassTruth,
    IdTruth,
    RadiusTruth,
    average_radius,
    exact_neighbors,
    neighbor_radius,
    truth,
)


@pytest.mark.parametrize("metric", truth.METRICS)
@given(seed=st.integers(0, 1000), n=st.integers(1, 40), k=st.integers(1, 5))
@settings(max_examples=25, deadline=None)
def test_neighbours_are_those_of_a_loop_over_all_pairs(metric, seed, n, k):
    rng = np.random.default_rng(seed)
    database = rng.integers(-2, 3, (n, 3)).astype(np.float32)
    database[~database.any(axis=1)] = 1
    queries = rng.integers(1, 3, (4, 3)).astype(np.float32)
    k = min(k, n)
    found = exact_neighbors(queries, database, k, metric=metric)
    ids, distances = oracles.exact_neighbors(queries, database, k, metric)
    np.testing.assert_allclose(found.distances, distances, atol=1e-6)
    if metric != "cosine":
        np.testing.assert_array_equal(found.ids, ids)


@pytest.mark.parametrize("metric", truth.METRICS)
def test_blocks_change_nothing_and_equal_vectors_are_ordered_by_row(rng, metric, monkeypatch):
    database = rng.normal(size=(300, 7)).astype(np.float32)
    database[200:] = database[:100]
    queries = rng.normal(size=(33, 7)).astype(np.float32)
    whole = exact_neighbors(queries, database, 12, metric=metric)
    monkeypatch.setattr(truth, "BLOCK_FLOATS", 1 << 10)
    parts = exact_neighbors(queries, database, 12, metric=metric)
    np.testing.assert_array_equal(whole.ids, parts.ids)
    for row in whole.ids:
        for place in np.flatnonzero(row >= 200):
            assert row[place] - 200 in row[:place]


def test_neighbours_far_from_the_origin_are_exact():
    database = np.float32([[10000.0, 0], [10000.0, 0.01], [10000.0, 0.02]])
    found = exact_neighbors(np.float32([[10000.0, 0.02]]), database, 3)
    assert found.ids.tolist() == [[2, 1, 0]]


def test_radius_is_the_mean_distance_to_the_nth_entry_of_a_row(rng, monkeypatch):
    points = rng.normal(size=(200, 5))
    expected = np.sort(np.linalg.norm(points[:, None] - points, axis=2), axis=1)[:, 9].mean()
    monkeypatch.setattr(truth, "BLOCK_FLOATS", 1 << 10)
    assert neighbor_radius(points, 10) == pytest.approx(expected)


def test_average_radius_gives_as_many_neighbours_on_average(rng):
    points = rng.normal(size=(200, 5))
    near = RadiusTruth(points, points, average_radius(points, 10)).block(slice(0, 200), slice(0, 200))
    assert near.sum(axis=1).mean() - 1 == pytest.approx(10, abs=0.02)


def test_truths_give_blocks_of_the_whole(rng):
    queries, database = rng.normal(size=(6, 3)), rng.normal(size=(20, 3))
    sets = rng.random((6, 4)) < 0.4, rng.random((20, 4)) < 0.4
    ids = np.array([rng.permutation(20)[:3] for _ in range(6)])
    ids[0, 1:] = -1
    wholes = {
        RadiusTruth(queries, database, 1.5): np.linalg.norm(queries[:, None] - database, axis=2) < 1.5,
        ClassTruth(*sets): (sets[0][:, None] & sets[1]).any(axis=2),
        ClassTruth([1, 2, 3, 1, 2, 3], np.arange(20) % 4): np.array([1, 2, 3, 1, 2, 3])[:, None] == np.arange(20) % 4,
        IdTruth(ids): np.array([[item in row for item in range(20)] for row in ids]),
    }
    for one, whole in wholes.items():
        np.testing.assert_array_equal(one.block(slice(1, 5), slice(3, 17)), whole[1:5, 3:17])


def test_remembered_block_is_given_for_the_same_places_only(rng):
    queries, database = rng.normal(size=(20, 3)), rng.normal(size=(30, 3))
    truth, near = RadiusTruth(queries, database, 1.5), np.linalg.norm(queries[:, None] - database, axis=2) < 1.5
    for here, there in [(slice(0, 9), slice(0, 30)), (slice(0, 9), slice(0, 30)), (slice(0, 9), slice(3, 30))]:
        assert (truth.block(here, there) == near[here, there]).all()
    with pytest.raises(ValueError, match="read-only"):
        truth.block(slice(0, 9), slice(3, 30))[0, 0] = True


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: exact_neighbors([[1.0]], [[1.0]], 2), "between 1 and the 1 vectors"),
        (lambda: exact_neighbors([[1.0]], [[1.0]], 1, metric="l2"), "euclidean, cosine, inner_product"),
        (lambda: exact_neighbors([[1.0]], [[0.0]], 1, metric="cosine"), "row 0 of database is zero"),
        (lambda: exact_neighbors([[1.0, 2.0]], [[0.0]], 1), "features"),
        (lambda: neighbor_radius([[1.0], [2.0]], 50), "n_neighbors must be from 1 to 2"),
    ],
)
def test_bad_input_is_refused_with_a_sentence(call, message):
    with pytest.raises(InvalidInputError, match=message):
        call()
