"""The check of JRSH on held-out vectors: learned codes compared with the codes of ITQ of the same size.

::

    held-out vectors ─▶ their 10 nearest training vectors   ─▶ how many are among the first 100 by each kind of codes
                     ─▶ the closest pairs of the two kinds  ─▶ average precision of each kind of codes
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ... import _ranking
from ..._types import F32, I64, U8, Flags
from ...similarity import MetricNeighbors
from .learner import JointLearner

N_NEAREST, N_FIRST = 10, 100
"""Recall is that of the 10 nearest among the first 100."""

MAX_DATABASE = 20_000
"""Largest number of training points that held-out vectors are compared with."""

MAX_SCORES = 1 << 26
"""Largest number of scores of the codes of these points, of which there are up to 4 per bit."""

NAMES = ("recall of the 10 nearest among 100", "average precision")
"""Names of the two measures."""


@dataclass(frozen=True)
class HeldOut:
    """Held-out points as queries, a sample of the training points as the database, and the true neighbours.

    Attributes
    ----------
    queries, database : ndarray (m, d), (n, d)
        The two kinds of points.
    nearest : ndarray (m, 10)
        Rows of ``database`` that are nearest to each query.
    similar : ndarray (m, n)
        Whether two points are one of the closest pairs, at the rate of similar pairs in the training set.
    """

    queries: F32
    database: F32
    nearest: I64
    similar: Flags

    @classmethod
    def of(cls, queries: F32, source: MetricNeighbors, n_bits: int, rng: np.random.Generator) -> HeldOut:
        """The check of ``queries`` ``(m, d)`` among the points of a source, for codes of ``n_bits`` bits."""
        size = min(MAX_DATABASE, MAX_SCORES // (4 * n_bits), source.n_points)
        rows = np.sort(rng.choice(source.n_points, size, replace=False))
        squares = source.squares_to(queries, rows)
        nearest = np.argpartition(squares, N_NEAREST, axis=1)[:, :N_NEAREST]
        n_similar = max(1, round(source.similar_rate * squares.size))
        radius = np.partition(squares, n_similar - 1, axis=None)[n_similar - 1]
        return cls(queries, source.vectors[rows], nearest, squares <= radius)

    def quality(self, queries: U8, database: U8) -> F32:
        """Recall and average precision of the symbols ``(m, n_symbols)`` and ``(n, n_symbols)`` of the two kinds."""
        distances = _ranking.symbol_distances(queries, database)
        found = recall(distances, self.nearest, min(N_FIRST, len(database)))
        return np.array([found, _ranking.average_precision(distances, self.similar)], np.float32)


def take_better(learner: JointLearner, itq: JointLearner, held_out: HeldOut) -> F32:
    """Recall and average precision ``(2, 2)`` of learned codes and of those of ITQ.

    A learner of arity 2 takes the projections of ITQ if its own recall is lower.
    """
    kinds = held_out.queries, held_out.database
    quality = np.stack([held_out.quality(*(codes.symbols(points) for points in kinds)) for codes in (learner, itq)])
    if learner.arity == 2 and quality[0, 0] < quality[1, 0]:
        learner.weights = itq.weights
    return quality


def check_lines(quality: F32, arity: int) -> list[str]:
    """The result of a check as lines of a report."""
    lines = [f"held-out vectors: {NAMES[0]}, {NAMES[1]}"]
    lines += [f"{name:>8}  {row[0]:9.3f}  {row[1]:9.3f}" for name, row in zip(("learned", "ITQ"), quality, strict=True)]
    if quality[0, 0] >= quality[1, 0]:
        return lines
    better = "the codes are those of ITQ" if arity == 2 else "ITQ of as many bits is better: take arity 2"
    return [*lines, better]


def recall(distances: NDArray[np.int64], nearest: I64, n_first: int) -> float:
    """The expected fraction of ``nearest`` ``(m, k)`` among the ``n_first`` first of each row, ties in any order.

    >>> recall(np.array([[0, 1, 1, 2]]), np.array([[0, 1]]), 2)
    0.75
    """
    last = np.partition(distances, n_first - 1, axis=1)[:, n_first - 1 : n_first]
    places = (n_first - (distances < last).sum(axis=1)) / (distances == last).sum(axis=1)
    found = np.take_along_axis(distances, nearest, axis=1)
    return float(((found < last) + (found == last) * places[:, None]).mean())
