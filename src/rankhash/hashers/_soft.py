"""Soft codes, whose agreement has a gradient, and the optimiser that moves the projections behind them.

::

    x ─▶ scores = x Wᵀ ─▶ p = softmax(sharpness · scores) of each symbol ─▶ agreement of two points = Σ p·p'
    slopes of a loss with respect to the agreement ─▶ of the soft codes ─▶ of the scores ─▶ of W ─▶ Adam
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ._base import F32

DECAY, SQUARE_DECAY = np.float32(0.9), np.float32(0.99)
TINY = np.float32(1e-20)


@dataclass(frozen=True)
class SoftCodes:
    """How likely each point is to have each symbol, in a form whose inner products give the agreement.

    For arity 2 there is one score a symbol; ``values`` is tanh(sharpness · score), and the agreement of two points
    (n_symbols + v·v') / 2. Otherwise ``values`` holds the probabilities, and the agreement is their inner product.

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
        """The soft codes of scores ``(n, n_symbols)`` for arity 2, else ``(n, n_symbols * arity)``."""
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
        """The expected number of equal symbols ``(n, n)`` of every two points."""
        products: F32 = self.values @ self.values.T
        if self.arity == 2:
            products += np.float32(self.n_symbols)
            products *= np.float32(0.5)
        return products

    def gradient(self, slopes: F32) -> F32:
        """The gradient of the scores, given the slopes ``(n, n)`` of the agreement, a pair's in both of its places."""
        values = self.values
        pull = slopes @ values
        if self.arity == 2:
            pull *= 1 - values * values
            pull *= np.float32(self.sharpness / 2)
            return pull
        each, shares = (array.reshape(len(values), self.n_symbols, self.arity) for array in (pull, values))
        each -= np.einsum("nsk,nsk->ns", each, shares)[:, :, None]
        pull *= values
        pull *= np.float32(self.sharpness)
        return pull


class Adam:
    """Steps along a gradient whose entries are divided by their usual size, so that its scale means nothing."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.mean, self.square, self.n_steps = np.zeros(shape, np.float32), np.zeros(shape, np.float32), 0

    def step(self, gradient: F32, rate: float) -> F32:
        """What to add to the weights to go uphill."""
        self.n_steps += 1
        self.mean += (1 - DECAY) * (gradient - self.mean)
        self.square += (1 - SQUARE_DECAY) * (np.square(gradient) - self.square)
        mean = self.mean / (1 - DECAY**self.n_steps)
        size = np.sqrt(self.square / (1 - SQUARE_DECAY**self.n_steps))
        step: F32 = (np.float32(rate) * mean / (size + TINY)).astype(np.float32)
        return step
