"""Precision and recall of pairs ranked by distance: pure functions of arrays.

The precision-recall curve has one point per radius: all pairs within a radius are retrieved together, so that ties need
no order.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ._types import F64


def precision_recall(distances: NDArray[np.generic], relevant: NDArray[np.bool_]) -> tuple[F64, F64]:
    """Precision and recall within each radius that occurs, by ascending radius.

    >>> precision_recall(np.array([0, 1, 1, 2]), np.array([True, True, False, False]))
    (array([1.        , 0.66666667, 0.5       ]), array([0.5, 1. , 1. ]))
    """
    place, chosen = distances.ravel(), relevant.ravel().astype(bool)
    if place.dtype.kind not in "iu":
        place = np.unique(place, return_inverse=True)[1].ravel()
    found = np.bincount(place)
    return curve(found, np.bincount(place[chosen], minlength=len(found)))


def curve(found: NDArray[np.integer], hits: NDArray[np.integer]) -> tuple[F64, F64]:
    """Precision and recall within each radius, from the number of pairs and of similar pairs at each distance.

    Distances without a pair give no point.

    >>> curve(np.array([1, 2, 0, 1]), np.array([1, 1, 0, 0]))
    (array([1.        , 0.66666667, 0.5       ]), array([0.5, 1. , 1. ]))
    """
    hits = np.cumsum(hits)[found > 0]
    return hits / np.cumsum(found[found > 0]), hits / max(hits[-1], 1)


def average_precision(distances: NDArray[np.generic], relevant: NDArray[np.bool_]) -> float:
    """The area under the precision-recall curve of all pairs pooled, by the trapezoidal rule.

    From recall 0 to the first point the precision is that of the first point. Without a relevant pair the area is 0.

    >>> round(average_precision(np.array([0, 1, 1, 2]), np.array([True, True, False, False])), 4)
    0.9167
    """
    if not np.any(relevant):
        return 0.0
    return area(*precision_recall(distances, relevant))


def area(precision: F64, recall: F64) -> float:
    """The area under a precision-recall curve by the trapezoidal rule."""
    steps = (precision[1:] + precision[:-1]) / 2 * np.diff(recall)
    return float(precision[0] * recall[0] + steps.sum())


def some_pairs(rng: np.random.Generator, n_points: int, most: int = 500_000) -> NDArray[np.int32]:
    """All pairs ``(t, 2)`` of different points, or ``most`` (500 000) random ones if there are more."""
    if n_points * (n_points - 1) // 2 <= most:
        return np.stack(np.triu_indices(n_points, 1), axis=1).astype(np.int32)
    first, second = rng.integers(0, n_points, most), rng.integers(0, n_points - 1, most)
    return np.stack([first, second + (second >= first)], axis=1).astype(np.int32)


def pair_distances(
    symbols: NDArray[np.uint8], pairs: NDArray[np.integer], weights: NDArray[np.floating] | None = None
) -> NDArray[np.generic]:
    """The number of differing symbols of each pair ``(t, 2)`` of rows, or the sum of their weights if given."""
    parts: list[NDArray[np.generic]] = [np.empty(0, np.int64 if weights is None else np.float64)]
    step = max(1, (1 << 24) // symbols.shape[1])
    for start in range(0, len(pairs), step):
        part = pairs[start : start + step]
        differ = symbols[part[:, 0]] != symbols[part[:, 1]]
        parts.append(differ.sum(axis=1) if weights is None else differ @ weights.astype(np.float64))
    return np.concatenate(parts)


def symbol_distances(queries: NDArray[np.uint8], database: NDArray[np.uint8]) -> NDArray[np.int64]:
    """The number ``(m, n)`` of differing symbols of each query ``(m, n_symbols)`` and each row ``(n, n_symbols)``."""
    equal = np.zeros((len(queries), len(database)), np.float32)
    for value in range(int(database.max(initial=0)) + 1):
        equal += (queries == value).astype(np.float32) @ (database == value).astype(np.float32).T
    distances: NDArray[np.int64] = queries.shape[1] - np.rint(equal).astype(np.int64)
    return distances
