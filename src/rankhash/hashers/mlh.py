"""Minimal loss hashing: all bits learned together, by a hinge loss on the Hamming distances of labelled pairs."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from .. import _ranking
from ..errors import InvalidInputError
from ..similarity import GivenPairs, PairSource, label_source
from ._base import F32, Arrays, Hasher, Training
from ._hinge import bound_descent, hinges
from ._pairs import MAX_POOL, MIN_POOL, POOL_PER_POINT, Problem, _scaled, _some_rows
from ._parameters import check_flag, check_integer, check_number
from ._reduced import neighbors_among
from .lsh import _normals

Bits = NDArray[np.bool_]

AHEAD = 20
"""Mini-batches whose pairs are drawn at once."""

STEPS = range(-2, 3)
"""Where validation looks, around the radius that usually suits a length; longer codes take longer steps."""

WEIGHTS = (1.0, 0.5, 2.0)
"""Weights of dissimilar pairs that validation tries."""

SHORTER = 4
"""A candidate of the validation is learned with this part of the iterations."""

BITS_OF_UNIT_LOSS, LARGEST_LOSS = 20, 4.0
"""With as many bits a pair's largest loss is 1; with more it grows in proportion, up to this."""

VALIDATION_PAIRS = 100_000


class MLH(Hasher):
    """Codes of bits whose Hamming distance is below a radius for similar pairs and above it for others.

    All hyperplanes are learned together [1]_: a similar pair should differ in fewer than ``rho`` bits, a
    dissimilar one in more, and what is missing is the loss. Its bound is lowered by perceptron-like steps
    with momentum over mini-batches of pairs, from random hyperplanes.

    The pairs come from ``fit(X, y)`` (class labels, also multi-label), from ``fit(X, similarity=...)`` (given
    pairs), or else from the distances of the vectors (``n_neighbors``); see :mod:`rankhash.similarity`.

    Parameters
    ----------
    n_symbols
        Bits of a code, 1 to 4096.
    rho
        The radius, 1 to ``n_symbols``. ``"auto"`` chooses it by validation, as the authors do: a tenth of the
        vectors is held out, and its pairs with the others are ranked by codes for up to five radii around that
        of None, which suits nearest neighbours: 1, 2, 5, 14 and 37 for 8, 16, 32, 64 and 128 bits.
    lam
        The weight of the dissimilar pairs' loss. Each kind's loss is scaled to be at most 1 before. ``"auto"`` tries
        1, 0.5 and 2 by validation, after the radius was chosen.
    epsilon
        The weight of the loss against the projections, which have unit vectors as normals; vectors have unit
        mean square length inside, so that it does not depend on the scale of ``X``. None takes n_symbols / 20, at most
        4.
    similar_share
        At least this share of the pairs that are drawn is similar (the authors' code calls it lambda).
    learning_rate
        The first step's size; it falls linearly to 0.
    momentum
        What part of the last step is taken again, 0 to less than 1.
    batch_size, n_iterations
        Pairs of a mini-batch, and how many mini-batches there are.
    n_neighbors
        Without labels: how many others a vector is similar to on average.
    max_points
        From more vectors than this a sample is drawn; given pairs are never sampled.
    center
        Whether the mean of the fitted vectors is subtracted first.
    random_state
        An integer for the same hasher in every run, a RandomState, or None.

    Attributes
    ----------
    projections_ : ndarray (n_symbols, n_features_in_)
        The unit normals of the hyperplanes.
    center_ : ndarray (n_features_in_,) or None
        The mean of the fitted vectors, if ``center``.
    rho_, lam_ : ndarray (1,), ndarray (1,)
        The radius and the weight of dissimilar pairs that were used.
    layout_ : CodeLayout
        The layout of the codes: ``n_symbols`` of arity 2.
    n_features_in_, feature_names_in_
        Columns of the vectors that were fitted, and their names if they had any.

    Notes
    -----
    Normals have unit length after every step, as in the paper; the authors' later code has weight decay
    instead. Mini-batches are larger than theirs (100 pairs) and steps longer, which comes to the same codes.

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
    _side_arrays = ("rho_", "lam_")

    def __init__(
        self,
        n_symbols: int = 32,
        *,
        rho: int | str | None = "auto",
        lam: float | str = "auto",
        epsilon: float | None = None,
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
        self.n_symbols = n_symbols
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
        self.random_state = random_state

    def _check_parameters(self) -> None:
        if isinstance(self.rho, str) and self.rho != "auto":
            raise InvalidInputError(f"rho must be an integer, 'auto' or None, got {self.rho!r}")
        if self.rho not in ("auto", None):
            check_integer("rho", self.rho, 1, self.n_symbols)
        if isinstance(self.lam, str) and self.lam != "auto":
            raise InvalidInputError(f"lam must be a number or 'auto', got {self.lam!r}")
        if self.lam != "auto":
            check_number("lam", self.lam, 0, 1e6)
        if self.epsilon is not None:
            check_number("epsilon", self.epsilon, 0, 1e6)
        check_number("learning_rate", self.learning_rate, 0, 1e6)
        check_number("similar_share", self.similar_share, 0, 1)
        check_number("momentum", self.momentum, 0, 0.9999)
        check_integer("batch_size", self.batch_size, 1, 1_000_000)
        check_integer("n_iterations", self.n_iterations, 1, 2**31 - 1)
        check_integer("n_neighbors", self.n_neighbors, 1, 2**31 - 1)
        check_integer("max_points", self.max_points, 3, 2**31 - 1)
        check_flag("center", self.center)

    def _learn(self, training: Training, rng: np.random.RandomState) -> Arrays:
        problem, share = self._problem(training, rng)
        start = _normals(rng, self.n_symbols, problem.x.shape[1]).astype(np.float32)
        draws = np.random.default_rng(rng.randint(0, 2**31 - 1, size=4))
        with threadpool_limits(1, "blas"):  # the products of a mini-batch are too small to share
            if "auto" in (self.rho, self.lam):
                rho, lam = self._validated(problem, start, share, draws)
            else:
                rho, lam = default_radius(self.n_symbols) if self.rho is None else int(self.rho), float(self.lam)
            weights = self._minimise(problem, start, rho, lam, share, self.n_iterations, draws)
        arrays: Arrays = {"projections_": weights, "rho_": np.array([rho], np.float32)}
        arrays["lam_"] = np.array([lam], np.float32)
        return arrays | {"center_": problem.center} if self.center else arrays

    def _epsilon(self) -> float:
        return min(self.n_symbols / BITS_OF_UNIT_LOSS, LARGEST_LOSS) if self.epsilon is None else float(self.epsilon)

    def _problem(self, training: Training, rng: np.random.RandomState) -> tuple[Problem, float]:
        """The points, centred and of unit mean square length, a pool of pairs, and the share to draw similar."""
        data = training.vectors
        if data.n_rows < 2:
            raise InvalidInputError("MLH learns from pairs, but there is 1 sample: n_samples=1")
        known = label_source(training.y, training.similarity, data.n_rows)
        draws = np.random.default_rng(rng.randint(0, 2**31 - 1, size=4))
        rows = None if isinstance(known, GivenPairs) else _some_rows(draws, data.n_rows, self.max_points)
        mean = data.mean()
        center = mean if self.center else np.zeros_like(mean)
        x, scale = _scaled(data, rows, center, None)
        if known is None:
            source: PairSource = neighbors_among(x, self.n_neighbors, draws, scale)
        else:
            source = known if rows is None else known.subset(rows)
        pairs, labels = source.pool(draws, int(np.clip(POOL_PER_POINT * len(x), MIN_POOL, MAX_POOL)))
        return Problem(x, center, scale, pairs, labels), max(source.similar_rate, self.similar_share)

    def _validated(self, problem: Problem, start: F32, share: float, rng: np.random.Generator) -> tuple[int, float]:
        """The radius and the weight of dissimilar pairs whose codes rank pairs of held-out and other points best.

        As its authors do: first the radius, then the weight at that radius.
        """
        rho = default_radius(self.n_symbols) if self.rho in ("auto", None) else int(self.rho)
        lam = 1.0 if self.lam == "auto" else float(self.lam)
        n_held = -(-len(problem.x) // 10)
        held = np.isin(problem.pairs, rng.choice(len(problem.x), n_held, replace=False)).sum(axis=1)
        inner, outer = (_part(problem, held == ends) for ends in (0, 1))
        if inner is None or outer is None:
            return rho, lam
        pairs, labels = outer.draw(rng, VALIDATION_PAIRS, share)
        seed = int(rng.integers(2**31))

        @lru_cache
        def score(rho: int, lam: float) -> float:
            draws, n_iterations = np.random.default_rng(seed), -(-self.n_iterations // SHORTER)
            weights = self._minimise(inner, start, rho, lam, share, n_iterations, draws)
            bits = (problem.x @ weights.T > 0).astype(np.uint8)
            return _ranking.average_precision(_ranking.pair_distances(bits, pairs), labels == 1)

        if self.rho == "auto":
            rho = max(self._candidates(), key=lambda radius: score(radius, lam))
        if self.lam == "auto":
            lam = max(WEIGHTS, key=lambda weight: score(rho, weight))
        return rho, lam

    def _candidates(self) -> list[int]:
        middle, width = default_radius(self.n_symbols), max(1, round(self.n_symbols / 32))
        return sorted({min(max(1, middle + step * width), self.n_symbols) for step in STEPS})

    def _minimise(
        self,
        problem: Problem,
        start: F32,
        rho: int,
        lam: float,
        share: float,
        n_iterations: int,
        rng: np.random.Generator,
    ) -> F32:
        """The hyperplanes after ``n_iterations`` steps that lower the bound of the loss."""
        x, size, loss = problem.x, self.batch_size, hinges(self.n_symbols, rho, lam, self._epsilon())
        weights, step = start.copy(), np.zeros_like(start)
        for iteration in range(n_iterations):
            place = iteration % AHEAD * size
            if place == 0:
                pairs, labels = problem.draw(rng, AHEAD * size, share)
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
    """A radius that suits nearest neighbours at this length: a power law near 2, 5, 12, 36 for 16, 32, 64, 128 bits.

    >>> [default_radius(n) for n in (8, 16, 32, 64, 128, 4096)]
    [1, 2, 5, 14, 37, 1536]
    """
    return int(max(1, min(round(0.0412 * float(n_symbols) ** 1.4), 3 * n_symbols // 8)))


def _part(problem: Problem, chosen: Bits) -> Problem | None:
    """The problem with some of its pairs; None unless there are both kinds."""
    labels = problem.labels[chosen]
    if not 0 < labels.sum(dtype=int) < len(labels):
        return None
    return Problem(problem.x, problem.center, problem.scale, problem.pairs[chosen], labels)
