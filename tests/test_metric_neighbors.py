"""Pairs from distances: the nearest pairs of all, and points that are close in units of their surroundings."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from rankhash.similarity import MetricNeighbors, metric


@pytest.mark.parametrize("kind", ["ties", "an outlier", "samples"])
def test_the_nearest_pairs_are_those_of_the_exact_distances_with_all_ties(kind):
    rng = np.random.default_rng(0)
    n, limit = 400, 4096
    points = rng.integers(0, 4, (n, 9)).astype(np.float32) if kind == "ties" else rng.normal(size=(n, 9))
    points = (points - points.mean(axis=0)).astype(np.float32)
    if kind == "an outlier":
        points[7] *= 1e4
    if kind == "samples":
        limit = 100
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(metric, "MAX_EXACT_POINTS", limit)
        patch.setattr(metric, "SEED_POINTS", 60)
        patch.setattr(metric, "BLOCK_FLOATS", 5 * n)  # many blocks
        source = MetricNeighbors(points, 20, np.random.default_rng(1))
    seeds = np.arange(n) if limit > n else np.unique(source._similar[:, 0])
    first, second = np.meshgrid(seeds, np.arange(n), indexing="ij")
    every = np.stack([first, second], axis=2).reshape(-1, 2).astype(np.int32)
    every = every[every[:, 0] < every[:, 1]] if limit > n else every[every[:, 0] != every[:, 1]]
    squares = metric.squared_distances(points, every)
    wanted = 20 * n // 2 if limit > n else 20 * 60
    expected = every[squares <= np.sort(squares)[wanted - 1]]
    assert source._similar.tolist() == expected.tolist()
    assert len(expected) == wanted or kind == "ties"


def test_close_points_are_had_by_dense_and_by_sparse_points():
    rng = np.random.default_rng(0)
    spread = np.repeat([0.1, 1.0, 5.0], 600)
    points = (rng.normal(size=(1800, 6)) * spread[:, None]).astype(np.float32)
    source = MetricNeighbors(points, 20, rng)
    similar, close = (((labels == 1).sum(axis=1)) for labels in source.both_among(np.arange(1800)))
    assert similar.mean() == pytest.approx(20, rel=0.05)
    assert close.mean() == pytest.approx(20, rel=0.1)
    assert np.median(similar[1200:]) == 0
    assert np.median(close[1200:]) >= 3


def test_locally_close_points_follow_from_distances_in_local_scales():
    """The slow twin: every point's unit is its distance to its last neighbour, and all points are looked at."""
    rng = np.random.default_rng(0)
    points = (rng.normal(size=(600, 4)) * rng.exponential(size=(600, 1))).astype(np.float32)
    source = MetricNeighbors(points, 12, rng)
    squares = cdist(points, points) ** 2
    units = np.sqrt(np.sort(squares, axis=1)[:, 12])  # the first is the point itself
    units = np.maximum(units / units.mean(), 0.05)
    scaled = squares / units / units[:, None]
    upper = np.triu_indices(600, 1)
    limit = np.quantile(scaled[upper], source.similar_rate)
    similar, close = source.both_among(np.arange(600))
    assert ((close[upper] == 1) == (scaled[upper] <= limit)).mean() > 0.9999
    assert (close == close.T).all()
    assert (similar == source.labels_among(np.arange(600))).all()


def test_local_scales_of_copies_cause_no_division_by_zero():
    rng = np.random.default_rng(0)
    points = np.concatenate([np.ones((700, 3)), rng.normal(size=(1300, 3))]).astype(np.float32)
    source = MetricNeighbors(points, 15, rng)
    for labels in source.both_among(np.arange(20)):
        assert (labels[~np.eye(20, dtype=bool)] == 1).all()
