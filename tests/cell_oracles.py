"""Slow, obvious NumPy twins of what the native core computes for cells and rows of vectors."""

from __future__ import annotations

import numpy as np


def fused(a, b, total):
    """a · b + total, rounded to float32 once."""
    return (np.asarray(a, np.float64) * np.asarray(b, np.float64) + total).astype(np.float32)


def panel_dots(rows, queries):
    """Products (n_queries, n_rows), summed one dimension at a time, rounded to float32 after each."""
    total = np.zeros((len(queries), len(rows)), np.float32)
    for j in range(rows.shape[1]):
        total = fused(queries[:, j, None], rows[:, j], total)
    return total


def assigned_cells(vectors, centroids):
    """The first of the nearest centroids, and |c|² - 2 c·x of it."""
    squares = np.square(centroids, dtype=np.float64).sum(axis=1).astype(np.float32)
    scores = squares + panel_dots(np.float32(-2) * centroids, vectors)
    return scores.argmin(axis=1), scores.min(axis=1)


def row_distances(queries, rows, factors, product):
    """Distances (n_queries, n): partial sum i takes the elements i, i + 32, …; then halves are added up."""
    values = rows.astype(np.float32) if factors is None else rows.astype(np.float32) * factors[:, None]
    values = np.pad(values, ((0, 0), (0, -values.shape[1] % 32)))
    padded = np.pad(queries, ((0, 0), (0, values.shape[1] - queries.shape[1])))
    partial = np.zeros((len(queries), len(values), 32), np.float32)
    for j in range(0, values.shape[1], 32):
        q, x = padded[:, None, j : j + 32], values[None, :, j : j + 32]
        partial = fused(q, x, partial) if product else fused(q - x, q - x, partial)
    while partial.shape[2] > 1:
        half = partial.shape[2] // 2
        partial = partial[:, :, :half] + partial[:, :, half:]
    return -partial[:, :, 0] if product else partial[:, :, 0]


def probed_cells(points, centroids, effort, exponent, radii=None, usual=1.0, far=1.0, growth=0):
    """The cells that each query scans: (r + 1) · (D_r / D_0)^exponent is at most the effort; always the nearest.

    With u = D_0² / ``radii`` of the nearest cell, the effort is (min(u, far) / usual)^(2 growth) times as large, if
    that is more than once.
    """
    chosen = []
    for point in points.astype(np.float64):
        distances = np.linalg.norm(point - centroids, axis=1)
        order = np.lexsort((np.arange(len(centroids)), distances))
        costs = np.arange(1, len(order) + 1) * (distances[order] / distances[order[0]]) ** exponent
        unlikeness = 0 if radii is None else distances[order[0]] ** 2 / radii[order[0]]
        more = max(min(unlikeness, far) / usual, 1) ** (2 * growth)
        chosen.append(order[: max(1, int((costs <= effort * more).sum()))])
    return chosen
