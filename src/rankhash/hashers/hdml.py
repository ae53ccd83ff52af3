"""Hamming distance metric learning: all bits learned together, by a hinge loss on triplets."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _kernels
from .._checks import check_flag, check_integer, check_number
from .._types import F32, I32
from ..codes import CodeLayout
from ..similarity import Triplets
from ._features.orthogonal import random_directions
from ._history import mean_records
from ._triplet_loss import triplet_descent
from .base import Arrays, Hasher
from .parameters import check_descent
from .training import Training, TrainingPoints, labelled_points, new_generator

BATCHES_PER_DRAW = 20
"""Mini-batches whose triplets are drawn at once."""

RECORDS = 50
"""Entries of ``history_``."""

START_SIZE = 10.0
"""Length of the random normals at the start: with shorter ones all bits become alike."""


class HDML(Hasher):
    """Binary codes in which similar vectors are nearer than dissimilar ones, by triplets.

    All hyperplanes are learned together [1]_: for a triplet of a vector, a similar and a dissimilar one, the code of
    the similar one should be nearer by at least one bit. A hinge loss penalises triplets where it is not. Its upper
    bound is minimised from random hyperplanes, by perceptron-like steps with momentum over mini-batches.

    The triplets come from ``fit(X, y)`` (class labels, also multi-label), from ``fit(X, similarity=...)`` (given
    pairs), or else from the distances of the vectors (``n_neighbors``).

    Parameters
    ----------
    n_symbols, n_bits, n_bytes
        The size of a code, 1 to 4096 bits, in symbols, bits or bytes; 64 bits if all are None (the default).
    n_negatives
        Dissimilar vectors that are drawn per triplet; the one with the nearest code is taken. 1 by default.
    weight_decay
        Fraction of the normals that is subtracted per step, relative to the learning rate; 0.0003 by default.
    learning_rate
        Initial step size, which falls linearly to 0; 1 by default.
    momentum
        Fraction of the last step that is added to the next, 0 to less than 1; 0.9 by default.
    batch_size
        Triplets per mini-batch, 100 by default.
    n_iterations
        Number of mini-batches, 5000 by default.
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
        The normals of the hyperplanes.
    center_ : ndarray (n_features_in_,) or None
        The mean of the fitted vectors, if ``center``.
    history_ : dict of lists
        ``step`` (mini-batches so far) and ``bound``: the mean bound of the loss since the last record.
    layout_, n_features_in_, feature_names_in_
        As for every hasher; codes have arity 2.

    Notes
    -----
    The paper finds the worst bits by dynamic programming. The loss has two linear parts, and in each of them bits can
    be chosen one by one, which gives the same maximum.

    References
    ----------
    .. [1] M. Norouzi, D. J. Fleet, R. Salakhutdinov, Hamming distance metric learning, NIPS 2012.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> hasher = HDML(16, n_iterations=100, random_state=0).fit(X, y)
    >>> hasher.transform(X).shape, hasher.encode(X).shape
    ((1797, 16), (1797, 2))
    """

    _code_arrays = ("projections_", "center_")
    _rotates = True

    def __init__(
        self,
        n_symbols: int | None = None,
        *,
        n_bits: int | None = None,
        n_bytes: int | None = None,
        n_negatives: int = 1,
        weight_decay: float = 0.0003,
        learning_rate: float = 1.0,
        momentum: float = 0.9,
        batch_size: int = 100,
        n_iterations: int = 5000,
        n_neighbors: int = 50,
        max_points: int = 100_000,
        center: bool = True,
        random_state: Any = None,
    ) -> None:
        super().__init__(n_symbols, n_bits=n_bits, n_bytes=n_bytes, random_state=random_state)
        self.n_negatives = n_negatives
        self.weight_decay = weight_decay
        self.learning_rate = learning_rate
        self.momentum = momentum
        self.batch_size = batch_size
        self.n_iterations = n_iterations
        self.n_neighbors = n_neighbors
        self.max_points = max_points
        self.center = center

    def _check_parameters(self) -> None:
        check_integer("n_negatives", self.n_negatives, 1, 1000)
        check_number("weight_decay", self.weight_decay, 0, 1e6)
        check_descent(self.learning_rate, self.momentum, self.batch_size, self.n_iterations)
        check_integer("n_neighbors", self.n_neighbors, 1, 2**31 - 1)
        check_integer("max_points", self.max_points, 3, 2**31 - 1)
        check_flag("center", self.center)

    def _learn(self, training: Training, rng: np.random.RandomState) -> Arrays:
        draws = new_generator(rng)
        sizes = self.max_points, self.n_neighbors
        points = labelled_points(training, "HDML", draws, *sizes, centered=self.center)
        start = START_SIZE * random_directions(rng, self._n_symbols, points.x.shape[1])
        weights = self._minimise(points, start.astype(np.float32), draws)
        arrays: Arrays = {"projections_": weights}
        return arrays | {"center_": points.center} if self.center else arrays

    def _minimise(self, points: TrainingPoints, weights: F32, rng: np.random.Generator) -> F32:
        """The normals ``(n_symbols, d)`` after ``n_iterations`` steps of descent on the bound."""
        x, size, triplets = points.x, self.batch_size, Triplets(points.source)
        step, bounds = np.zeros_like(weights), np.empty(self.n_iterations)
        for iteration in range(self.n_iterations):
            place = iteration % BATCHES_PER_DRAW * size
            if place == 0:
                drawn = triplets.with_negatives(rng, BATCHES_PER_DRAW * size, self.n_negatives)
            first, second, third = (x[column] for column in hardest(x, weights, drawn[place : place + size]).T)
            descent, bounds[iteration] = triplet_descent(first, second, third, weights)
            rate = np.float32(self.learning_rate * (1 - iteration / self.n_iterations))
            step = np.float32(self.momentum) * step + rate * (descent - np.float32(self.weight_decay) * weights)
            weights = weights + step
        self.history_ = mean_records("bound", bounds, RECORDS)
        return weights

    def _fits(self, arrays: Arrays, layout: CodeLayout, n_features: int) -> bool:
        return len(arrays.get("projections_", ())) == layout.n_symbols and super()._fits(arrays, layout, n_features)


def hardest(x: F32, weights: F32, drawn: I32) -> I32:
    """Triplets ``(t, 3)`` of rows of ``x`` with the third point whose code is nearest to that of the first.

    ``drawn`` is ``(t, 2 + n_negatives)``; the earliest of equally near ones is taken.
    """
    if drawn.shape[1] == 3:
        return drawn
    used, place = np.unique(drawn, return_inverse=True)
    bits = (_kernels.inner_products(x[used], weights) > 0).astype(np.float32)
    bits = bits[place.reshape(drawn.shape)]
    common = np.einsum("tq,tnq->tn", 2 * bits[:, 0] - 1, 2 * bits[:, 2:] - 1)
    nearest = common.argmax(axis=1)
    return np.column_stack([drawn[:, :2], drawn[np.arange(len(drawn)), 2 + nearest]])
