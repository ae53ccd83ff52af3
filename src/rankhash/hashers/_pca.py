"""Principal axes of vectors that are read a few megabytes at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ..vectors import VectorBatches
from ._base import F32, F64

PART_FLOATS = 1 << 17
"""Numbers that are converted to float64 at once."""


@dataclass(frozen=True)
class Principal:
    """The mean ``(d,)`` of some vectors and the ``k`` orthonormal directions ``(k, d)`` in which they vary most."""

    mean: F32
    axes: F64
    variances: F64

    def project(self, batch: F32) -> F64:
        """The coordinates ``(n, k)`` of vectors along the axes, seen from the mean."""
        along: F64 = (batch.astype(np.float64) - self.mean) @ self.axes.T
        return along


def principal_axes(data: VectorBatches, most: int) -> Principal:
    """The ``most`` principal axes, or as many as there are dimensions, the one of the largest variance first.

    An axis has the sign that makes its largest entry positive. The vectors are gone through twice; an array of
    d × d is needed, or of n × d if that is smaller.

    >>> from ..vectors import batches
    >>> found = principal_axes(batches([[0, 0], [2, 2], [4, 4]]), 1)
    >>> found.mean.tolist(), found.axes.round(3).tolist(), found.variances.round(3).tolist()
    ([2.0, 2.0], [[0.707, 0.707]], [5.333])
    """
    mean = data.mean()
    if data.n_rows < data.n_features:
        centred = data.whole().astype(np.float64) - mean
        _, spread, axes = np.linalg.svd(centred, full_matrices=True)
        variances = np.zeros(data.n_features)
        variances[: len(spread)] = spread**2 / data.n_rows
    else:
        scatter = np.zeros((data.n_features, data.n_features))
        for _, part in parts(data):
            rows = part.astype(np.float64) - mean
            scatter += rows.T @ rows
        variances, columns = np.linalg.eigh(scatter / data.n_rows)
        variances, axes = variances[::-1], columns.T[::-1]
    axes, variances = axes[:most], np.maximum(variances[:most], 0)
    largest = np.take_along_axis(axes, np.abs(axes).argmax(axis=1)[:, None], axis=1)
    return Principal(mean, axes * np.where(largest < 0, -1.0, 1.0), variances)


def project_some(data: VectorBatches, principal: Principal, most: int, rng: np.random.RandomState) -> F32:
    """The coordinates ``(n, k)`` of all vectors, or of ``most`` random ones in their order if there are more.

    They are divided by the root of their mean variance, so that none is beyond float32.
    """
    n = data.n_rows
    rows = np.arange(n) if n <= most else np.sort(rng.choice(n, most, replace=False))
    scale = float(np.sqrt(principal.variances.mean())) or 1.0
    coordinates = np.empty((len(rows), len(principal.axes)), np.float32)
    done = 0
    for start, part in parts(data):
        chosen = rows[done : np.searchsorted(rows, start + len(part))] - start
        coordinates[done : done + len(chosen)] = principal.project(part[chosen]) / scale
        done += len(chosen)
    return coordinates


def parts(data: VectorBatches) -> Iterator[tuple[int, F32]]:
    """The checked vectors in smaller parts than batches, each with the number of its first row.

    Float64 copies of them hardly need memory.
    """
    start = 0
    for batch in data:
        step = max(1, PART_FLOATS // data.n_features)
        for first in range(0, len(batch), step):
            yield start + first, batch[first : first + step]
        start += len(batch)
