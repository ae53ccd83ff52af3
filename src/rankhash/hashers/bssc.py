"""Boosted similarity-sensitive coding: thresholds of single dimensions, selected and weighted by boosting."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._checks import check_integer, check_number
from .._types import F32, F64, I32, U8
from ..codes import CodeLayout
from ..errors import InvalidInputError
from ._blocks import block_rows
from .base import Arrays, Hasher
from .training import Training, labelled_points, new_generator, take_rows

MIN_ERROR = 1e-6
"""Errors are clipped to [1e-6, 0.5 - 1e-6], so that weights are finite and positive."""


class BSSC(Hasher):
    """Binary codes: whether single dimensions are above thresholds, with a weight per bit.

    A bit classifies a pair as similar if both vectors are on the same side. Bits are selected one after another as weak
    classifiers of AdaBoost [1]_: the dimension and threshold with the smallest weighted error; then the weights of
    misclassified pairs grow. Pass ``weights_``, the weights of AdaBoost, to a search for the weighted Hamming distance
    that was learned.

    The pairs come from ``fit(X, y)`` (class labels, also multi-label), from ``fit(X, similarity=...)`` (given
    pairs), or else from the distances of the vectors (``n_neighbors``).

    Parameters
    ----------
    n_symbols, n_bits, n_bytes
        The size of a code, 1 to 4096 bits, in symbols, bits or bytes; 64 bits if all are None (the default).
    n_pairs
        Number of pairs to learn from, 20 000 by default.
    similar_share
        Fraction of similar pairs among those that are drawn, and their initial weight; 0.5 by default.
    n_thresholds
        Candidate thresholds per dimension, at quantiles of the vectors; 63 by default.
    n_neighbors
        Without labels: mean number of vectors that a vector is similar to, 50 by default.
    max_points
        Largest number of vectors to learn from, 100 000 by default, drawn at random; given pairs are never sampled.
    random_state
        An integer for the same codes in every run, a RandomState, or None (the default).

    Attributes
    ----------
    dimensions_ : ndarray (n_symbols,) of int32
        The dimension of each bit.
    thresholds_ : ndarray (n_symbols,)
        The threshold of each bit, which is 1 above it.
    weights_ : ndarray (n_symbols,)
        The weight of each bit in the distance.
    errors_ : ndarray (n_symbols,)
        The weighted error of each bit among the pairs.
    layout_, n_features_in_, feature_names_in_
        As for every hasher; codes have arity 2.

    Notes
    -----
    A pair of dimension and threshold is selected again only after all others were selected.

    References
    ----------
    .. [1] G. Shakhnarovich, Learning task-specific similarity, PhD thesis, MIT 2005.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> hasher = BSSC(16, random_state=0).fit(X, y)
    >>> hasher.transform(X).shape, hasher.weights_.shape
    ((1797, 16), (16,))
    """

    dimensions_: I32
    thresholds_: F32
    weights_: F32
    errors_: F32

    _code_arrays = ("dimensions_", "thresholds_")
    _side_arrays = ("weights_", "errors_")

    def __init__(
        self,
        n_symbols: int | None = None,
        *,
        n_bits: int | None = None,
        n_bytes: int | None = None,
        n_pairs: int = 20_000,
        similar_share: float = 0.5,
        n_thresholds: int = 63,
        n_neighbors: int = 50,
        max_points: int = 100_000,
        random_state: Any = None,
    ) -> None:
        super().__init__(n_symbols, n_bits=n_bits, n_bytes=n_bytes, random_state=random_state)
        self.n_pairs = n_pairs
        self.similar_share = similar_share
        self.n_thresholds = n_thresholds
        self.n_neighbors = n_neighbors
        self.max_points = max_points

    def _check_parameters(self) -> None:
        check_integer("n_pairs", self.n_pairs, 2, 10_000_000)
        check_number("similar_share", self.similar_share, 0, 1, open_interval=True)
        check_integer("n_thresholds", self.n_thresholds, 1, 255)
        check_integer("n_neighbors", self.n_neighbors, 1, 2**31 - 1)
        check_integer("max_points", self.max_points, 3, 2**31 - 1)

    def _learn(self, training: Training, rng: np.random.RandomState) -> Arrays:
        draws = new_generator(rng)
        points = labelled_points(training, "BSSC", draws, self.max_points, self.n_neighbors)
        pairs, similar = points.source.sample(draws, self.n_pairs, self.similar_share)
        if not 0 < similar.sum() < len(similar):
            raise InvalidInputError(f"n_pairs={self.n_pairs} is too few to draw pairs of both kinds")
        boosting = ThresholdBoosting(
            take_rows(training.vectors, points.rows), pairs, similar == 1, self.similar_share, self.n_thresholds
        )
        chosen = [boosting.choose() for _ in range(self._n_symbols)]
        dimensions, levels, errors = (np.array(column) for column in zip(*chosen, strict=True))
        arrays: Arrays = {"dimensions_": dimensions.astype(np.int32)}
        arrays["thresholds_"] = boosting.thresholds[dimensions, levels]
        return arrays | {"weights_": vote(errors).astype(np.float32), "errors_": errors.clip(0, 1).astype(np.float32)}

    def _encode_batch(self, batch: F32, n_threads: int) -> tuple[U8, int]:  # noqa: ARG002
        step = block_rows(self.layout_.n_symbols)
        return self._encode_blocks(batch, step, lambda block: block[:, self.dimensions_] > self.thresholds_)

    def _scores(self, vectors: F32) -> F64:
        above = vectors[:, self.dimensions_].astype(np.float64) - self.thresholds_
        return np.stack([np.zeros_like(above), above], axis=2)

    def _fits(self, arrays: Arrays, layout: CodeLayout, n_features: int) -> bool:
        if arrays.keys() != {*self._code_arrays, *self._side_arrays}:
            return False
        dimensions, floats = arrays["dimensions_"], [arrays[n] for n in ("thresholds_", "weights_", "errors_")]
        return (
            layout.arity == 2
            and dimensions.dtype == np.int32
            and all(a.dtype == np.float32 and np.isfinite(a).all() for a in floats)
            and all(array.shape == (layout.n_symbols,) for array in arrays.values())
            and bool(dimensions.min() >= 0 and dimensions.max() < n_features)
            and bool((arrays["weights_"] > 0).all())
            and bool(((arrays["errors_"] >= 0) & (arrays["errors_"] <= 1)).all())
        )


class ThresholdBoosting:
    """The weights of the pairs, and the selection of the next threshold.

    ``thresholds`` ``(d, n_thresholds)`` ascend. The level of a vector in a dimension is the number of thresholds below
    it: threshold number t separates a pair if lower level ≤ t < higher level.
    """

    def __init__(self, x: F32, pairs: I32, similar: NDArray[np.bool_], share: float, n_thresholds: int) -> None:
        places = np.arange(1, n_thresholds + 1) / (n_thresholds + 1)
        self.thresholds: F32 = np.quantile(x, places, axis=0, method="lower").T.astype(np.float32)
        self.candidates = np.ones(self.thresholds.shape, bool)
        self.candidates[:, 1:] = self.thresholds[:, 1:] > self.thresholds[:, :-1]
        levels = np.empty((x.shape[1], 2, len(pairs)), np.uint8)
        for dimension, edges in enumerate(self.thresholds):
            levels[dimension] = np.searchsorted(edges, x[:, dimension], side="left")[pairs.T]
        self._low, self._high = levels.min(axis=1), levels.max(axis=1)
        self._similar = similar
        self.pair_weights = np.where(similar, share / similar.sum(), (1 - share) / (~similar).sum())
        self._taken = ~self.candidates

    def errors(self) -> F64:
        """The weighted error ``(d, n_thresholds)`` of every dimension and threshold."""
        cost = np.where(self._similar, self.pair_weights, -self.pair_weights)
        size = self.thresholds.shape[1] + 1
        steps = np.empty((len(self.thresholds), size))
        for dimension, (low, high) in enumerate(zip(self._low, self._high, strict=True)):
            steps[dimension] = np.bincount(low, cost, size) - np.bincount(high, cost, size)
        errors: F64 = self.pair_weights[~self._similar].sum() + np.cumsum(steps[:, :-1], axis=1)
        return errors

    def choose(self) -> tuple[int, int, float]:
        """The best dimension, the number of its threshold and its error; updates the weights of the pairs."""
        if self._taken.all():
            self._taken = ~self.candidates
        errors = np.where(self._taken, np.inf, self.errors())
        dimension, level = np.unravel_index(int(errors.argmin()), errors.shape)
        error = float(errors[dimension, level])
        self._taken[dimension, level] = True
        together = (self._low[dimension] > level) | (self._high[dimension] <= level)
        right = together == self._similar
        weight = float(vote(np.array(error)))
        self.pair_weights = self.pair_weights * np.exp(np.where(right, -weight, weight))
        self.pair_weights /= self.pair_weights.sum()
        return int(dimension), int(level), error


def vote(errors: F64) -> F64:
    """½ ln((1 - e) / e): AdaBoost's weights of classifiers with the errors e."""
    clipped = np.clip(errors, MIN_ERROR, 0.5 - MIN_ERROR)
    votes: F64 = np.log((1 - clipped) / clipped) / 2
    return votes
