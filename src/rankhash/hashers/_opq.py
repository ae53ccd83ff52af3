"""Optimised product quantisation: a rotation, cut into subspaces, each of which has its own few centroids.

::

    points (n, k) ──rotation──▶ (n, p) = | part 0 | part 1 | … |        p = max(k, number of subspaces)
    symbol of a part = its nearest centroid = argmax c·z - |c|²/2: a rank function with a bias
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from .. import _kernels
from ._base import F32, F64
from .lsh import _block

U8 = NDArray[np.uint8]
Tell = Callable[[float], object]

FIRST_STEPS, STEPS, LAST_STEPS = 10, 2, 10
"""How often centroids move before the first rotation, in every round, and at the end."""


@dataclass(frozen=True)
class Quantizer:
    """A rotation ``(k, p)`` with orthonormal rows, its columns in parts, centroids ``(arity, width)`` of each part."""

    rotation: F32
    parts: list[slice]
    centroids: list[F32]

    def codebook(self) -> F64:
        """All centroids ``(n_symbols * arity, k)`` in the space of the points, those of a part together."""
        turn = self.rotation.astype(np.float64)
        return np.concatenate([c @ turn[:, part].T for c, part in zip(self.centroids, self.parts, strict=True)])

    def squares(self) -> F64:
        """The squared lengths ``(n_symbols * arity,)`` of the centroids in their parts.

        With more parts than axes, parts overlap in the space of the points, and these are longer than there.
        """
        return np.concatenate([np.square(c, dtype=np.float64).sum(axis=1) for c in self.centroids])

    def encode(self, points: F32) -> U8:
        """The symbols ``(n, n_symbols)`` of points: their nearest centroids."""
        z = points @ self.rotation
        nearest = [
            _symbols(np.ascontiguousarray(z[:, part]), c) for c, part in zip(self.centroids, self.parts, strict=True)
        ]
        return np.stack(nearest, axis=1)


def learn_quantizer(
    points: F32, n_symbols: int, arity: int, rng: np.random.RandomState, n_rounds: int, tell: Tell
) -> tuple[Quantizer, F64]:
    """A quantiser of points that vary most along their first axis, and its mean squared error after each round.

    A round moves the centroids and then finds the rotation that brings the points closest to them; the error
    never rises, but where a centroid that has lost all its points starts anew at a random one.
    """
    widths = part_widths(points.shape[1], n_symbols)
    edges = np.concatenate([[0], np.cumsum(widths)])
    parts = [slice(int(a), int(b)) for a, b in pairwise(edges)]
    rotation = first_rotation(points, widths, rng)
    centroids = [_first_centroids(points @ rotation[:, part], arity, rng) for part in parts]
    errors = np.empty(n_rounds)
    for number in range(n_rounds):
        steps = STEPS if number else FIRST_STEPS
        nearest = _move(points @ rotation, parts, centroids, rng, steps)
        left, strengths, right = np.linalg.svd(points.T @ nearest, full_matrices=False)
        rotation = left @ right
        errors[number] = (_square(points) + _square(nearest) - 2 * strengths.sum(dtype=np.float64)) / len(points)
        tell(float(errors[number]))
    _move(points @ rotation, parts, centroids, rng, LAST_STEPS)
    return Quantizer(rotation, parts, centroids), errors


def part_widths(k: int, n_symbols: int) -> NDArray[np.int64]:
    """How many dimensions each part gets: all about the same, at least one."""
    return np.diff(np.arange(n_symbols + 1) * max(k, n_symbols) // n_symbols)


def first_rotation(points: F32, widths: NDArray[np.int64], rng: np.random.RandomState) -> F32:
    """A rotation that only shares out the axes, so that the products of variances in the parts are balanced.

    With more parts than axes it is a random one with orthonormal rows.
    """
    k, p = points.shape[1], int(widths.sum())
    if p > k:
        return _block(rng, p, p)[:k].astype(np.float32)
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
    """Random points, different rows if there are enough."""
    return z[rng.choice(len(z), arity, replace=len(z) < arity)]


def _move(z: F32, parts: list[slice], centroids: list[F32], rng: np.random.RandomState, steps: int) -> F32:
    """Move the centroids of every part to the mean of their points; the centroid ``(n, p)`` of each point then."""
    nearest = np.empty_like(z)
    seeds = rng.randint(0, 2**31 - 1, len(parts))

    def move(number: int) -> None:
        own, draws = np.ascontiguousarray(z[:, parts[number]]), np.random.RandomState(seeds[number])
        for _ in range(steps):
            symbols = _symbols(own, centroids[number])
            centroids[number] = _means(own, symbols, len(centroids[number]), draws)
        nearest[:, parts[number]] = centroids[number][symbols]

    with ThreadPoolExecutor(_kernels.default_threads()) as pool:
        list(pool.map(move, range(len(parts))))
    return nearest


def _symbols(own: F32, centroids: F32) -> U8:
    bias = -np.square(centroids).sum(axis=1) / 2
    return _kernels.encode(own, centroids, bias, None, 1, len(centroids), n_threads=1)[0][:, 0]


def _means(own: F32, symbols: U8, arity: int, rng: np.random.RandomState) -> F32:
    members = (symbols == np.arange(arity, dtype=np.uint8)[:, None]).astype(np.float32)
    counts = members.sum(axis=1)
    means: F32 = (members @ own) / np.maximum(counts, 1)[:, None]
    empty = np.flatnonzero(counts == 0)
    means[empty] = own[rng.randint(0, len(own), len(empty))]
    return means


def _square(values: F32) -> float:
    return float(np.einsum("ij,ij->", values, values, dtype=np.float64))
