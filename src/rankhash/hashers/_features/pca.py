"""Principal axes of vectors that are read in batches."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..._types import F32, F64
from ...vectors import VectorBatches
from .._blocks import check_square, parts
from ..training import sample_rows


@dataclass(frozen=True)
class Principal:
    """The mean ``(d,)`` of vectors and their first ``k`` principal axes ``(k, d)``, with the variances ``(k,)``."""

    mean: F32
    axes: F64
    variances: F64

    def project(self, batch: F32) -> F64:
        """The principal components ``(n, k)`` of vectors."""
        along: F64 = (batch.astype(np.float64) - self.mean) @ self.axes.T
        return along


def principal_axes(data: VectorBatches, most: int) -> Principal:
    """The first ``most`` principal axes, or all if there are fewer dimensions, by decreasing variance.

    The sign of an axis makes its largest entry positive. It takes two passes over the vectors, and memory for an array
    of d × d, or of n × d if n < d and ``most`` <= n.

    >>> from ...vectors import batches
    >>> found = principal_axes(batches([[0, 0], [2, 2], [4, 4]]), 1)
    >>> found.mean.tolist(), found.axes.round(3).tolist(), found.variances.round(3).tolist()
    ([2.0, 2.0], [[0.707, 0.707]], [5.333])
    """
    mean = data.mean()
    if data.n_rows < data.n_features:
        more = most > data.n_rows
        if more:
            check_square(data.n_features)
        _, spread, axes = np.linalg.svd(data.whole().astype(np.float64) - mean, full_matrices=more)
        variances = np.zeros(data.n_features)
        variances[: len(spread)] = spread**2 / data.n_rows
    else:
        check_square(data.n_features)
        scatter = np.zeros((data.n_features, data.n_features))
        for _, part in parts(data):
            rows = part.astype(np.float64) - mean
            scatter += rows.T @ rows
        variances, columns = np.linalg.eigh(scatter / data.n_rows)
        variances, axes = variances[::-1], columns.T[::-1]
    axes, variances = axes[:most], np.maximum(variances[:most], 0)
    largest = np.take_along_axis(axes, np.abs(axes).argmax(axis=1)[:, None], axis=1)
    return Principal(mean, axes * np.where(largest < 0, -1.0, 1.0), variances)


def sample_components(data: VectorBatches, principal: Principal, most: int, rng: np.random.RandomState) -> F32:
    """Principal components ``(n, k)`` of all vectors, or of ``most`` random ones if there are more, in row order.

    They are divided by ``component_scale(principal)``, so that float32 holds them.
    """
    rows = sample_rows(rng, data.n_rows, most)
    scale = component_scale(principal) or 1.0
    coordinates = np.empty((len(rows), len(principal.axes)), np.float32)
    done = 0
    for start, part in parts(data):
        chosen = rows[done : np.searchsorted(rows, start + len(part))] - start
        coordinates[done : done + len(chosen)] = principal.project(part[chosen]) / scale
        done += len(chosen)
    return coordinates


def component_scale(principal: Principal) -> float:
    """The root of the mean variance along the axes."""
    return float(np.sqrt(principal.variances.mean()))
