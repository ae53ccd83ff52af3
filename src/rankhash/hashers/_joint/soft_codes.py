"""Soft codes, whose expected agreement is differentiable, and the optimiser of the projections.

::

    x ─▶ scores = x Wᵀ ─▶ p = softmax(sharpness · scores) per symbol ─▶ agreement of two points = Σ p·p'
    gradient with respect to the agreement ─▶ to the soft codes ─▶ to the scores ─▶ to W ─▶ Adam
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..._types import F32

DECAY, SQUARE_DECAY = np.float32(0.9), np.float32(0.99)
"""Decay rates of Adam's first and second moments, β₁ and β₂."""

TINY = np.float32(1e-20)
"""Adam's ε."""

CONSTANT_FEATURE = np.float32(1.3)
"""Appended to points of unit standard deviation; its weight, multiplied by it, is the bias."""


NOISE_ROWS = 4096
"""Number of different rows of noise."""


@dataclass(frozen=True)
class SoftCodes:
    """Probabilities of the symbols of each point, in a form whose inner products give the agreement.

    For arity 2 there is one score per symbol; ``values`` is v = tanh(sharpness · score), and the agreement of two
    points is (n_symbols + v·v') / 2. Otherwise ``values`` are the probabilities, and the agreement is their inner
    product.

    >>> scores = np.float32([[2, -2, 0], [2, 2, 0]])
    >>> SoftCodes.of(scores, 3, 2, 10.0).agreement().round(3).tolist()
    [[2.5, 1.5], [1.5, 2.5]]
    """

    values: F32
    n_symbols: int
    arity: int
    sharpness: float

    @classmethod
    def of(cls, scores: F32, n_symbols: int, arity: int, sharpness: float) -> SoftCodes:
        """The soft codes of scores: ``(n, n_symbols)`` for arity 2, else ``(n, n_symbols * arity)``."""
        values = scores * np.float32(sharpness)
        if arity == 2:
            np.tanh(values, out=values)
        else:
            each = values.reshape(len(scores), n_symbols, arity)
            each -= each.max(axis=2, keepdims=True)
            np.exp(each, out=each)
            each /= each.sum(axis=2, keepdims=True)
        return cls(values, n_symbols, arity, sharpness)

    def agreement(self) -> F32:
        """The expected number of equal symbols of each pair of points, ``(n, n)``."""
        products: F32 = self.values @ self.values.T
        if self.arity == 2:
            products += np.float32(self.n_symbols)
            products *= np.float32(0.5)
        return products

    def gradient(self, slopes: F32) -> F32:
        """The gradient with respect to the scores, given that with respect to the agreement, symmetric ``(n, n)``."""
        return self.score_gradient(slopes @ self.values)

    def score_gradient(self, pull: F32) -> F32:
        """The gradient with respect to the scores, given that with respect to the agreement by ``values``; in place.

        ``pull`` of a point is Σ slope · values over the points that it is compared with.
        """
        values = self.values
        if self.arity == 2:
            pull *= 1 - values * values
            pull *= np.float32(self.sharpness / 2)
            return pull
        each, shares = (array.reshape(len(values), self.n_symbols, self.arity) for array in (pull, values))
        each -= np.einsum("nsk,nsk->ns", each, shares)[:, :, None]
        pull *= values
        pull *= np.float32(self.sharpness)
        return pull


def with_constant(points: F32) -> F32:
    """Points with the constant feature appended."""
    return np.concatenate([points, np.full((len(points), 1), CONSTANT_FEATURE)], axis=1)


class Noise:
    """Gaussian noise of unit standard deviation for points of ``d`` features, drawn from 4096 rows with replacement.

    Drawing new numbers for every step would take as long as its matrix products.

    >>> noise = Noise(np.random.default_rng(0), 3)
    >>> noise.draw(5).shape, bool(abs(noise.draw(1000).std() - 1) < 0.05)
    ((5, 3), True)
    """

    def __init__(self, rng: np.random.Generator, d: int) -> None:
        self._rng, self._rows = rng, rng.standard_normal((NOISE_ROWS, d), np.float32)

    def draw(self, n: int) -> F32:
        """Noise ``(n, d)``."""
        drawn: F32 = self._rows[self._rng.integers(0, NOISE_ROWS, n)]
        return drawn


def hard_codes(scores: F32) -> F32:
    """1 where a score is positive, else -1: the ``values`` of infinitely sharp codes of arity 2."""
    values: F32 = np.where(scores > 0, np.float32(1), np.float32(-1))
    return values


class Adam:
    """The Adam optimiser; its steps are invariant to the gradient's scale."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.mean, self.square, self.n_steps = np.zeros(shape, np.float32), np.zeros(shape, np.float32), 0

    def step(self, gradient: F32, rate: float) -> F32:
        """The ascent step to add to the weights."""
        self.n_steps += 1
        self.mean += (1 - DECAY) * (gradient - self.mean)
        self.square += (1 - SQUARE_DECAY) * (np.square(gradient) - self.square)
        mean = self.mean / (1 - DECAY**self.n_steps)
        size = np.sqrt(self.square / (1 - SQUARE_DECAY**self.n_steps))
        step: F32 = (np.float32(rate) * mean / (size + TINY)).astype(np.float32)
        return step
