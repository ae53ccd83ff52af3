"""Supervised hashing with kernels: bits whose inner products approach the similarity of labelled vectors."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg

from .._checks import check_integer, check_number
from .._types import F64
from ..similarity import SimilarityMatrix, similarity_matrix
from ._features.anchors import KernelHasher, RBFAnchors
from .base import Arrays
from .training import Training, labelled_points, new_generator, take_rows

RIDGE = 1e-6
"""Ridge of the Gram matrix of the features, relative to its mean diagonal."""

TINY = 1e-300
"""Smallest ridge."""

MAX_DOUBLINGS = 50
"""Largest number of halvings of the step in a line search."""


class KSH(KernelHasher):
    """Binary codes whose inner products approximate similarity, learned bit by bit.

    The inner product y·y' of two codes of ±1 is ``n_symbols`` minus twice their Hamming distance. Its target is
    ``n_symbols`` for similar and ``-n_symbols`` for dissimilar vectors. Each bit reduces the residual as much as it can
    [1]_. A bit is the sign of a weighted sum of RBF kernel values with anchors.

    The pairs come from ``fit(X, y)`` (class labels, also multi-label), from ``fit(X, similarity=...)`` (given
    pairs), or else from the distances of the vectors (``n_neighbors``).

    Parameters
    ----------
    n_symbols, n_bits, n_bytes
        The size of a code, 1 to 4096 bits, in symbols, bits or bytes; 64 bits if all are None (the default).
    n_anchors
        Number of anchors, random training vectors; 300 by default.
    gamma
        Width of the kernel exp(-gamma d² / mean d²), with d the distance to the anchor; 2 by default.
    max_points
        Largest number of vectors to learn from, 5000 by default; of more, a random sample. Anchors and the mean of the
        features come from all vectors. Memory grows linearly with it for classes, else quadratically.
    n_neighbors
        Without labels: mean number of vectors that a vector is similar to, 50 by default.
    n_iterations
        Largest number of gradient steps per bit, 500 by default.
    tol
        A bit is finished when a step changes the loss by less than this fraction, 0.0001 by default.
    random_state
        An integer for the same codes in every run, a RandomState, or None (the default).

    Attributes
    ----------
    projections_ : ndarray (n_symbols, n_anchors)
        The weights of the features.
    center_ : ndarray (n_anchors,)
        The mean of the features, which is subtracted from them.
    anchors_, scale_ : ndarray (n_anchors, n_features_in_), ndarray (1,)
        The anchors, and the factor of distances to them.
    history_ : dict of lists
        ``step`` (the bit) and ``residual``: the mean squared residual over pairs after it, relative to that before the
        first bit. It is not saved.
    layout_, n_features_in_, feature_names_in_
        As for every hasher; codes have arity 2.

    References
    ----------
    .. [1] W. Liu, J. Wang, R. Ji, Y.-G. Jiang, S.-F. Chang, Supervised hashing with kernels, CVPR 2012.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> hasher = KSH(16, random_state=0).fit(X, y)
    >>> hasher.transform(X).shape, hasher.encode(X).shape
    ((1797, 16), (1797, 2))
    >>> bool(hasher.history_["residual"][-1] < hasher.history_["residual"][0])
    True
    """

    def __init__(
        self,
        n_symbols: int | None = None,
        *,
        n_bits: int | None = None,
        n_bytes: int | None = None,
        n_anchors: int = 300,
        gamma: float = 2.0,
        max_points: int = 5000,
        n_neighbors: int = 50,
        n_iterations: int = 500,
        tol: float = 1e-4,
        random_state: Any = None,
    ) -> None:
        super().__init__(n_symbols, n_bits=n_bits, n_bytes=n_bytes, random_state=random_state)
        self.n_anchors = n_anchors
        self.gamma = gamma
        self.max_points = max_points
        self.n_neighbors = n_neighbors
        self.n_iterations = n_iterations
        self.tol = tol

    def _check_parameters(self) -> None:
        check_integer("n_anchors", self.n_anchors, 1, 100_000)
        check_number("gamma", self.gamma, 1e-6, 1e6)
        check_integer("max_points", self.max_points, 3, 1_000_000)
        check_integer("n_neighbors", self.n_neighbors, 1, 2**31 - 1)
        check_integer("n_iterations", self.n_iterations, 0, 1_000_000)
        check_number("tol", self.tol, 0, 1)

    def _learn(self, training: Training, rng: np.random.RandomState) -> Arrays:
        draws, sizes = new_generator(rng), (self.max_points, self.n_neighbors)
        labelled = labelled_points(training, "KSH", draws, *sizes, sample_given=True)
        rbf = RBFAnchors(self.n_anchors, gamma=self.gamma, random_state=rng).fit(training.vectors)
        features = rbf.transform(take_rows(training.vectors, labelled.rows)).astype(np.float64)
        problem = Greedy(features, similarity_matrix(labelled.source), self._n_symbols)
        weights = [problem.learn_bit(self.n_iterations, self.tol) for _ in range(self._n_symbols)]
        self.history_ = {"step": list(range(self._n_symbols)), "residual": problem.residuals}
        arrays: Arrays = {"projections_": rbf.kernel_weights(np.stack(weights)), "center_": rbf.mean_}
        return arrays | {"anchors_": rbf.anchors_, "scale_": rbf.scale_}


class Greedy:
    """The residual R = n_bits · S - Σ yy', with S the similarity and y the bits so far, and the greedy next bit."""

    def __init__(self, features: F64, similar: SimilarityMatrix, n_bits: int) -> None:
        self._features, self._similar, self._n_bits = features, similar, n_bits
        self._features32 = features.astype(np.float32)
        self._codes = np.empty((len(features), 0))
        self._gram = features.T @ features
        self._gram.flat[:: len(self._gram) + 1] += max(RIDGE * np.trace(self._gram) / len(self._gram), TINY)
        self._missing = n_bits * (features.T @ similar.times(features))
        self._square = float(n_bits**2 * similar.n_known)
        self.residuals: list[float] = []

    def times(self, column: F64) -> F64:
        """R times a column ``(n,)``."""
        product: F64 = self._n_bits * self._similar.times(column[:, None])[:, 0] - self._codes @ (
            self._codes.T @ column
        )
        return product

    def learn_bit(self, n_iterations: int, tol: float) -> F64:
        """The weights ``(m,)`` of the next bit: those of the relaxed problem, or after descent if that is better."""
        start = self._relaxed()
        weights, gain = start, self._gain(start)
        if n_iterations:
            smooth = self.descend(start, n_iterations, tol)
            if self._gain(smooth) > gain:
                weights, gain = smooth, self._gain(smooth)
        code = self._code(weights)
        product = self._features.T @ code
        self._missing -= np.outer(product, product)
        self._codes = np.column_stack([self._codes, code])
        self._square += float(len(code)) ** 2 - 2 * gain
        self.residuals.append(self._square / (self._n_bits**2 * self._similar.n_known))
        return weights

    def _relaxed(self) -> F64:
        """The weights a with the largest (Ka)'R(Ka) among those with |Ka|² = n."""
        last = len(self._gram) - 1
        _, vectors = scipy.linalg.eigh(self._missing, self._gram, subset_by_index=[last, last])
        sign = np.sign(vectors[np.abs(vectors).argmax(), 0])
        weights: F64 = vectors[:, 0] * (sign * np.sqrt(len(self._features)))
        return weights

    def _code(self, weights: F64) -> F64:
        return np.where(self._features @ weights > 0, 1.0, -1.0)

    def _gain(self, weights: F64) -> float:
        code = self._code(weights)
        return float(code @ self.times(code))

    def loss(self, weights: F64) -> tuple[float, F64]:
        """-p'Rp and its gradient ``(m,)`` for the soft code p = tanh(Ka / 2)."""
        soft = np.tanh(self._along(weights) / 2)
        pull = self.times(soft)
        steps = (pull * (1 - soft**2)).astype(np.float32)
        return -float(soft @ pull), -(steps @ self._features32).astype(np.float64)

    def _value(self, weights: F64) -> float:
        soft = np.tanh(self._along(weights) / 2)
        return -float(soft @ self.times(soft))

    def _along(self, weights: F64) -> F64:
        """Ka, in single precision, which suffices for the descent and is twice as fast."""
        return (self._features32 @ weights.astype(np.float32)).astype(np.float64)

    def descend(self, weights: F64, n_iterations: int, tol: float) -> F64:
        """The weights after accelerated gradient descent with a step size that never grows."""
        before, value = weights, self._value(weights)
        momentum, steepness = (0.0, 1.0), 1.0
        for _ in range(n_iterations):
            probe = weights + (momentum[0] - 1) / momentum[1] * (weights - before)
            probe_value, slope = self.loss(probe)
            square = float(slope @ slope)
            for _ in range(MAX_DOUBLINGS):
                after = probe - slope / steepness
                new = self._value(after)
                if new <= probe_value - square / (2 * steepness):
                    break
                steepness *= 2
            else:
                break
            before, weights = weights, after
            momentum = momentum[1], (1 + np.sqrt(1 + 4 * momentum[1] ** 2)) / 2
            value, old = new, value
            if abs(value - old) <= tol * abs(value):
                break
        return weights
