"""Binary reconstructive embeddings: Hamming distances that reproduce given distances, by coordinate descent."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..similarity import GivenPairs, squared_distances
from ._base import F32, F64, Arrays, Hasher, Training
from ._kernel import some_rows
from ._parameters import check_integer, check_number
from ._similar import Labelled, labelled_points

I64 = NDArray[np.int64]
Bits = NDArray[np.bool_]

PATIENCE = 10
"""Sweeps whose gain decides whether to go on."""

LEAST = 1e-9
"""A vector whose product with another is smaller never changes its bit with that one's weight."""

BEYOND = 1e-6
"""How far beyond the outermost breaks a weight is set."""


class BRE(Hasher):
    """Codes of bits whose Hamming distances, divided by their number, come close to given distances.

    The distances are half the squared ones of the vectors at unit length, divided by the largest; with classes or
    given pairs they are 0 for similar and 1 for dissimilar pairs [1]_. A bit is the side of a hyperplane whose
    normal is a weighted sum of a few training vectors. One weight is changed at a time, to the best of all values:
    between two breaks, at which a vector's bit flips, all values are the same.

    Parameters
    ----------
    n_symbols
        Bits of a code, 1 to 4096.
    n_chosen
        Training vectors that make up a normal.
    pair_share
        The part of all training vectors that each of them is compared with.
    n_sweeps, tol
        How often one weight of every bit is improved, and the relative gain of ten sweeps below which it ends.
    max_points
        From more vectors than this a sample is learned from.
    random_state
        An integer for the same hasher in every run, a RandomState, or None.

    Attributes
    ----------
    projections_ : ndarray (n_symbols, n_features_in_)
        The unit normals of the hyperplanes.
    center_ : ndarray (n_features_in_,)
        The mean of the fitted vectors, through which the hyperplanes go.
    losses_ : ndarray
        The mean over pairs of half the square of what the distances differ by, before and after each sweep. It is
        not saved.
    layout_ : CodeLayout
        The layout of the codes: ``n_symbols`` of arity 2.
    n_features_in_, feature_names_in_
        Columns of the vectors that were fitted, and their names if they had any.

    References
    ----------
    .. [1] B. Kulis, T. Darrell, Learning to hash with binary reconstructive embeddings, NIPS 2009.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(200, 8))
    >>> hasher = BRE(16, n_sweeps=20, random_state=0).fit(X)
    >>> hasher.transform(X).shape, hasher.encode(X).shape
    ((200, 16), (200, 2))
    >>> bool(hasher.losses_[-1] < hasher.losses_[0])
    True
    """

    center_: F32
    losses_: F64

    _code_arrays = ("projections_", "center_")

    def __init__(
        self,
        n_symbols: int = 32,
        *,
        n_chosen: int = 50,
        pair_share: float = 0.05,
        n_sweeps: int = 300,
        tol: float = 1e-3,
        max_points: int = 1000,
        random_state: Any = None,
    ) -> None:
        self.n_symbols = n_symbols
        self.n_chosen = n_chosen
        self.pair_share = pair_share
        self.n_sweeps = n_sweeps
        self.tol = tol
        self.max_points = max_points
        self.random_state = random_state

    def _check_parameters(self) -> None:
        check_integer("n_chosen", self.n_chosen, 1, 10_000)
        check_number("pair_share", self.pair_share, 0, 1)
        check_integer("n_sweeps", self.n_sweeps, 0, 1_000_000)
        check_number("tol", self.tol, 0, 1)
        check_integer("max_points", self.max_points, 3, 20_000)

    def _learn(self, training: Training, rng: np.random.RandomState) -> Arrays:
        labelled = labelled_points("BRE", training, self.max_points, 1, rng)
        lengths = np.linalg.norm(labelled.x, axis=1, keepdims=True)
        x = (labelled.x / np.maximum(lengths, np.finfo(np.float32).tiny)).astype(np.float64)
        known = training.y is not None or training.similarity is not None
        pairs, targets = self._pairs(x, labelled, known, rng)
        problem = Descent(x, pairs, targets, self.n_symbols, self.n_chosen, rng)
        losses = [problem.loss()]
        for sweep in range(self.n_sweeps):
            problem.sweep(rng)
            losses.append(problem.loss())
            if sweep >= PATIENCE and losses[-1 - PATIENCE] - losses[-1] <= self.tol * losses[-1]:
                break
        self.losses_ = np.array(losses)
        return {"projections_": problem.normals().astype(np.float32), "center_": labelled.center}

    def _pairs(self, x: F64, labelled: Labelled, known: bool, rng: np.random.RandomState) -> tuple[I64, F64]:
        """Pairs ``(t, 2)`` to compare, and their distances, 0 to 1."""
        n = len(x)
        n_others = max(1, round(self.pair_share * n))
        if isinstance(labelled.source, GivenPairs):
            given = labelled.source.pairs.astype(np.int64)
            pairs = given[some_rows(rng, len(given), n * n_others)]
        else:
            first = np.repeat(np.arange(n), n_others)
            pairs = np.stack([first, (first + rng.randint(1, n, size=len(first))) % n], axis=1)
        if known:
            return pairs, (labelled.source.labels_of(pairs.astype(np.int32)) == 0).astype(np.float64)
        squares = squared_distances(x.astype(np.float32), pairs.astype(np.int32))
        return pairs, squares / squares.max()


class Descent:
    """The weights of all bits, and the codes of the training vectors that they make."""

    def __init__(
        self, x: F64, pairs: I64, targets: F64, n_bits: int, n_chosen: int, rng: np.random.RandomState
    ) -> None:
        n = len(x)
        self._x, self._targets = x, targets
        self._first, self._second = np.ascontiguousarray(pairs.T)
        self._kernel = x @ x.T
        self.chosen = np.stack([rng.choice(n, min(n_chosen, n), replace=False) for _ in range(n_bits)])
        self.weights = 0.001 * rng.standard_normal(self.chosen.shape)
        self._responses = np.stack([self._kernel[:, c] @ w for c, w in zip(self.chosen, self.weights, strict=True)])
        self.bits = self._responses > 0
        self._differing = self._differ(self.bits).sum(axis=0)

    def _differ(self, bits: Bits) -> Bits:
        """Which pairs differ, in the last place of ``bits`` ``(..., n)``."""
        differ: Bits = bits[..., self._first] != bits[..., self._second]
        return differ

    def loss(self) -> float:
        """The mean over pairs of half the squared difference of the distances."""
        return float(np.square(self._differing / len(self.bits) - self._targets).mean() / 2)

    def sweep(self, rng: np.random.RandomState) -> None:
        """Improve one random weight of every bit."""
        for bit, place in enumerate(rng.randint(0, self.chosen.shape[1], size=len(self.bits))):
            self.improve(bit, place)

    def improve(self, bit: int, place: int) -> None:
        """Give a weight the value that makes the loss least."""
        slopes = self._kernel[:, self.chosen[bit, place]]
        rest = self._responses[bit] - self.weights[bit, place] * slopes
        moving = np.flatnonzero(np.abs(slopes) > LEAST)
        if not len(moving):
            return
        breaks = -rest[moving] / slopes[moving]
        order = np.argsort(breaks, kind="stable")
        breaks, moving = breaks[order], moving[order]
        others = self._differing - self._differ(self.bits[bit])
        losses = self._losses(rest, slopes, moving, others)
        losses[1:-1][breaks[1:] <= breaks[:-1]] = np.inf
        best = int(losses.argmin())
        edges = np.concatenate([[breaks[0] - 2 * BEYOND], breaks, [breaks[-1] + 2 * BEYOND]])
        weight = (edges[best] + edges[best + 1]) / 2
        responses = rest + weight * slopes
        differing = others + self._differ(responses > 0)
        if self._total(differing) < self._total(self._differing):
            self.weights[bit, place] = weight
            self._responses[bit], self.bits[bit], self._differing = responses, responses > 0, differing

    def _losses(self, rest: F64, slopes: F64, moving: I64, others: I64) -> F64:
        """The loss for every number of breaks that lie below the weight, 0 to len(moving).

        A pair's bits differ the other way round from the first of its two breaks to the second.
        """
        rank = np.full(len(rest), len(moving))
        rank[moving] = np.arange(len(moving))
        lowest = np.where(np.abs(slopes) > LEAST, slopes < 0, rest > 0)
        start = self._differ(lowest)
        first, second = (
            np.square(count / len(self.bits) - self._targets) for count in (others + start, others + ~start)
        )
        one, other = rank[self._first], rank[self._second]
        size = len(moving) + 2
        change = second - first
        steps = np.bincount(np.minimum(one, other) + 1, change, size)
        steps -= np.bincount(np.maximum(one, other) + 1, change, size)
        losses: F64 = np.cumsum(steps[:-1])
        return losses

    def _total(self, differing: I64) -> float:
        return float(np.square(differing / len(self.bits) - self._targets).sum())

    def normals(self) -> F64:
        """The unit normals ``(n_bits, d)``."""
        normals = np.stack([w @ self._x[c] for c, w in zip(self.chosen, self.weights, strict=True)])
        lengths = np.linalg.norm(normals, axis=1, keepdims=True)
        unit: F64 = normals / np.maximum(lengths, np.finfo(float).tiny)
        return unit
