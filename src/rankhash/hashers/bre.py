"""Binary reconstructive embeddings: Hamming distances that reproduce given distances, by coordinate descent."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._checks import check_integer, check_number
from .._types import F32, F64, I64, Flags
from ..similarity import GivenPairs, squared_distances
from .base import Arrays, Hasher
from .training import Training, TrainingPoints, labelled_points, new_generator, sample_rows

PATIENCE = 10
"""Learning stops when this number of sweeps lowers the loss by less than the fraction ``tol``."""

MIN_PRODUCT = 1e-9
"""A vector's bit does not depend on the weight of a training vector if their product is smaller."""

OUTER_STEP = 1e-6
"""Distance of a weight beyond the outermost breakpoint."""


class BRE(Hasher):
    """Binary codes whose normalised Hamming distances approximate given distances.

    The given distances are squared distances of the vectors at unit length, divided by the largest; with classes or
    given pairs they are 0 for similar and 1 for dissimilar pairs [1]_. A bit is the side of a hyperplane whose normal
    is a weighted sum of a few training vectors. Coordinate descent sets one weight at a time to its best value. The
    loss is constant between two breakpoints, at which a vector's bit flips, so that all values can be compared.

    Parameters
    ----------
    n_symbols, n_bits, n_bytes
        The size of a code, 1 to 4096 bits, in symbols, bits or bytes; 64 bits if all are None (the default).
    n_chosen
        Training vectors per normal, 50 by default.
    pair_share
        Fraction of the training vectors that each of them is compared with, 0.05 by default.
    n_sweeps
        Largest number of sweeps, 300 by default; a sweep improves one weight of every bit.
    tol
        Learning stops when ten sweeps lower the loss by less than this fraction, 0.001 by default.
    max_points
        Largest number of vectors to learn from, 1000 by default; of more, a random sample.
    random_state
        An integer for the same codes in every run, a RandomState, or None (the default).

    Attributes
    ----------
    projections_ : ndarray (n_symbols, n_features_in_)
        The unit normals of the hyperplanes.
    center_ : ndarray (n_features_in_,)
        The mean of the fitted vectors, which lies on all hyperplanes.
    history_ : dict of lists
        ``step`` and ``loss``: half the mean squared difference of the distances, before and after each sweep. It is
        not saved.
    layout_, n_features_in_, feature_names_in_
        As for every hasher; codes have arity 2.

    References
    ----------
    .. [1] B. Kulis, T. Darrell, Learning to hash with binary reconstructive embeddings, NIPS 2009.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(200, 8))
    >>> hasher = BRE(16, n_sweeps=20, random_state=0).fit(X)
    >>> hasher.transform(X).shape, hasher.encode(X).shape
    ((200, 16), (200, 2))
    >>> bool(hasher.history_["loss"][-1] < hasher.history_["loss"][0])
    True
    """

    center_: F32

    _code_arrays = ("projections_", "center_")
    _rotates = True

    def __init__(
        self,
        n_symbols: int | None = None,
        *,
        n_bits: int | None = None,
        n_bytes: int | None = None,
        n_chosen: int = 50,
        pair_share: float = 0.05,
        n_sweeps: int = 300,
        tol: float = 1e-3,
        max_points: int = 1000,
        random_state: Any = None,
    ) -> None:
        super().__init__(n_symbols, n_bits=n_bits, n_bytes=n_bytes, random_state=random_state)
        self.n_chosen = n_chosen
        self.pair_share = pair_share
        self.n_sweeps = n_sweeps
        self.tol = tol
        self.max_points = max_points

    def _check_parameters(self) -> None:
        check_integer("n_chosen", self.n_chosen, 1, 10_000)
        check_number("pair_share", self.pair_share, 0, 1)
        check_integer("n_sweeps", self.n_sweeps, 0, 1_000_000)
        check_number("tol", self.tol, 0, 1)
        check_integer("max_points", self.max_points, 3, 20_000)

    def _learn(self, training: Training, rng: np.random.RandomState) -> Arrays:
        labelled = labelled_points(training, "BRE", new_generator(rng), self.max_points, 1, sample_given=True)
        lengths = np.linalg.norm(labelled.x, axis=1, keepdims=True)
        x = (labelled.x / np.maximum(lengths, np.finfo(np.float32).tiny)).astype(np.float64)
        pairs, targets = self._pairs(x, labelled, training.is_labelled, rng)
        problem = CoordinateDescent(x, pairs, targets, self._n_symbols, self.n_chosen, rng)
        losses = [problem.loss()]
        for sweep in range(self.n_sweeps):
            problem.sweep(rng)
            losses.append(problem.loss())
            if sweep >= PATIENCE and losses[-1 - PATIENCE] - losses[-1] <= self.tol * losses[-1]:
                break
        self.history_ = {"step": list(range(len(losses))), "loss": losses}
        return {"projections_": problem.normals().astype(np.float32), "center_": labelled.center}

    def _pairs(self, x: F64, labelled: TrainingPoints, known: bool, rng: np.random.RandomState) -> tuple[I64, F64]:
        """Pairs ``(t, 2)`` to compare, and their distances, 0 to 1."""
        n = len(x)
        n_others = max(1, round(self.pair_share * n))
        if isinstance(labelled.source, GivenPairs):
            given = labelled.source.pairs.astype(np.int64)
            pairs = given[sample_rows(rng, len(given), n * n_others)]
        else:
            first = np.repeat(np.arange(n), n_others)
            pairs = np.stack([first, (first + rng.randint(1, n, size=len(first))) % n], axis=1)
        if known:
            return pairs, (labelled.source.labels_of(pairs.astype(np.int32)) == 0).astype(np.float64)
        squares = squared_distances(x.astype(np.float32), pairs.astype(np.int32))
        return pairs, squares / squares.max()


class CoordinateDescent:
    """Coordinate descent on the weights of all bits."""

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

    def _differ(self, bits: Flags) -> Flags:
        """Which pairs have different bits ``(..., n)``."""
        differ: Flags = bits[..., self._first] != bits[..., self._second]
        return differ

    def loss(self) -> float:
        """Half the mean squared difference of the distances over the pairs."""
        return float(np.square(self._differing / len(self.bits) - self._targets).mean() / 2)

    def sweep(self, rng: np.random.RandomState) -> None:
        """Improve one random weight of every bit."""
        for bit, place in enumerate(rng.randint(0, self.chosen.shape[1], size=len(self.bits))):
            self.improve(bit, place)

    def improve(self, bit: int, place: int) -> None:
        """Set a weight to the value with the smallest loss."""
        slopes = self._kernel[:, self.chosen[bit, place]]
        rest = self._responses[bit] - self.weights[bit, place] * slopes
        moving = np.flatnonzero(np.abs(slopes) > MIN_PRODUCT)
        if not len(moving):
            return
        breaks = -rest[moving] / slopes[moving]
        order = np.argsort(breaks, kind="stable")
        breaks, moving = breaks[order], moving[order]
        others = self._differing - self._differ(self.bits[bit])
        losses = self._losses(rest, slopes, moving, others)
        losses[1:-1][breaks[1:] <= breaks[:-1]] = np.inf
        best = int(losses.argmin())
        edges = np.concatenate([[breaks[0] - 2 * OUTER_STEP], breaks, [breaks[-1] + 2 * OUTER_STEP]])
        weight = (edges[best] + edges[best + 1]) / 2
        responses = rest + weight * slopes
        differing = others + self._differ(responses > 0)
        if self._total(differing) < self._total(self._differing):
            self.weights[bit, place] = weight
            self._responses[bit], self.bits[bit], self._differing = responses, responses > 0, differing

    def _losses(self, rest: F64, slopes: F64, moving: I64, others: I64) -> F64:
        """The loss by the number of breakpoints below the weight, 0 to len(moving), up to a constant.

        Whether the bits of a pair differ is reversed between its two breakpoints.
        """
        rank = np.full(len(rest), len(moving))
        rank[moving] = np.arange(len(moving))
        lowest = np.where(np.abs(slopes) > MIN_PRODUCT, slopes < 0, rest > 0)
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
