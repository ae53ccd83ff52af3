"""Boosted similarity-sensitive coding: thresholds of single dimensions, chosen by boosting, each with a weight."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _kernels
from ..codes import CodeLayout
from ..errors import InvalidInputError
from ..similarity import GivenPairs, label_source
from ._base import F32, F64, U8, Arrays, Hasher, Training
from ._kernel import block_rows, some_rows, take_rows
from ._pairs import _scaled
from ._parameters import check_integer, check_number
from ._reduced import neighbors_among

I32 = NDArray[np.int32]

LEAST_ERROR = 1e-6
"""Errors count as at least this much, and as less than a half by as much: weights are finite and positive."""


class BSSC(Hasher):
    """Codes of bits that tell whether single dimensions are above thresholds, and a weight for each.

    A bit calls a pair similar if both vectors are on one side. Bits are chosen one after another like weak classifiers
    of pairs in AdaBoost [1]_: of all dimensions and thresholds the one with the least weighted error; then wrong pairs
    weigh more. ``weights_`` are the logarithms that AdaBoost gives them: pass them to the search for the weighted
    Hamming distance that was learned.

    The pairs come from ``fit(X, y)`` (class labels, also multi-label), from ``fit(X, similarity=...)`` (given
    pairs), or else from the distances of the vectors (``n_neighbors``); see :mod:`rankhash.similarity`.

    Parameters
    ----------
    n_symbols
        Bits of a code, 1 to 4096.
    n_pairs
        Pairs to learn from.
    similar_share
        The weight of the similar pairs at the beginning, and their share among those that are drawn.
    n_thresholds
        Candidates in each dimension, at quantiles of the vectors.
    n_neighbors
        Without labels: how many others a vector is similar to on average.
    max_points
        From more vectors than this a sample is learned from; given pairs are never sampled.
    random_state
        An integer for the same pairs in every run, a RandomState, or None.

    Attributes
    ----------
    dimensions_ : ndarray (n_symbols,) of int32
        The dimension of each bit.
    thresholds_ : ndarray (n_symbols,)
        Its threshold: the bit is 1 above it.
    weights_ : ndarray (n_symbols,)
        Its weight in the distance.
    errors_ : ndarray (n_symbols,)
        Its weighted error among the pairs.
    layout_ : CodeLayout
        The layout of the codes: ``n_symbols`` of arity 2.
    n_features_in_, feature_names_in_
        Columns of the vectors that were fitted, and their names if they had any.

    Notes
    -----
    No dimension and threshold are taken twice while there are others.

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
        n_symbols: int = 32,
        *,
        n_pairs: int = 20_000,
        similar_share: float = 0.5,
        n_thresholds: int = 63,
        n_neighbors: int = 50,
        max_points: int = 100_000,
        random_state: Any = None,
    ) -> None:
        self.n_symbols = n_symbols
        self.n_pairs = n_pairs
        self.similar_share = similar_share
        self.n_thresholds = n_thresholds
        self.n_neighbors = n_neighbors
        self.max_points = max_points
        self.random_state = random_state

    def _check_parameters(self) -> None:
        check_integer("n_pairs", self.n_pairs, 2, 10_000_000)
        check_number("similar_share", self.similar_share, 0, 1, open_interval=True)
        check_integer("n_thresholds", self.n_thresholds, 1, 255)
        check_integer("n_neighbors", self.n_neighbors, 1, 2**31 - 1)
        check_integer("max_points", self.max_points, 3, 2**31 - 1)

    def _learn(self, training: Training, rng: np.random.RandomState) -> Arrays:
        data = training.vectors
        if data.n_rows < 2:
            raise InvalidInputError("BSSC learns from pairs, but there is 1 sample: n_samples=1")
        known = label_source(training.y, training.similarity, data.n_rows)
        draws = np.random.default_rng(rng.randint(0, 2**31 - 1, size=4))
        most = data.n_rows if isinstance(known, GivenPairs) else self.max_points
        rows = some_rows(rng, data.n_rows, most)
        x, scale = _scaled(data, rows, data.mean(), None)
        source = neighbors_among(x, self.n_neighbors, draws, scale) if known is None else known.subset(rows)
        source.require_both_kinds("the sample of max_points vectors is too small for so rare classes")
        pairs, similar = source.sample(draws, self.n_pairs, self.similar_share)
        if not 0 < similar.sum() < len(similar):
            raise InvalidInputError(f"n_pairs={self.n_pairs} is too few to draw pairs of both kinds")
        boosting = Boosting(take_rows(data, rows), pairs, similar == 1, self.similar_share, self.n_thresholds)
        chosen = [boosting.choose() for _ in range(self.n_symbols)]
        dimensions, levels, errors = (np.array(column) for column in zip(*chosen, strict=True))
        arrays: Arrays = {"dimensions_": dimensions.astype(np.int32)}
        arrays["thresholds_"] = boosting.thresholds[dimensions, levels]
        return arrays | {"weights_": vote(errors).astype(np.float32), "errors_": errors.astype(np.float32)}

    def _encode_batch(self, batch: F32, n_threads: int) -> tuple[U8, int]:  # noqa: ARG002
        codes = np.empty((len(batch), self.layout_.n_bytes), np.uint8)
        bad = _kernels.first_nonfinite_row(batch)
        step = block_rows(self.layout_.n_symbols)
        for start in range(0, len(batch) if bad < 0 else 0, step):
            bits = batch[start : start + step, self.dimensions_] > self.thresholds_
            codes[start : start + step] = _kernels.pack(bits.astype(np.uint8), 2)
        return codes, bad

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


class Boosting:
    """Weights of pairs, and the best next threshold.

    ``thresholds`` ``(d, n_thresholds)`` ascend. A vector's level in a dimension is how many of them lie below it, so
    that a threshold separates a pair if its number is at least the lower and less than the higher level.
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
        """The dimension, the number of the threshold and the error of the best one; pairs are weighted anew."""
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
    """½ ln((1 - e) / e): the weights that AdaBoost gives to classifiers with these errors."""
    clipped = np.clip(errors, LEAST_ERROR, 0.5 - LEAST_ERROR)
    votes: F64 = np.log((1 - clipped) / clipped) / 2
    return votes
