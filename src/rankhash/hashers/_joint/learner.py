"""Learning all rank functions together, by gradient ascent on an objective of soft codes that become hard.

::

    sampler.draw ─▶ points + noise ─▶ SoftCodes ─▶ agreement ─▶ objective.slopes ─▶ gradient of W ─▶ Adam ─▶ W
         ▲                                                                                               │
         └───────────── the rate falls to 0 and the sharpness grows, step by step ◀──────────────────────┘
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ... import _ranking
from ..._types import F32, U8
from .._diagnostics import effective_symbols, symbol_shares
from .._features.orthogonal import orthonormal_rows
from .._features.rotation import improve_rotation
from .._history import Records
from ..base import History
from ..training import sample_rows
from .batches import Batch, BatchSampler
from .labels import SIMILAR
from .lists import NearestLists
from .objectives import Objective
from .schedule import Schedule
from .soft_codes import CONSTANT_FEATURE, Adam, Noise, SoftCodes, with_constant

MAX_ROTATED, N_ROTATIONS = 20_000, 50
"""Largest number of points that the rotation of ITQ is learned from, and the number of its updates."""

MAX_RECORD_POINTS = 700
"""Largest number of points whose hard codes a record evaluates."""

RECORD = ("step", "value", "average_precision", "balance", "sharpness")
"""Names of a record's numbers."""


class JointLearner:
    """The projections of all functions, ``weights`` ``(rows, d + 1)``, and their optimiser.

    For arity 2 there is one row per symbol, whose sign is the symbol; otherwise one row per value of a symbol.
    """

    def __init__(self, weights: F32, n_symbols: int, arity: int) -> None:
        self.weights, self.n_symbols, self.arity = weights, n_symbols, arity
        self.adam = Adam(weights.shape)

    @classmethod
    def random(cls, rng: np.random.Generator, n_symbols: int, arity: int, d: int) -> JointLearner:
        """A learner with random projections of ``d`` features."""
        rows = n_symbols if arity == 2 else n_symbols * arity
        weights = rng.standard_normal((rows, d + 1), np.float32)
        return cls(_unit_rows(weights), n_symbols, arity)

    @classmethod
    def rotated(cls, rng: np.random.RandomState, n_symbols: int, x: F32) -> JointLearner:
        """A learner of arity 2 with the projections of ITQ; points ``x`` ``(n, d)`` are principal components."""
        kept = x[sample_rows(rng, len(x), MAX_ROTATED), :n_symbols]
        start = orthonormal_rows(rng, n_symbols, n_symbols)[: kept.shape[1]]
        rotation, _ = improve_rotation(kept, start, N_ROTATIONS)
        weights = np.zeros((n_symbols, x.shape[1] + 1), np.float32)
        weights[:, : kept.shape[1]] = rotation.T
        return cls(_unit_rows(weights), n_symbols, 2)

    def copy(self) -> JointLearner:
        """A learner with the same projections and an optimiser of its own."""
        return JointLearner(self.weights.copy(), self.n_symbols, self.arity)

    def halfway_to(self, other: JointLearner) -> JointLearner:
        """A learner whose projections lie between its own and those of another one, from which it started."""
        return JointLearner(_unit_rows(self.weights + other.weights), self.n_symbols, self.arity)

    def learn(
        self,
        x: F32,
        sampler: BatchSampler,
        objective: Objective,
        lists: NearestLists | None,
        schedule: Schedule,
        rng: np.random.Generator,
        callback: Callable[[dict[str, float]], object] | None,
        advance: Callable[[float], object],
    ) -> History:
        """The course of learning on points ``x`` ``(n, d)``.

        ``lists`` None maximises the objective alone. ``callback`` is called with every record, ``advance`` with
        the objective of every step.
        """
        records = Records(RECORD, schedule.n_steps, callback)
        noise = Noise(rng, x.shape[1]) if schedule.noise else None
        for step in range(schedule.n_steps):
            batch = sampler.draw()
            points = with_constant(x[batch.rows])
            if noise is not None:
                points[:, :-1] += np.float32(schedule.noise) * noise.draw(len(points))
            value = self._step(points, batch, objective, lists, schedule, step)
            if records.is_due(step):
                quality = self._quality(points, batch.similarity)
                records.add(step, value, *quality, schedule.sharpness_at(step))
            advance(value)
        return records.history

    def _step(
        self,
        points: F32,
        batch: Batch,
        objective: Objective,
        lists: NearestLists | None,
        schedule: Schedule,
        step: int,
    ) -> float:
        """Take a step of ascent; the objective before it. Objective and lists have the same weight."""
        sharpness = schedule.sharpness_at(step)
        soft = SoftCodes.of(points @ self.weights.T, self.n_symbols, self.arity, sharpness)
        value, by_scores = objective.gradient(soft, batch, schedule.progress(step))
        gradient = by_scores.T @ points
        if lists is not None:
            gradient = _of_unit_norm(gradient) + _of_unit_norm(lists.gradient(self.weights, sharpness))
        self.weights += self.adam.step(gradient, schedule.rate_at(step))
        if schedule.unit_rows:
            self.weights = _unit_rows(self.weights)
        return value

    def _quality(self, points: F32, labels: U8) -> tuple[float, float]:
        """The average precision of hard codes, and the mean effective number of values per symbol."""
        some = slice(None, None, -(-len(points) // MAX_RECORD_POINTS))
        symbols, known = self._scores(points[some]).argmax(axis=2).astype(np.uint8), labels[some, some]
        used = known <= SIMILAR
        precision = _ranking.average_precision(
            _ranking.symbol_distances(symbols, symbols)[used], known[used] == SIMILAR
        )
        return precision, float(effective_symbols(symbol_shares(symbols, self.arity)).mean())

    def scores(self, x: F32) -> F32:
        """The scores ``(n, n_symbols, arity)`` of points ``(n, d)``, as the encoder computes them."""
        return self._scores(with_constant(x))

    def symbols(self, x: F32) -> U8:
        """The symbols ``(n, n_symbols)`` of points ``(n, d)``."""
        symbols: U8 = self.scores(x).argmax(axis=2).astype(np.uint8)
        return symbols

    def _scores(self, points: F32) -> F32:
        scores = (points @ self.weights.T).reshape(len(points), self.n_symbols, -1)
        return np.concatenate([np.zeros_like(scores), scores], axis=2) if self.arity == 2 else scores

    def projections(self) -> tuple[F32, F32]:
        """Projections ``(rows, d)`` and biases ``(rows,)`` of points."""
        return self.weights[:, :-1], self.weights[:, -1] * CONSTANT_FEATURE


def _of_unit_norm(array: F32) -> F32:
    unit: F32 = array / max(np.linalg.norm(array), np.finfo(np.float32).tiny)
    return unit


def _unit_rows(weights: F32) -> F32:
    lengths = np.sqrt(np.einsum("ij,ij->i", weights, weights))
    unit: F32 = weights / np.maximum(lengths, np.finfo(np.float32).tiny)[:, None]
    return unit
