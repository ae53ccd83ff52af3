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
from ..._types import F32, I64
from ...similarity import MetricNeighbors
from .learner import JointLearner

N_NEAREST, N_FIRST = 10, 100
"""Recall is that of the 10 nearest among the first 100."""

MAX_PAIRS = 1 << 26
"""Largest number of pairs of a held-out vector and a training point; of more points, a random sample."""

MAX_SCORES = 1 << 26
"""Largest number of scores of the codes of these points, of which there are up to 4 per bit."""

BLOCK_FLOATS = 1 << 21
"""Entries of a block of distances."""

CLEAR_LEAD = 0.01
"""A recall that is higher by this much is higher for other queries as well, mostly."""

NAMES = ("recall of the 10 nearest among 100", "average precision")
"""Names of the two measures."""


@dataclass(frozen=True)
class HeldOut:
    """Held-out points ``queries`` ``(m, d)``, and the training points ``rows`` of a source as the database."""

    queries: F32
    source: MetricNeighbors
    rows: I64

    @classmethod
    def of(cls, queries: F32, source: MetricNeighbors, n_bits: int, rng: np.random.Generator) -> HeldOut:
        """The check of ``queries`` among the points of a source, for codes of ``n_bits`` bits."""
        size = min(max(N_FIRST, MAX_PAIRS // len(queries)), MAX_SCORES // (4 * n_bits), source.n_points)
        return cls(queries, source, np.sort(rng.choice(source.n_points, size, replace=False)))

    def quality(self, *learners: JointLearner) -> F32:
        """Recall and average precision ``(k, 2)`` of the codes of each learner.

        The closest pairs are similar, at the rate of similar pairs in the training set, as a block of queries shows it.
        """
        database, recalls = self.source.vectors[self.rows], np.zeros(len(learners))
        symbols = [(learner.symbols(self.queries), learner.symbols(database)) for learner in learners]
        counts = [np.zeros((2, learner.n_symbols + 1), np.int64) for learner in learners]
        step, radius = max(1, BLOCK_FLOATS // len(self.rows)), None
        for start in range(0, len(self.queries), step):
            block = slice(start, start + step)
            squares = self.source.squares_to(self.queries[block], self.rows)
            radius = self._radius(squares) if radius is None else radius
            nearest = np.argpartition(squares, N_NEAREST, axis=1)[:, :N_NEAREST]
            similar = squares <= radius
            for place, (queries, others) in enumerate(symbols):
                distances = _ranking.symbol_distances(queries[block], others)
                recalls[place] += len(squares) * recall(distances, nearest, min(N_FIRST, len(database)))
                for kind, chosen in enumerate((distances.ravel(), distances[similar])):
                    counts[place][kind] += np.bincount(chosen, minlength=counts[place].shape[1])
        precision = [_ranking.area(*_ranking.curve(*count)) for count in counts]
        return np.stack([recalls / len(self.queries), precision], axis=1).astype(np.float32)

    def _radius(self, squares: F32) -> float:
        n_similar = max(1, round(self.source.similar_rate * squares.size))
        return float(np.partition(squares, n_similar - 1, axis=None)[n_similar - 1])


def take_better(learner: JointLearner, itq: JointLearner, held_out: HeldOut) -> F32:
    """Recall and average precision ``(2, 2)`` of learned codes and of those of ITQ.

    If its recall is not clearly higher, a learner of arity 2 that started from ITQ takes the projections halfway back
    if their recall is higher, and those of ITQ if theirs is the highest.
    """
    quality = held_out.quality(learner, itq)
    if learner.arity != 2 or quality[0, 0] >= quality[1, 0] + CLEAR_LEAD:
        return quality
    halfway = learner.halfway_to(itq)
    between = held_out.quality(halfway)[0]
    if between[0] > quality[0, 0]:
        learner.weights, quality[0] = halfway.weights, between
    if quality[0, 0] < quality[1, 0]:
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
