"""The loss of minimal loss hashing, the bits that would be worst for it, and the direction that lowers its bound."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ._base import F32

Bits = NDArray[np.bool_]


@dataclass(frozen=True)
class Hinges:
    """The loss of every Hamming distance: of dissimilar pairs below a radius, of similar pairs from it on.

    ``losses`` is ``(2, n_symbols + 1)``, the dissimilar pairs' first; ``slopes`` is how much one more differing bit
    adds where the loss is not 0.
    """

    losses: F32
    slopes: F32


def hinges(n_symbols: int, rho: int, lam: float, epsilon: float) -> Hinges:
    """Both losses rise linearly to 1, then are multiplied by ``epsilon``, the dissimilar pairs' also by ``lam``.

    >>> hinges(4, 1, 1.0, 1.0).losses.tolist()
    [[1.0, 0.5, 0.0, 0.0, 0.0], [0.0, 0.25, 0.5, 0.75, 1.0]]
    """
    distances = np.arange(n_symbols + 1)
    slopes = epsilon * np.array([-lam / (rho + 1), 1 / (n_symbols - rho + 1)])
    apart = -slopes[0] * np.maximum(rho - distances + 1, 0)
    together = slopes[1] * np.maximum(distances - rho + 1, 0)
    return Hinges(np.stack([apart, together]).astype(np.float32), slopes.astype(np.float32))


def worst_assignment(a: F32, b: F32, labels: NDArray[np.uint8], loss: Hinges) -> tuple[Bits, Bits]:
    """The bits of both points that maximise loss + Σ ±a + Σ ±b, for pairs with the projections ``a``, ``b`` ``(t, q)``.

    A bit adds |a + b| at most if both points have it alike, |a - b| if not; the difference is its gain. For a given
    number of differing bits those that gain most differ. Where the loss is linear in that number, it is best to let
    the bits differ whose gain and the slope are positive together. There are two slopes, one of them 0, hence two
    candidates; that the losses are convex where they bend makes one of them the best of all.

    >>> loss = hinges(2, 1, 1.0, 9.0)
    >>> first, second = worst_assignment(np.float32([[1, 2]]), np.float32([[1, -0.5]]), np.uint8([1]), loss)
    >>> first.tolist(), second.tolist()
    ([[False, True]], [[True, False]])
    """
    both, apart = a + b, a - b
    gains = np.abs(apart) - np.abs(both)
    flat, sloped = gains > 0, gains > -loss.slopes[labels][:, None]
    better = _total(gains, sloped, labels, loss) > _total(gains, flat, labels, loss)
    differ = np.where(better[:, None], sloped, flat)
    first: Bits = np.where(differ, apart, both) > 0
    return first, first ^ differ


def _total(gains: F32, differ: Bits, labels: NDArray[np.uint8], loss: Hinges) -> F32:
    """What pairs come to if these bits differ."""
    total: F32 = np.einsum("ij,ij->i", gains, differ.astype(np.float32))
    total += loss.losses[labels, np.count_nonzero(differ, axis=1)]
    return total


def bound_descent(first: F32, second: F32, weights: F32, labels: NDArray[np.uint8], loss: Hinges) -> F32:
    """The direction ``(n_symbols, d)`` that lowers the mean bound of pairs with these points ``(t, d)``.

    A pair's bound is the worst assignment's value less |Wx| summed over bits and both points. For bits of ±1 the
    direction is the mean of (sign(Wx) - worst)x' over the points.
    """
    a, b = first @ weights.T, second @ weights.T
    worst = worst_assignment(a, b, labels, loss)
    pull = np.subtract(a > 0, worst[0], dtype=np.float32).T @ first
    pull += np.subtract(b > 0, worst[1], dtype=np.float32).T @ second
    descent: F32 = pull * np.float32(2 / len(first))
    return descent
