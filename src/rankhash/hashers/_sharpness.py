"""How sharp the symbols of a query should be when it is compared with hard codes."""

from __future__ import annotations

import numpy as np

from .. import _ranking
from ._base import F32, U8

CHOICES = 2.0 ** np.arange(-2, 6)
"""Factors of the scores, which are of unit size."""

QUERIES = 200
"""Points that are taken as queries."""


def best_sharpness(scores: F32, labels: U8) -> float:
    """The factor of the scores ``(n, n_symbols, arity)`` whose softmax ranks similar pairs best.

    ``labels`` ``(n, n)`` are 1 for similar, 0 for dissimilar pairs; others are left out. One point of a pair keeps
    its probabilities, the other has a hard code.
    """
    hard = scores == scores.max(axis=2, keepdims=True)
    codes = hard.reshape(len(scores), -1).astype(np.float32)
    step = -(-len(scores) // QUERIES)
    asked, known = scores[::step], labels[::step]
    chosen = known <= 1
    found = [_precision(asked * np.float32(factor), codes, known, chosen) for factor in CHOICES]
    return float(CHOICES[int(np.argmax(found))])


def _precision(scores: F32, codes: F32, labels: U8, chosen: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]) -> float:
    shares = np.exp(scores - scores.max(axis=2, keepdims=True))
    shares /= shares.sum(axis=2, keepdims=True)
    agreement = shares.reshape(len(scores), -1) @ codes.T
    return _ranking.average_precision(-agreement[chosen], labels[chosen] == 1)
