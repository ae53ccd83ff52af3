"""Minimal loss hashing: all bits learned together, by a hinge loss on the Hamming distances of labelled pairs."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from .. import _ranking
from .._checks import check_flag, check_integer, check_number
from .._types import F32, Flags
from ..errors import InvalidInputError
from ._features.orthogonal import random_directions
from ._minimal_loss import bound_descent, hinges
from .base import Arrays, Hasher
from .parameters import check_descent
from .training import PairPool, Training, labelled_points, new_generator

BATCHES_PER_DRAW = 20
"""Mini-batches whose pairs are drawn at once."""

RADIUS_STEPS = range(-2, 3)
"""Candidate radii: ``default_radius`` plus these multiples of max(1, n_symbols / 32)."""

CANDIDATE_WEIGHTS = (1.0, 0.5, 2.0)
"""Candidate weights of dissimilar pairs, and candidate factors of the default ``epsilon``."""

VALIDATION_SPEEDUP = 4
"""A candidate is learned with n_iterations / 4 iterations."""

VALIDATION_PAIRS = 100_000
"""Pairs of held-out and other points that candidates are scored with."""

UNIT_LOSS_BITS, MAX_EPSILON = 20, 4.0
"""Default of ``epsilon``: min(n_symbols / 20, 4)."""

RADIUS_FACTOR, RADIUS_POWER = 0.0412, 1.4
"""Default radius: 0.0412 · n_symbols^1.4, at most 3/8 of n_symbols."""

Constants = tuple[int, float, float]
"""Radius, weight of dissimilar pairs, epsilon."""


class MLH(Hasher):
    """Binary codes whose Hamming distance is below a radius for similar pairs and above it for dissimilar ones.

    All hyperplanes are learned together [1]_: similar pairs should differ in fewer than ``rho`` bits, dissimilar pairs
    in more. A hinge loss penalises violations. Its upper bound is minimised from random hyperplanes, by perceptron-like
    steps with momentum over mini-batches of pairs.

    The pairs come from ``fit(X, y)`` (class labels, also multi-label), from ``fit(X, similarity=...)`` (given
    pairs), or else from the distances of the vectors (``n_neighbors``).

    Parameters
    ----------
    n_symbols, n_bits, n_bytes
        The size of a code, 1 to 4096 bits, in symbols, bits or bytes; 64 bits if all are None (the default).
    rho
        The radius, 1 to ``n_symbols``. ``"auto"``, the default, chooses it by validation, as the authors do: a tenth of
        the vectors is held out, and pairs of held-out and other vectors are ranked by the codes of up to five radii
        around that of None. None takes a radius for nearest neighbours: 1, 2, 5, 14 and 37 for 8, 16, 32, 64 and 128
        bits.
    lam
        The weight of the dissimilar pairs' loss, relative to that of similar pairs. ``"auto"``, the default, chooses
        from 1, 0.5 and 2 by validation, after the radius.
    epsilon
        The weight of the loss relative to the projections on unit normals. Vectors are scaled to unit mean squared
        length internally, so that the scale of ``X`` has no effect. None, the default, takes min(n_symbols / 20, 4);
        ``"auto"`` chooses from 1, ½ and 2 times that by validation, after ``lam``.
    similar_share
        Lower limit of the fraction of similar pairs in a mini-batch (lambda in the authors' code); 0 by default.
    learning_rate
        Initial step size, which falls linearly to 0; 3 by default.
    momentum
        Fraction of the last step that is added to the next, 0 to less than 1; 0.9 by default.
    batch_size
        Pairs per mini-batch, 1000 by default.
    n_iterations
        Number of mini-batches, 2500 by default.
    n_neighbors
        Without labels: mean number of vectors that a vector is similar to, 50 by default.
    max_points
        Largest number of vectors to learn from, 100 000 by default, drawn at random; given pairs are never sampled.
    center
        Whether the mean of the fitted vectors is subtracted first; True by default.
    random_state
        An integer for the same codes in every run, a RandomState, or None (the default).

    Attributes
    ----------
    projections_ : ndarray (n_symbols, n_features_in_)
        The unit normals of the hyperplanes.
    center_ : ndarray (n_features_in_,) or None
        The mean of the fitted vectors, if ``center``.
    rho_, lam_ : ndarray (1,), ndarray (1,)
        The radius and the weight of dissimilar pairs that were used.
    layout_, n_features_in_, feature_names_in_
        As for every hasher; codes have arity 2.

    Notes
    -----
    Normals are scaled to unit length after every step, as in the paper; the authors' later code uses weight decay
    instead. Mini-batches are larger than theirs (100 pairs) and steps longer, which gives codes of the same quality.

    References
    ----------
    .. [1] M. Norouzi, D. J. Fleet, Minimal loss hashing for compact binary codes, ICML 2011.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> hasher = MLH(16, rho=2, n_iterations=50, random_state=0).fit(X)
    >>> hasher.transform(X).shape, hasher.encode(X).shape
    ((1797, 16), (1797, 2))
    """

    rho_: F32
    lam_: F32

    _code_arrays = ("projections_", "center_")
    _rotates = True
    _side_arrays = ("rho_", "lam_")

    def __init__(
        self,
        n_symbols: int | None = None,
        *,
        n_bits: int | None = None,
        n_bytes: int | None = None,
        rho: int | str | None = "auto",
        lam: float | str = "auto",
        epsilon: float | str | None = None,
        similar_share: float = 0.0,
        learning_rate: float = 3.0,
        momentum: float = 0.9,
        batch_size: int = 1000,
        n_iterations: int = 2500,
        n_neighbors: int = 50,
        max_points: int = 100_000,
        center: bool = True,
        random_state: Any = None,
    ) -> None:
        super().__init__(n_symbols, n_bits=n_bits, n_bytes=n_bytes, random_state=random_state)
        self.rho = rho
        self.lam = lam
        self.epsilon = epsilon
        self.similar_share = similar_share
        self.learning_rate = learning_rate
        self.momentum = momentum
        self.batch_size = batch_size
        self.n_iterations = n_iterations
        self.n_neighbors = n_neighbors
        self.max_points = max_points
        self.center = center

    def _check_parameters(self) -> None:
        if isinstance(self.rho, str) and self.rho != "auto":
            raise InvalidInputError(f"rho must be an integer, 'auto' or None, got {self.rho!r}")
        if self.rho not in ("auto", None):
            check_integer("rho", self.rho, 1, self._n_symbols)
        if isinstance(self.lam, str) and self.lam != "auto":
            raise InvalidInputError(f"lam must be a number or 'auto', got {self.lam!r}")
        if self.lam != "auto":
            check_number("lam", self.lam, 0, 1e6)
        if isinstance(self.epsilon, str) and self.epsilon != "auto":
            raise InvalidInputError(f"epsilon must be a number, 'auto' or None, got {self.epsilon!r}")
        if self.epsilon not in ("auto", None):
            check_number("epsilon", self.epsilon, 0, 1e6)
        check_number("similar_share", self.similar_share, 0, 1)
        check_descent(self.learning_rate, self.momentum, self.batch_size, self.n_iterations)
        check_integer("n_neighbors", self.n_neighbors, 1, 2**31 - 1)
        check_integer("max_points", self.max_points, 3, 2**31 - 1)
        check_flag("center", self.center)

    def _learn(self, training: Training, rng: np.random.RandomState) -> Arrays:
        pool, share = self._pool(training, rng)
        start = random_directions(rng, self._n_symbols, pool.x.shape[1]).astype(np.float32)
        draws = new_generator(rng)
        chosen = self._validated(pool, start, share, draws)
        weights = self._minimise(pool, start, chosen, share, self.n_iterations, draws)
        arrays: Arrays = {"projections_": weights, "rho_": np.array([chosen[0]], np.float32)}
        arrays["lam_"] = np.array([chosen[1]], np.float32)
        return arrays | {"center_": pool.center} if self.center else arrays

    def _epsilon(self) -> float:
        usual = min(self._n_symbols / UNIT_LOSS_BITS, MAX_EPSILON)
        return usual if self.epsilon in ("auto", None) else float(self.epsilon)

    def _pool(self, training: Training, rng: np.random.RandomState) -> tuple[PairPool, float]:
        """The pool of pairs, and the fraction of similar pairs to draw."""
        draws = new_generator(rng)
        sizes = self.max_points, self.n_neighbors
        points = labelled_points(training, "MLH", draws, *sizes, centered=self.center)
        return points.pool(draws), max(points.source.similar_rate, self.similar_share)

    def _validated(self, pool: PairPool, start: F32, share: float, rng: np.random.Generator) -> Constants:
        """Radius, weight of dissimilar pairs and epsilon: as given, or those whose codes rank held-out pairs best.

        First the radius is chosen, then the weight at that radius, then epsilon.
        """
        rho = default_radius(self._n_symbols) if self.rho in ("auto", None) else int(self.rho)
        lam = 1.0 if self.lam == "auto" else float(self.lam)
        epsilon = self._epsilon()
        if "auto" not in (self.rho, self.lam, self.epsilon):
            return rho, lam, epsilon
        n_held = -(-len(pool.x) // 10)
        held = np.isin(pool.pairs, rng.choice(len(pool.x), n_held, replace=False)).sum(axis=1)
        inner, outer = (_part(pool, held == ends) for ends in (0, 1))
        if inner is None or outer is None:
            return rho, lam, epsilon
        pairs, labels = outer.draw(rng, VALIDATION_PAIRS, share)
        seed = int(rng.integers(2**31))

        @lru_cache
        def score(*constants: Any) -> float:
            draws, n_iterations = np.random.default_rng(seed), -(-self.n_iterations // VALIDATION_SPEEDUP)
            weights = self._minimise(inner, start, constants, share, n_iterations, draws)
            bits = (pool.x @ weights.T > 0).astype(np.uint8)
            return _ranking.average_precision(_ranking.pair_distances(bits, pairs), labels == 1)

        if self.rho == "auto":
            rho = max(self._candidates(), key=lambda radius: score(radius, lam, epsilon))
        if self.lam == "auto":
            lam = max(CANDIDATE_WEIGHTS, key=lambda weight: score(rho, weight, epsilon))
        if self.epsilon == "auto":
            epsilon *= max(CANDIDATE_WEIGHTS, key=lambda factor: score(rho, lam, factor * epsilon))
        return rho, lam, epsilon

    def _candidates(self) -> list[int]:
        middle, width = default_radius(self._n_symbols), max(1, round(self._n_symbols / 32))
        return sorted({min(max(1, middle + step * width), self._n_symbols) for step in RADIUS_STEPS})

    def _minimise(
        self,
        pool: PairPool,
        start: F32,
        constants: Constants,
        share: float,
        n_iterations: int,
        rng: np.random.Generator,
    ) -> F32:
        """The unit normals ``(n_symbols, d)`` after ``n_iterations`` steps of descent on the bound."""
        x, size, loss = pool.x, self.batch_size, hinges(self._n_symbols, *constants)
        weights, step = start.copy(), np.zeros_like(start)
        for iteration in range(n_iterations):
            place = iteration % BATCHES_PER_DRAW * size
            if place == 0:
                pairs, labels = pool.draw(rng, BATCHES_PER_DRAW * size, share)
            batch = slice(place, place + size)
            first, second = x[pairs[batch, 0]], x[pairs[batch, 1]]
            descent = bound_descent(first, second, weights, labels[batch], loss)
            rate = self.learning_rate * (1 - iteration / n_iterations)
            step = np.float32(self.momentum) * step + np.float32(rate) * descent
            weights = weights + step
            weights /= np.maximum(np.linalg.norm(weights, axis=1, keepdims=True), np.finfo(np.float32).tiny)
        learned: F32 = weights
        return learned

    def _fits(self, arrays: Arrays, layout: Any, n_features: int) -> bool:
        rho, lam = arrays.get("rho_", np.empty(0)), arrays.get("lam_", np.empty(0))
        return (
            rho.shape == lam.shape == (1,)
            and bool(lam[0] >= 0)
            and bool(1 <= rho[0] <= layout.n_symbols)
            and len(arrays.get("projections_", ())) == layout.n_symbols
            and super()._fits(arrays, layout, n_features)
        )


def default_radius(n_symbols: int) -> int:
    """The radius for nearest neighbours: 0.0412 · n_symbols^1.4, at least 1, at most 3/8 of n_symbols.

    >>> [default_radius(n) for n in (8, 16, 32, 64, 128, 4096)]
    [1, 2, 5, 14, 37, 1536]
    """
    return int(max(1, min(round(RADIUS_FACTOR * float(n_symbols) ** RADIUS_POWER), 3 * n_symbols // 8)))


def _part(pool: PairPool, chosen: Flags) -> PairPool | None:
    """The pool with some of its pairs; None unless it has pairs of both kinds."""
    labels = pool.labels[chosen]
    if not 0 < labels.sum(dtype=int) < len(labels):
        return None
    return PairPool(pool.x, pool.center, pool.scale, pool.pairs[chosen], labels)
