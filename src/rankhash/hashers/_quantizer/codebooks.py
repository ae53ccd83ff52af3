"""Optimised product quantisation: a rotation whose columns are divided into subspaces with centroids of their own.

::

    points (n, k) ──rotation──▶ (n, p) = | subspace 0 | subspace 1 | … |        p = max(k, n_symbols)
    symbol of a subspace = its nearest centroid = argmax c·z - |c|²/2: a rank function with a bias
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ... import _kernels
from ..._types import F32, F64, U8
from .._features.orthogonal import orthonormal_rows

OnRound = Callable[[float], object]
"""Called with the mean squared error after each round."""

FIRST_STEPS, STEPS, LAST_STEPS = 10, 2, 10
"""Steps of k-means in the first round, in every other round, and after the last rotation."""


@dataclass(frozen=True)
class Codebooks:
    """A rotation ``(k, p)`` with orthonormal rows; per subspace its columns and centroids ``(arity, width)``."""

    rotation: F32
    subspaces: list[slice]
    centroids: list[F32]

    def codebook(self) -> F64:
        """All centroids ``(n_symbols * arity, k)`` in the space of the points, subspace by subspace."""
        turn = self.rotation.astype(np.float64)
        return np.concatenate([c @ turn[:, part].T for c, part in zip(self.centroids, self.subspaces, strict=True)])

    def squares(self) -> F64:
        """The squared lengths ``(n_symbols * arity,)`` of the centroids in their subspaces.

        With more subspaces than axes, these are larger than the squared lengths in the space of the points.
        """
        return np.concatenate([np.square(c, dtype=np.float64).sum(axis=1) for c in self.centroids])

    def encode(self, points: F32) -> U8:
        """The symbols ``(n, n_symbols)`` of points: the nearest centroid of each subspace."""
        z = points @ self.rotation
        nearest = [
            _symbols(np.ascontiguousarray(z[:, part]), c)
            for c, part in zip(self.centroids, self.subspaces, strict=True)
        ]
        return np.stack(nearest, axis=1)


def learn_codebooks(
    points: F32, n_symbols: int, arity: int, rng: np.random.RandomState, n_rounds: int, on_round: OnRound
) -> tuple[Codebooks, F64]:
    """The codebooks of principal components ``points``, and the mean squared error after each round.

    A round takes steps of k-means and then the rotation that brings the points closest to their centroids. The error
    never rises, except where an empty centroid restarts at a random point.
    """
    widths = subspace_widths(points.shape[1], n_symbols)
    edges = np.concatenate([[0], np.cumsum(widths)])
    subspaces = [slice(int(a), int(b)) for a, b in pairwise(edges)]
    rotation = first_rotation(points, widths, rng)
    centroids = [_first_centroids(points @ rotation[:, part], arity, rng) for part in subspaces]
    errors = np.empty(n_rounds)
    for number in range(n_rounds):
        steps = STEPS if number else FIRST_STEPS
        nearest = _kmeans(points @ rotation, subspaces, centroids, rng, steps)
        left, strengths, right = np.linalg.svd(points.T @ nearest, full_matrices=False)
        rotation = left @ right
        errors[number] = (_square(points) + _square(nearest) - 2 * strengths.sum(dtype=np.float64)) / len(points)
        on_round(float(errors[number]))
    _kmeans(points @ rotation, subspaces, centroids, rng, LAST_STEPS)
    return Codebooks(rotation, subspaces, centroids), errors


def subspace_widths(k: int, n_symbols: int) -> NDArray[np.int64]:
    """The number of dimensions of each subspace: equal up to rounding, at least 1."""
    return np.diff(np.arange(n_symbols + 1) * max(k, n_symbols) // n_symbols)


def first_rotation(points: F32, widths: NDArray[np.int64], rng: np.random.RandomState) -> F32:
    """A permutation of the axes that balances the products of variances of the subspaces.

    With more subspaces than axes it is a random matrix with orthonormal rows.
    """
    k, p = points.shape[1], int(widths.sum())
    if p > k:
        return orthonormal_rows(rng, p, p)[:k].astype(np.float32)
    variances = np.square(points).mean(axis=0, dtype=np.float64)
    logs = np.log(np.maximum(variances, 1e-12 * variances.max(initial=1e-300)))
    starts = np.cumsum(widths) - widths
    rotation, sums, filled = np.zeros((k, p), np.float32), np.zeros(len(widths)), np.zeros_like(widths)
    for axis in np.argsort(-logs, kind="stable"):
        part = int(np.where(filled < widths, sums, np.inf).argmin())
        rotation[axis, starts[part] + filled[part]] = 1
        sums[part] += logs[axis] - logs.min()
        filled[part] += 1
    return rotation


def _first_centroids(z: F32, arity: int, rng: np.random.RandomState) -> F32:
    """Random points, without repetition if there are enough."""
    return z[rng.choice(len(z), arity, replace=len(z) < arity)]


def _kmeans(z: F32, subspaces: list[slice], centroids: list[F32], rng: np.random.RandomState, steps: int) -> F32:
    """Steps of k-means in every subspace, in place; returns the centroids ``(n, p)`` of the points."""
    nearest = np.empty_like(z)
    seeds = rng.randint(0, 2**31 - 1, len(subspaces))

    def cluster(number: int) -> None:
        own, draws = np.ascontiguousarray(z[:, subspaces[number]]), np.random.RandomState(seeds[number])
        for _ in range(steps):
            symbols = _symbols(own, centroids[number])
            centroids[number] = _means(own, symbols, len(centroids[number]), draws)
        nearest[:, subspaces[number]] = centroids[number][symbols]

    with ThreadPoolExecutor(_kernels.default_threads()) as pool:
        list(pool.map(cluster, range(len(subspaces))))
    return nearest


def _symbols(own: F32, centroids: F32) -> U8:
    bias = -np.square(centroids).sum(axis=1) / 2
    return _kernels.encode(own, centroids, bias, None, 1, len(centroids), n_threads=1)[0][:, 0]


def _means(own: F32, symbols: U8, arity: int, rng: np.random.RandomState) -> F32:
    """The mean of the points of each symbol; a random point where there are none."""
    members = (symbols == np.arange(arity, dtype=np.uint8)[:, None]).astype(np.float32)
    counts = members.sum(axis=1)
    means: F32 = (members @ own) / np.maximum(counts, 1)[:, None]
    empty = np.flatnonzero(counts == 0)
    means[empty] = own[rng.randint(0, len(own), len(empty))]
    return means


def _square(values: F32) -> float:
    """The sum of the squares."""
    return float(np.einsum("ij,ij->", values, values, dtype=np.float64))
