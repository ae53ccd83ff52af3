"""Learning all rank functions together, by gradient ascent on an objective of soft codes that become hard.

::

    Grids.draw ─▶ points + noise ─▶ SoftCodes ─▶ agreement ─▶ objective.slopes ─▶ gradient of W ─▶ Adam ─▶ unit rows
         ▲                                                                                                     │
         └───────────────────────── rate falls to 0, sharpness grows, step by step ◀──────────────────────────┘
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from .. import _ranking
from ._base import F32, U8
from ._grids import Grids
from ._objectives import Objective
from ._soft import Adam, SoftCodes

CONSTANT = np.float32(1.3)
"""The coordinate that is appended to points of unit deviation: the weight on it becomes the bias."""

N_NOTES = 25
"""How often the course of learning is noted."""

WATCHED = 700
"""Points whose hard codes are looked at for that."""


@dataclass(frozen=True)
class Course:
    """How learning goes on: steps, rate, noise on the points, and how sharp the soft codes are first and last."""

    n_steps: int
    rate: float
    noise: float
    sharpness: tuple[float, float]
    unit_rows: bool
    first_step: int = 0
    """Steps that were made before."""

    def progress(self, step: int) -> float:
        """From 0 at the first step to 1 after the last one."""
        return (self.first_step + step) / (self.first_step + self.n_steps)

    def sharp(self, step: int) -> float:
        """How sharp soft codes are at a step."""
        low, high = self.sharpness
        return float(low * (high / low) ** self.progress(step))


@dataclass
class History:
    """The course of learning: one entry a note."""

    step: list[int] = field(default_factory=list)
    value: list[float] = field(default_factory=list)
    average_precision: list[float] = field(default_factory=list)
    balance: list[float] = field(default_factory=list)
    sharpness: list[float] = field(default_factory=list)

    def last(self) -> dict[str, float]:
        """The newest entry by name."""
        return {name: entries[-1] for name, entries in vars(self).items()}


class JointLearner:
    """The projections of all functions ``(rows, d + 1)`` and how to improve them.

    For arity 2 there is one row a symbol, whose sign is the symbol; otherwise one for each of its values.
    """

    def __init__(self, weights: F32, n_symbols: int, arity: int) -> None:
        self.weights, self.n_symbols, self.arity = weights, n_symbols, arity
        self.adam = Adam(weights.shape)

    @classmethod
    def random(cls, rng: np.random.Generator, n_symbols: int, arity: int, d: int) -> JointLearner:
        """Random directions to start from."""
        rows = n_symbols if arity == 2 else n_symbols * arity
        weights = rng.standard_normal((rows, d + 1), np.float32)
        return cls(_unit_rows(weights), n_symbols, arity)

    def learn(
        self,
        x: F32,
        grids: Grids,
        objective: Objective,
        course: Course,
        rng: np.random.Generator,
        tell: Callable[[dict[str, float]], object] | None,
        advance: Callable[[], object],
    ) -> History:
        """Go through the course on points ``x`` ``(n, d)``.

        ``tell`` is called with every note, ``advance`` after every step.
        """
        history = History()
        noted = np.unique(np.linspace(0, course.n_steps - 1, N_NOTES).astype(int))
        for step in range(course.n_steps):
            grid = grids.draw()
            points = with_constant(x[grid.rows])
            if course.noise:
                points[:, :-1] += np.float32(course.noise) * rng.standard_normal(points[:, :-1].shape, np.float32)
            sharpness = course.sharp(step)
            value = self._step(points, grid.labels, objective, course, step, sharpness)
            if step in noted:
                self._note(history, step, value, sharpness, points, grid.plain)
                if tell is not None:
                    tell(history.last())
            advance()
        return history

    def _step(
        self, points: F32, labels: U8, objective: Objective, course: Course, step: int, sharpness: float
    ) -> float:
        soft = SoftCodes.of(points @ self.weights.T, self.n_symbols, self.arity, sharpness)
        value, slopes = objective.slopes(soft.agreement(), labels, course.progress(step))
        gradient = soft.gradient(slopes).T @ points
        self.weights += self.adam.step(gradient, course.rate * (1 - course.progress(step)))
        if course.unit_rows:
            self.weights = _unit_rows(self.weights)
        return value

    def _note(self, history: History, step: int, value: float, sharpness: float, points: F32, labels: U8) -> None:
        some = slice(None, None, -(-len(points) // WATCHED))
        symbols, known = self._scores(points[some]).argmax(axis=2).astype(np.uint8), labels[some, some]
        first, second = np.nonzero(np.triu(known <= 1, 1))
        distances = _ranking.pair_distances(symbols, np.stack([first, second], axis=1))
        history.step.append(step)
        history.value.append(value)
        history.average_precision.append(_ranking.average_precision(distances, known[first, second] == 1))
        history.balance.append(float(effective_symbols(balance(symbols, self.arity)).mean()))
        history.sharpness.append(sharpness)

    def scores(self, x: F32) -> F32:
        """The scores ``(n, n_symbols, arity)`` of points ``(n, d)``, as the encoder has them."""
        return self._scores(with_constant(x))

    def _scores(self, points: F32) -> F32:
        scores = (points @ self.weights.T).reshape(len(points), self.n_symbols, -1)
        return np.concatenate([np.zeros_like(scores), scores], axis=2) if self.arity == 2 else scores

    def projections(self) -> tuple[F32, F32]:
        """Projections ``(rows, d)`` and bias ``(rows,)`` of points."""
        return self.weights[:, :-1], self.weights[:, -1] * CONSTANT


def with_constant(points: F32) -> F32:
    """Points with the constant coordinate appended."""
    return np.concatenate([points, np.full((len(points), 1), CONSTANT)], axis=1)


def balance(symbols: U8, arity: int) -> F32:
    """The share of points ``(n_symbols, arity)`` that has each value of each symbol."""
    counts = np.stack([(symbols == value).mean(axis=0) for value in range(arity)], axis=1)
    return counts.astype(np.float32)


def effective_symbols(shares: F32) -> F32:
    """How many values of each symbol are really in use: the exponential of their entropy, 1 to arity."""
    logs = np.log(shares, out=np.zeros_like(shares), where=shares > 0)
    return np.asarray(np.exp(-(shares * logs).sum(axis=1)), np.float32)


def _unit_rows(weights: F32) -> F32:
    lengths = np.sqrt(np.einsum("ij,ij->i", weights, weights))
    unit: F32 = weights / np.maximum(lengths, np.finfo(np.float32).tiny)[:, None]
    return unit
