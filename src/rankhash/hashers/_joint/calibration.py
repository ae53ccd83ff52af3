"""The sharpness of a query's symbols when it is compared with hard codes."""

from __future__ import annotations

import numpy as np

from ... import _ranking
from ..._types import F32, U8, Flags
from .._diagnostics import symbol_shares
from ..base import Arrays
from .batches import Batch
from .labels import SIMILAR
from .model import JointModel

CANDIDATES = 2.0 ** np.arange(-2, 6)
"""Factors of the scores, which are of unit size."""

MAX_QUERIES = 200
"""Largest number of points that serve as queries."""


def calibration(model: JointModel, vectors: F32, points: F32, batch: Batch) -> Arrays:
    """The arrays ``sharpness_`` and ``balance_`` of a hasher, from a batch of its training vectors and points."""
    scores, symbols = model.learner.scores(points[batch.rows]), model.learner.symbols(model.points(vectors[batch.rows]))
    sharpness = np.array([best_sharpness(scores, batch.similarity)], np.float32)
    return {"sharpness_": sharpness, "balance_": symbol_shares(symbols, model.learner.arity)}


def best_sharpness(scores: F32, labels: U8, others: F32 | None = None) -> float:
    """The factor of the scores ``(n, n_symbols, arity)`` whose softmax ranks similar pairs best.

    ``labels`` ``(n, n)`` are SIMILAR, DISSIMILAR or IGNORED. One point of a pair keeps its probabilities, the other
    has a hard code; pairs are ranked by their expected agreement. ``others`` are the scores that give the hard codes,
    for points of another view; None (the default) takes ``scores``.
    """
    coded = scores if others is None else others
    hard = coded == coded.max(axis=2, keepdims=True)
    codes = hard.reshape(len(coded), -1).astype(np.float32)
    step = -(-len(scores) // MAX_QUERIES)
    queries, known = scores[::step], labels[::step]
    used = known <= SIMILAR
    precision = [_precision(queries * np.float32(factor), codes, known, used) for factor in CANDIDATES]
    return float(CANDIDATES[int(np.argmax(precision))])


def _precision(scores: F32, codes: F32, labels: U8, used: Flags) -> float:
    probabilities = np.exp(scores - scores.max(axis=2, keepdims=True))
    probabilities /= probabilities.sum(axis=2, keepdims=True)
    agreement = probabilities.reshape(len(scores), -1) @ codes.T
    return _ranking.average_precision(-agreement[used], labels[used] == SIMILAR)
