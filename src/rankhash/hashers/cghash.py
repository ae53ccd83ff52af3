"""Column generation hashing: hyperplanes and their weights in the distance, added one by one for triplets."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.sparse import csr_array

from .._checks import check_integer, check_number
from .._types import F32, F64, I8, I32
from ..codes import CodeLayout
from ..similarity import Triplets
from ._features.orthogonal import random_directions
from .base import Arrays, Hasher
from .training import Training, labelled_points, new_generator

SHARPNESS = 3.0
"""Hyperplanes are smoothed to tanh(3 · projection), with projections in units of their standard deviation."""

SEARCH_STEPS, WEIGHT_STEPS = 50, 200
"""Largest number of steps of L-BFGS per hyperplane, and per solution of the weights."""


class CGHash(Hasher):
    """Binary codes with a weight per bit: similar vectors are nearer than dissimilar ones by a margin.

    Bits are added one by one as columns of a convex programme for the weights [1]_. The dual variables are the current
    weights of the triplets. The next hyperplane is the one that separates the triplets best under these weights; then
    all weights of bits are solved for again. Pass ``weights_`` to a search for the weighted Hamming distance that was
    learned.

    The triplets come from ``fit(X, y)`` (class labels, also multi-label), from ``fit(X, similarity=...)`` (given
    pairs), or else from the distances of the vectors (``n_neighbors``).

    Parameters
    ----------
    n_symbols, n_bits, n_bytes
        The size of a code, 1 to 4096 bits, in symbols, bits or bytes; 64 bits if all are None (the default).
    n_triplets
        Number of triplets to learn from, 20 000 by default.
    penalty
        C, the total weight of the triplets' losses relative to the sum of the weights; 100 by default.
    n_starts
        Number of initial hyperplanes of each search, 3 by default: the leading eigenvector of the relaxed problem, and
        random ones.
    n_neighbors
        Without labels: mean number of vectors that a vector is similar to, 50 by default.
    max_points
        Largest number of vectors to learn from, 20 000 by default, drawn at random; given pairs are never sampled.
    random_state
        An integer for the same codes in every run, a RandomState, or None (the default).

    Attributes
    ----------
    projections_ : ndarray (n_symbols, n_features_in_)
        The unit normals of the hyperplanes.
    center_ : ndarray (n_features_in_,)
        The mean of the fitted vectors.
    weights_ : ndarray (n_symbols,)
        The weight of each bit in the distance, 0 or more, with the mean 1.
    history_ : dict of lists
        ``step`` (bits so far), ``objective`` of the weights, and ``violation``: Σ u·a - 1 of the new bit, the rate
        at which the objective falls with its weight.
    layout_, n_features_in_, feature_names_in_
        As for every hasher; codes have arity 2.

    Notes
    -----
    The paper stops when no hyperplane violates its dual constraint. Codes have a fixed length here, so that bits are
    added regardless; a bit that does not help gets the weight 0.

    References
    ----------
    .. [1] X. Li, G. Lin, C. Shen, A. van den Hengel, A. Dick, Learning hash functions using column generation, ICML
       2013.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> hasher = CGHash(8, n_triplets=1000, random_state=0).fit(X, y)
    >>> hasher.transform(X).shape, hasher.weights_.shape
    ((1797, 8), (8,))
    """

    weights_: F32

    _code_arrays = ("projections_", "center_")
    _rotates = True
    _side_arrays = ("weights_",)

    def __init__(
        self,
        n_symbols: int | None = None,
        *,
        n_bits: int | None = None,
        n_bytes: int | None = None,
        n_triplets: int = 20_000,
        penalty: float = 100.0,
        n_starts: int = 3,
        n_neighbors: int = 50,
        max_points: int = 20_000,
        random_state: Any = None,
    ) -> None:
        super().__init__(n_symbols, n_bits=n_bits, n_bytes=n_bytes, random_state=random_state)
        self.n_triplets = n_triplets
        self.penalty = penalty
        self.n_starts = n_starts
        self.n_neighbors = n_neighbors
        self.max_points = max_points

    def _check_parameters(self) -> None:
        check_integer("n_triplets", self.n_triplets, 1, 10_000_000)
        check_number("penalty", self.penalty, 0, 1e9, open_interval=True)
        check_integer("n_starts", self.n_starts, 1, 1000)
        check_integer("n_neighbors", self.n_neighbors, 1, 2**31 - 1)
        check_integer("max_points", self.max_points, 3, 2**31 - 1)

    def _learn(self, training: Training, rng: np.random.RandomState) -> Arrays:
        draws = new_generator(rng)
        points = labelled_points(training, "CGHash", draws, self.max_points, self.n_neighbors)
        triplets = Triplets(points.source).sample(draws, self.n_triplets)
        columns = Columns(points.x, triplets, self.penalty)
        for _ in range(self._n_symbols):
            columns.add(self.n_starts, rng)
        self.history_ = columns.history
        return {
            "projections_": np.array(columns.normals, np.float32),
            "center_": points.center,
            "weights_": _unit_mean(columns.weights).astype(np.float32),
        }

    def _fits(self, arrays: Arrays, layout: CodeLayout, n_features: int) -> bool:
        weights = arrays.get("weights_", np.empty(0))
        return (
            arrays.keys() == {*self._code_arrays, *self._side_arrays}
            and len(arrays["projections_"]) == layout.n_symbols
            and weights.shape == (layout.n_symbols,)
            and bool((weights >= 0).all() and (weights > 0).any())
            and super()._fits(arrays, layout, n_features)
        )


class Columns:
    """The columns so far: the normals of hyperplanes, their values for each triplet, and their weights.

    The value of a bit h = ±1 for a triplet is a = [h ≠ h⁻] - [h ≠ h⁺] = h (h⁺ - h⁻) / 2: 1 if only the dissimilar point
    differs, -1 if only the similar one does. The weights minimise Σ w + C/t Σ [1 - Σ w a]₊² with w ≥ 0.
    """

    def __init__(self, x: F32, triplets: I32, penalty: float) -> None:
        self._x, self._triplets = x.astype(np.float64), triplets
        self._loss_weight = penalty / len(triplets)
        self.normals: list[F64] = []
        self.said = np.empty((0, len(triplets)), np.int8)
        self.weights = np.empty(0)
        self.history: dict[str, list[float]] = {"step": [], "objective": [], "violation": []}

    def duals(self) -> F64:
        """The dual variables ``(t,)``: minus the derivative of each triplet's loss by its margin."""
        margins = self.weights @ self.said if len(self.weights) else np.zeros(len(self._triplets))
        duals: F64 = 2 * self._loss_weight * np.maximum(1 - margins, 0)
        return duals

    def add(self, n_starts: int, rng: np.random.RandomState) -> None:
        """Find the next hyperplane and solve all weights again."""
        duals = self.duals()
        normal = self._search(self._matrix(duals), n_starts, rng)
        said = self._say(normal)
        self.normals.append(normal)
        self.said = np.concatenate([self.said, said[None]])
        self.weights, objective = solve_weights(self.said, self._loss_weight, np.append(self.weights, 0.0))
        for name, value in (("objective", objective), ("violation", float(duals @ said) - 1)):
            self.history[name].append(value)
        self.history["step"].append(float(len(self.normals)))

    def _say(self, normal: F64) -> I8:
        """The value of a hyperplane for each triplet."""
        first, second, third = (self._x @ normal > 0)[self._triplets.T]
        said: I8 = np.subtract(first != third, first != second, dtype=np.int8)
        return said

    def _matrix(self, duals: F64) -> csr_array:
        """The symmetric M with Σ u a = h'Mh for bits h = ±1."""
        first, second, third = self._triplets.T
        n = len(self._x)
        rows, columns = np.concatenate([first, first]), np.concatenate([second, third])
        half = csr_array((np.concatenate([duals, -duals]) / 4, (rows, columns)), shape=(n, n))
        return (half + half.T).tocsr()

    def _search(self, matrix: csr_array, n_starts: int, rng: np.random.RandomState) -> F64:
        """The unit normal with the largest Σ u a that L-BFGS on smoothed signs finds, by the hard signs."""
        x = self._x
        starts = [np.linalg.eigh(x.T @ (matrix @ x))[1][:, -1], *random_directions(rng, n_starts - 1, x.shape[1])]
        best, most = starts[0], -np.inf
        for start in starts:
            deviation = float(np.sqrt(np.square(x @ start).mean()))
            scaled = start * (SHARPNESS / max(deviation, np.finfo(float).tiny))
            options = {"maxiter": SEARCH_STEPS}
            found = minimize(smooth_agreement, scaled, (x, matrix), method="L-BFGS-B", jac=True, options=options).x
            for normal in (found, start):
                signs = np.where(x @ normal > 0, 1.0, -1.0)
                value = float(signs @ (matrix @ signs))
                if value > most and np.isfinite(value) and np.linalg.norm(normal) > 0:
                    best, most = normal, value
        unit: F64 = best / np.linalg.norm(best)
        return unit


def smooth_agreement(normal: F64, x: F64, matrix: csr_array) -> tuple[float, F64]:
    """-s'Ms and its gradient, with s = tanh(x · normal)."""
    soft = np.tanh(x @ normal)
    product = matrix @ soft
    return -float(soft @ product), -2 * (x.T @ (product * (1 - soft**2)))


def solve_weights(said: I8, loss_weight: float, start: F64) -> tuple[F64, float]:
    """Weights ``(b,)`` ≥ 0 that minimise Σ w + loss_weight · Σ [1 - w·a]₊² for columns a ``(b, t)``, and that value."""
    columns = said.astype(np.float64)

    def cost(weights: F64) -> tuple[float, F64]:
        short = np.maximum(1 - weights @ columns, 0)
        return float(weights.sum() + loss_weight * (short @ short)), 1 - 2 * loss_weight * (columns @ short)

    bounds, options = [(0, None)] * len(start), {"maxiter": WEIGHT_STEPS}
    found = minimize(cost, start, method="L-BFGS-B", jac=True, bounds=bounds, options=options)
    return found.x, float(found.fun)


def _unit_mean(weights: F64) -> F64:
    """Weights divided by their mean; ones if all are 0."""
    mean = weights.mean()
    return weights / mean if mean > 0 else np.ones_like(weights)
