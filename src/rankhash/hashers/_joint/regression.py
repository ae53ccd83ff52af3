"""Soft codes whose agreement follows the probability that two items share a class, in one view or across views.

::

    posteriors P of view a, Q of view b ─▶ P Qᵀ: probability of a common class ─▶ every row of unit deviation
    soft codes U, V ─▶ U Vᵀ: expected number of equal symbols ─▶ squared difference ─▶ gradients, without n × n arrays
"""

from __future__ import annotations

from itertools import permutations

import numpy as np

from ..._types import F32
from .batches import Batch
from .soft_codes import SoftCodes

SPREAD = 0.3
"""Standard deviation of the wanted agreement along the database of one query: 0.3 n_symbols."""


class ClassRegression:
    """An objective of `JointLearner`: the agreement of two points follows the probability that they share a class."""

    def __init__(self, posteriors: F32) -> None:
        self._posteriors = posteriors

    def gradient(self, soft: SoftCodes, batch: Batch, progress: float) -> tuple[float, F32]:  # noqa: ARG002
        """See ``Objective``."""
        value, gradients = regression_gradients([soft], [self._posteriors[batch.rows]])
        return value, gradients[0]


def regression_gradients(codes: list[SoftCodes], posteriors: list[F32]) -> tuple[float, list[F32]]:
    """Minus half the squared error, and its derivatives by the scores of every view.

    The posteriors ``(m, n_classes)`` of every view are those of the same m items. For an item of view a and all items
    of view b, the wanted agreement is proportional to p·q - mean, with the standard deviation 0.3 n_symbols. Only
    differences from the query's mean count, since only the order of the database matters. A single view is compared
    with itself.
    """
    pulls = [np.zeros_like(soft.values) for soft in codes]
    value = 0.0
    directions = permutations(range(len(codes)), 2) if len(codes) > 1 else [(0, 0)]
    for a, b in directions:
        one, by_query, by_item = _direction(codes[a], codes[b], posteriors[a], posteriors[b])
        value += one
        pulls[a] += by_query
        pulls[b] += by_item
    return value, [soft.score_gradient(pull) for soft, pull in zip(codes, pulls, strict=True)]


def _direction(query: SoftCodes, item: SoftCodes, p: F32, q: F32) -> tuple[float, F32, F32]:
    """Minus half the mean squared error of one direction, per symbol, and its derivatives by the soft codes."""
    m, u = len(p), query.values
    q, v = q - q.mean(axis=0), item.values - item.values.mean(axis=0)
    spread = np.sqrt(np.maximum(np.einsum("ic,cd,id->i", p, q.T @ q, p, optimize=True) / m, np.float32(1e-12)))
    height = np.float32(SPREAD * query.n_symbols * (2 if query.arity == 2 else 1))
    wanted = p * (height / spread)[:, None]
    cross, own, other = q.T @ v, v.T @ v, u.T @ u
    by_query, by_item = wanted @ cross - u @ own, q @ (wanted.T @ u) - v @ other
    error = float(((wanted.T @ wanted) * (q.T @ q)).sum() - 2 * ((wanted.T @ u) * cross).sum() + (other * own).sum())
    norm = np.float32(m * m * query.n_symbols)
    return -error / 2 / float(norm), by_query / norm, by_item / norm
