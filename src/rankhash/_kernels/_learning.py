"""Sums over pairs of training points, and refinement of a quantiser's symbols."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .. import _native
from .._types import F32, I32, U8


@dataclass(frozen=True)
class PairTotals:
    """The result of one pass over labelled pairs."""

    bound: float
    """The sum of the pairs' bounds."""
    updates: int
    """Number of pairs that changed the weights."""
    errors: int
    """Number of pairs whose symbols contradicted their label."""


def pad_columns(vectors: F32) -> F32:
    """The vectors with zeros appended up to a multiple of 8 columns, the input of `train_pairs`."""
    missing = -vectors.shape[1] % 8
    return np.ascontiguousarray(np.pad(vectors, ((0, 0), (0, missing))) if missing else vectors)


def train_pairs(
    vectors: F32,
    pairs: I32,
    labels: U8,
    weights: F32,
    lag: F32,
    *,
    hinge: bool,
    rho: float,
    lam: float,
    rate: float,
    rate_step: float,
    age: int,
    rates: F32 | None = None,
) -> PairTotals:
    """Learn one rank function from pairs ``(t, 2)`` in their order; changes ``weights`` and ``lag`` ``(arity, d)``.

    The rival of a pair is the assignment of symbols with the largest score plus loss; the loss is ``rho`` for different
    symbols of a similar pair, ``lam`` for equal symbols of a dissimilar one. Every pair takes a step from the rival to
    the winners, or with ``hinge`` to the best assignment without a loss. The rate of pair t is
    ``rate + t * rate_step``, or ``rates[t]`` if ``rates`` is not None (the default). ``age`` counts the pairs since
    averaging began and is negative before; the mean of the weights since then is ``weights - lag / age``. ``d`` is a
    multiple of 8.
    """
    options = (hinge, rho, lam, rate, rate_step, age)
    return PairTotals(*_native.train_pairs(vectors, pairs, labels, *options, weights, lag, rates))


def pair_gradient(
    scores: F32, pairs: I32, labels: U8, *, hinge: bool, rho: float, lam: float
) -> tuple[F32, PairTotals]:
    """The descent direction ``(n, arity)`` of the scores ``(n, arity)``, summed over all pairs."""
    gradient = np.zeros_like(scores)
    totals = _native.pair_gradient(scores, pairs, labels, hinge, rho, lam, gradient)
    return gradient, PairTotals(*totals)


def pair_histograms(
    agreement: F32, labels: U8, top: float, n_bins: int, n_threads: int, n_kinds: int = 2
) -> NDArray[np.float64]:
    """Histograms ``(n_kinds, n_bins)`` of the agreement ``(n, n)`` of pairs i < j, from 0 to ``top``, by label.

    ``labels`` ``(n, n)`` are 0 to ``n_kinds - 1`` (2 kinds by default); pairs with other labels are ignored. A pair is
    divided linearly between its two nearest bins, so that the histograms are continuous in the agreement.
    """
    histograms = np.empty((n_kinds, n_bins))
    _native.pair_histograms(agreement, labels, top, n_threads, histograms)
    return histograms


def pair_slopes(agreement: F32, labels: U8, top: float, tables: F32, n_threads: int) -> F32:
    """The entry of ``tables`` for each pair's label and the bin below its agreement; 0 for ignored pairs.

    ``tables`` ``(n_kinds, n_bins)`` has one row per label. The result overwrites the agreement ``(n, n)``.
    """
    _native.pair_slopes(agreement, labels, top, tables, n_threads)
    return agreement


def refine(
    costs: F32,
    products: F32,
    crossing: F32,
    penalty: float,
    symbols: U8,
    *,
    n_sweeps: int,
    n_kicks: int,
    n_threads: int,
) -> None:
    """Improve ``symbols`` ``(n, n_symbols)`` of an additive quantiser in place, by iterated local search.

    The loss is |x - Σ c|² + penalty · (Σ products - Σ crossing)². The first and third sums are over the rows that the
    symbols choose, the second over all pairs of them. ``costs`` ``(n, rows)`` are |c|² - 2 x·c for each row c of the
    decoder, ``products`` ``(rows, rows)`` 2 c·c', and 0 for rows of the same symbol; ``crossing`` is ``(rows,)``.

    A descent sets one symbol after another to its best value, for at most ``n_sweeps`` sweeps. Then ``n_kicks`` times
    some symbols are changed at random, followed by another descent; the better result is kept.
    """
    arity = costs.shape[1] // symbols.shape[1]
    _native.refine(costs, products, crossing, penalty, arity, n_sweeps, n_kicks, n_threads, symbols)
