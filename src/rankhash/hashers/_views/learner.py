"""Learning the rank functions of all views together: soft codes of different views of similar items should agree.

::

    learn:          rows of a batch ─▶ points of every view + noise ─▶ SoftCodes, one below another ─▶ agreement of rows
                    objective.slopes, only across views ─▶ gradient of every view's projections ─▶ Adam per view
    learn_classes:  rows of a batch ─▶ leave-one-out points of every view ─▶ SoftCodes per view
                    regression_gradients towards the posteriors ─▶ the same
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..._types import F32, U8
from .._history import Records
from .._joint.learner import JointLearner
from .._joint.objectives import PairObjective
from .._joint.regression import regression_gradients
from .._joint.schedule import Schedule
from .._joint.soft_codes import SoftCodes, with_constant
from ..base import History
from ..training import sample_rows
from .batches import ViewSampler

RECORD = ("step", "value", "sharpness")
"""Names of a record's numbers."""


class ViewLearner:
    """One `JointLearner` per view, whose soft codes are compared across views; ``rates`` are factors of the rate."""

    def __init__(self, learners: list[JointLearner], rates: list[float]) -> None:
        self.learners, self.rates = learners, rates

    def learn(
        self,
        points: list[F32],
        sampler: ViewSampler,
        objective: PairObjective,
        schedule: Schedule,
        rng: np.random.Generator,
        callback: Callable[[dict[str, float]], object] | None,
        advance: Callable[[float], object],
    ) -> History:
        """The course of learning on points ``(n, d)`` of every view.

        ``callback`` is called with every record, ``advance`` with the objective of every step.
        """
        records = Records(RECORD, schedule.n_steps, callback)
        for step in range(schedule.n_steps):
            batch = sampler.draw()
            parts = [_noisy(with_constant(x[batch.rows]), schedule.noise, rng) for x in points]
            value = self._step(parts, batch.labels, objective, schedule, step)
            if records.is_due(step):
                records.add(step, value, schedule.sharpness_at(step))
            advance(value)
        return records.history

    def learn_classes(
        self,
        points: list[F32],
        posteriors: list[F32],
        batch_size: int,
        schedule: Schedule,
        rng: np.random.Generator,
        callback: Callable[[dict[str, float]], object] | None,
        advance: Callable[[float], object],
    ) -> History:
        """The course of learning on points ``(n, k)`` and class probabilities ``(n, n_classes)`` of every view."""
        records = Records(RECORD, schedule.n_steps, callback)
        for step in range(schedule.n_steps):
            rows, sharpness = sample_rows(rng, len(points[0]), batch_size), schedule.sharpness_at(step)
            parts = [_noisy(with_constant(x[rows]), schedule.noise, rng) for x in points]
            codes = [
                SoftCodes.of(x @ learner.weights.T, learner.n_symbols, learner.arity, sharpness)
                for x, learner in zip(parts, self.learners, strict=True)
            ]
            value, by_scores = regression_gradients(codes, [p[rows] for p in posteriors])
            self._move([gradient.T @ x for gradient, x in zip(by_scores, parts, strict=True)], schedule, step)
            if records.is_due(step):
                records.add(step, value, sharpness)
            advance(value)
        return records.history

    def _step(self, parts: list[F32], labels: U8, objective: PairObjective, schedule: Schedule, step: int) -> float:
        """Take a step of ascent in every view; the objective before it."""
        value, gradients = self.gradients(parts, labels, objective, schedule, step)
        self._move(gradients, schedule, step)
        return value

    def _move(self, gradients: list[F32], schedule: Schedule, step: int) -> None:
        for learner, gradient, factor in zip(self.learners, gradients, self.rates, strict=True):
            learner.weights += learner.adam.step(gradient, factor * schedule.rate_at(step))

    def gradients(
        self, parts: list[F32], labels: U8, objective: PairObjective, schedule: Schedule, step: int
    ) -> tuple[float, list[F32]]:
        """The objective of a batch, and its derivatives by the projections of every view."""
        sharpness, first = schedule.sharpness_at(step), self.learners[0]
        scores = np.concatenate([x @ learner.weights.T for x, learner in zip(parts, self.learners, strict=True)])
        soft = SoftCodes.of(scores, first.n_symbols, first.arity, sharpness)
        value, slopes = objective.slopes(soft.agreement(), labels, schedule.progress(step))
        by_scores = np.split(soft.gradient(slopes), len(parts))
        return value, [gradient.T @ x for gradient, x in zip(by_scores, parts, strict=True)]


def _noisy(points: F32, noise: float, rng: np.random.Generator) -> F32:
    if noise:
        points[:, :-1] += np.float32(noise) * rng.standard_normal(points[:, :-1].shape, np.float32)
    return points
