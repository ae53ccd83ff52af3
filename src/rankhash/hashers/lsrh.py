"""Linear subspace ranking hashing: rank functions for two views, learned one after another by boosting.

::

    views ─▶ centred rows of unit length ─▶ for every symbol: learn_function on mini-batches ─▶ θ, weights of the pairs
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from .._checks import check_integer, check_number
from .._types import F32, I8, I64
from ..codes import CodeLayout
from ._views.projections import ViewProjections
from ._views.training import ViewTraining, labels_across
from .base import Arrays
from .training import center_and_scale, new_generator, sample_rows
from .views import ViewHasher

GROWTH, SHRINKAGE = 1.05, 0.5
"""Factors of the rate after a step that lowered the error, and after one that did not."""

RESET = 4
"""The weights of pairs are reset at every fourth symbol."""

MIN_ERROR = 1e-3
"""Errors are clipped to [0.001, 0.999] before θ = ln((1 - ε) / ε)."""

MIN_WEIGHT = 1e-3
"""Lower limit of the weight of a symbol: functions that err in half of the pairs have θ = 0."""


class LSRH(ViewHasher):
    """Codes of two views whose symbols are argmaxes of projections, learned symbol by symbol by boosting.

    For items x of one view and z of the other [1]_, p = softmax(β Wx x) and q = softmax(β Wz z) are soft symbols. A
    pair of functions minimises the weighted error ε = Σ a (s (1 - p·q) + λ (1 - s) p·q) / (|S| + λ |D|) over all pairs
    across the views, |S| of which are similar (s = 1) and |D| dissimilar (s = 0). Weights a of the pairs are multiplied
    by exp(θ |p·q - s|) after every function, with θ = ln((1 - ε) / ε), and are reset at every fourth one. The method
    follows descriptions of the article and published code. The acceptance of steps is an addition: a step is taken only
    if it lowers the error on its mini-batch.

    Parameters
    ----------
    n_symbols
        Symbols per code, 1 to 4096; None by default.
    arity
        Projections per symbol, 2 to 16; 4 by default.
    n_bits, n_bytes
        The size of a code in bits or bytes instead; None by default. Without any of the three, a code has 64 bits.
    beta
        Sharpness β of the soft symbols, 8 by default.
    lam
        Weight λ of dissimilar pairs that agree, 1 by default; similar pairs that differ have the weight 1.
    n_steps
        Steps of gradient descent per symbol, 200 by default.
    batch_size
        Items per mini-batch, 500 by default.
    rate
        First step of the descent, 100 by default. It grows by 1.05 with every step that lowers the error and is halved
        otherwise.
    max_points
        Largest number of items to learn from, 4000 by default; of more, a random sample. Memory grows with its square.
    random_state
        An integer for the same codes in every run, a RandomState, or None (the default).

    Attributes
    ----------
    weights_ : ndarray (n_symbols,)
        The weight θ of every symbol, at least 0.001, for searches with weighted distances.
    projections_, center_
        A symbol is the argmax of ``projections_ · (x - center_)`` over its rows; the columns of both views stand side
        by side, as ``widths_`` says. For arity 2 there is one row per symbol, which is 1 if the value is positive.
    history_ : dict of lists
        ``step`` and the weighted ``error`` ε of every function. It is not saved.
    layout_, views_, n_features_, n_features_in_
        As for every hasher of several views.

    References
    ----------
    .. [1] K. Li, G.-J. Qi, J. Ye, K. A. Hua, Linear subspace ranking hashing for cross-modal retrieval, TPAMI 39(9),
       2017.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> y, pictures, texts = rng.integers(0, 3, 300), rng.normal(size=(3, 8)), rng.normal(size=(3, 5))
    >>> X, Z = pictures[y] + rng.normal(size=(300, 8)) / 2, texts[y] + rng.normal(size=(300, 5)) / 2
    >>> hasher = LSRH(8, random_state=0).fit((X, Z), y)
    >>> hasher.encode(X, view=0).shape, hasher.encode(Z, view=1).shape, hasher.weights_.shape
    ((300, 2), (300, 2), (8,))
    """

    weights_: F32
    _side_arrays: ClassVar[tuple[str, ...]] = ("names_", "weights_")
    _max_views: ClassVar[int] = 2

    def __init__(
        self,
        n_symbols: int | None = None,
        arity: int = 4,
        *,
        n_bits: int | None = None,
        n_bytes: int | None = None,
        beta: float = 8.0,
        lam: float = 1.0,
        n_steps: int = 200,
        batch_size: int = 500,
        rate: float = 100.0,
        max_points: int = 4000,
        random_state: Any = None,
    ) -> None:
        self.n_symbols = n_symbols
        self.arity = arity
        self.n_bits = n_bits
        self.n_bytes = n_bytes
        self.beta = beta
        self.lam = lam
        self.n_steps = n_steps
        self.batch_size = batch_size
        self.rate = rate
        self.max_points = max_points
        self.random_state = random_state

    def _check_parameters(self) -> None:
        check_number("beta", self.beta, 1e-3, 1e3)
        check_number("lam", self.lam, 1e-3, 1e3)
        check_integer("n_steps", self.n_steps, 1, 1_000_000)
        check_integer("batch_size", self.batch_size, 2, 20_000)
        check_number("rate", self.rate, 1e-6, 1e9)
        check_integer("max_points", self.max_points, 2, 20_000)

    def _learn_views(self, training: ViewTraining, rng: np.random.RandomState) -> tuple[list[ViewProjections], Arrays]:
        source = training.item_pairs()
        rows = sample_rows(rng, training.n_items, self.max_points)
        draws, centers = new_generator(rng), [view.mean() for view in training.views]
        points = [
            unit_rows(center_and_scale(view, rows, center)[0])
            for view, center in zip(training.views, centers, strict=True)
        ]
        n_symbols, options = self._n_symbols, DescentSettings(self.beta, self.rate)
        boosting = ViewBoosting(labels_across(source, rows), self.lam)
        functions, weights = [], []
        for symbol in range(n_symbols):
            boosting.start(symbol)
            first = [_gaussian(draws, self.arity, x.shape[1]) for x in points]
            chosen = mini_batches(draws, len(rows), self.n_steps, self.batch_size)
            functions.append(learn_function(points, boosting.costs, chosen, first, options))
            x, z = (soft_symbols(part, w, self.beta) for part, w in zip(points, functions[-1], strict=True))
            weights.append(boosting.advance(x, z))
        self.history_ = {"step": list(range(n_symbols)), "error": boosting.errors}
        views = [
            ViewProjections(_rows([function[place] for function in functions]), centers[place], view.n_features)
            for place, view in enumerate(training.views)
        ]
        return views, {"weights_": np.maximum(np.array(weights, np.float32), np.float32(MIN_WEIGHT))}

    def _fits(self, arrays: Arrays, layout: CodeLayout, n_features: int) -> bool:
        weights = arrays.get("weights_", np.empty(0))
        return (
            weights.shape == (layout.n_symbols,)
            and weights.dtype == np.float32
            and bool(np.isfinite(weights).all() and (weights > 0).all())
            and super()._fits(arrays, layout, n_features)
        )


@dataclass(frozen=True)
class DescentSettings:
    """Sharpness of soft symbols and the first rate of a descent."""

    beta: float
    rate: float


class ViewBoosting:
    """The weights of all pairs across two views, and the cost of each pair's agreement.

    ``labels`` ``(n, n)`` are 1 for similar, 0 for dissimilar and -1 for unknown pairs, which do not count.
    """

    def __init__(self, labels: I8, lam: float) -> None:
        self._similar = labels == 1
        self._signs = np.select([self._similar, labels == 0], [np.float32(-1), np.float32(lam)], np.float32(0))
        self._n_known = float((labels >= 0).sum())
        self._norm = lam * float((labels == 0).sum()) + float(self._similar.sum())
        self.weights: F32 = (labels >= 0).astype(np.float32)
        self._first = self.weights.copy()
        self.costs: F32 = self._signs.copy()
        """The cost of the agreement of each pair: -a for similar pairs, λa for dissimilar ones."""
        self.errors: list[float] = []

    def start(self, symbol: int) -> None:
        """Prepare for a function; every fourth one starts with equal weights."""
        if symbol % RESET == 0:
            self.weights = self._first.copy()
        np.multiply(self.weights, self._signs, out=self.costs)

    def advance(self, p: F32, q: F32) -> float:
        """θ of a function with the soft symbols ``p`` and ``q`` ``(n, arity)``; the weights follow its errors."""
        agreement = p @ q.T
        missed = float(self.weights[self._similar].sum(dtype=np.float64))
        error = (missed + float(np.einsum("ij,ij->", self.costs, agreement, dtype=np.float64))) / self._norm
        self.errors.append(error)
        clipped = float(np.clip(error, MIN_ERROR, 1 - MIN_ERROR))
        theta = float(np.log((1 - clipped) / clipped))
        agreement -= self._similar
        np.abs(agreement, out=agreement)
        agreement *= np.float32(theta)
        self.weights *= np.exp(agreement, out=agreement)
        self.weights *= np.float32(self._n_known / self.weights.sum(dtype=np.float64))
        return theta


def learn_function(
    points: list[F32], costs: F32, chosen: Iterator[I64], start: list[F32], options: DescentSettings
) -> list[F32]:
    """The projections ``(arity, d)`` of both views after one step of descent per mini-batch of items.

    ``costs`` ``(n, n)`` are the costs of the agreement of each pair across the views.
    """
    weights, rate = start, options.rate
    for rows in chosen:
        batch, part = [x[rows] for x in points], costs[np.ix_(rows, rows)]
        error, gradients = error_and_gradients(batch, weights, part, options.beta)
        moved = [w - np.float32(rate) * slope for w, slope in zip(weights, gradients, strict=True)]
        p, q = (soft_symbols(x, w, options.beta) for x, w in zip(batch, moved, strict=True))
        if float(np.einsum("ik,ik->", p, part @ q)) / part.size < error:
            weights, rate = moved, rate * GROWTH
        else:
            rate *= SHRINKAGE
    return weights


def error_and_gradients(batch: list[F32], weights: list[F32], costs: F32, beta: float) -> tuple[float, list[F32]]:
    """The mean cost of the agreement of all pairs of a mini-batch, and its derivatives by both projections."""
    p, q = (soft_symbols(x, w, beta) for x, w in zip(batch, weights, strict=True))
    by_p, by_q = costs @ q, costs.T @ p
    error = float(np.einsum("ik,ik->", p, by_p)) / costs.size
    gradients = []
    for soft, slope, x in ((p, by_p, batch[0]), (q, by_q, batch[1])):
        slope -= np.einsum("ik,ik->i", soft, slope)[:, None]
        slope *= soft
        gradients.append((slope.T @ x) * np.float32(beta / costs.size))
    return error, gradients


def mini_batches(rng: np.random.Generator, n: int, n_steps: int, size: int) -> Iterator[I64]:
    """``n_steps`` random choices of ``size`` of ``n`` items, all of them if there are no more."""
    for _ in range(n_steps):
        yield np.arange(n) if n <= size else rng.choice(n, size, replace=False, shuffle=False)


def soft_symbols(x: F32, weights: F32, beta: float) -> F32:
    """softmax(β W x) ``(n, arity)`` of points ``(n, d)``."""
    scores: F32 = (x @ weights.T) * np.float32(beta)
    scores -= scores.max(axis=1, keepdims=True)
    np.exp(scores, out=scores)
    scores /= scores.sum(axis=1, keepdims=True)
    return scores


def unit_rows(points: F32) -> F32:
    """Points of length 1; those at the centre stay there."""
    lengths = np.sqrt(np.einsum("ij,ij->i", points, points))
    points /= np.where(lengths > 0, lengths, np.float32(1))[:, None]
    return points


def _gaussian(rng: np.random.Generator, arity: int, d: int) -> F32:
    return unit_rows(rng.standard_normal((arity, d), np.float32))


def _rows(functions: list[F32]) -> F32:
    """The rows of all functions; for arity 2 the difference of the two rows of each."""
    if len(functions[0]) == 2:
        return np.stack([pair[1] - pair[0] for pair in functions])
    return np.concatenate(functions)
