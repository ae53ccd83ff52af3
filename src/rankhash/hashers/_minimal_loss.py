"""The loss of minimal loss hashing, its loss-augmented inference, and the descent direction of its bound."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .._types import F32, Flags


@dataclass(frozen=True)
class Hinges:
    """The loss by Hamming distance: of dissimilar pairs up to a radius, of similar pairs from it on.

    ``losses`` is ``(2, n_symbols + 1)``, the row of dissimilar pairs first; ``slopes`` ``(2,)`` is the increase per
    differing bit where the loss is not 0.
    """

    losses: F32
    slopes: F32


def hinges(n_symbols: int, rho: int, lam: float, epsilon: float) -> Hinges:
    """Both losses rise linearly to ``epsilon``; that of dissimilar pairs is multiplied by ``lam``.

    >>> hinges(4, 1, 1.0, 1.0).losses.tolist()
    [[1.0, 0.5, 0.0, 0.0, 0.0], [0.0, 0.25, 0.5, 0.75, 1.0]]
    """
    distances = np.arange(n_symbols + 1)
    slopes = epsilon * np.array([-lam / (rho + 1), 1 / (n_symbols - rho + 1)])
    apart = -slopes[0] * np.maximum(rho - distances + 1, 0)
    together = slopes[1] * np.maximum(distances - rho + 1, 0)
    return Hinges(np.stack([apart, together]).astype(np.float32), slopes.astype(np.float32))


def worst_assignment(a: F32, b: F32, labels: NDArray[np.uint8], loss: Hinges) -> tuple[Flags, Flags]:
    """The bits of both points that maximise loss + Σ ±a + Σ ±b, for pairs with the projections ``a``, ``b`` ``(t, q)``.

    A bit contributes at most |a + b| if it is equal for both points, |a - b| if it differs; the difference is its gain.
    For a given number of differing bits, those with the largest gains differ. Where the loss is linear in that number,
    the bits with gain + slope > 0 differ. There are two slopes, one of them 0, hence two candidates. Since the losses
    are convex, one of the candidates is the maximum.

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
    first: Flags = np.where(differ, apart, both) > 0
    return first, first ^ differ


def _total(gains: F32, differ: Flags, labels: NDArray[np.uint8], loss: Hinges) -> F32:
    """The value of each pair if these bits differ, up to a constant."""
    total: F32 = np.einsum("ij,ij->i", gains, differ.astype(np.float32))
    total += loss.losses[labels, np.count_nonzero(differ, axis=1)]
    return total


def bound_descent(first: F32, second: F32, weights: F32, labels: NDArray[np.uint8], loss: Hinges) -> F32:
    """The descent direction ``(n_symbols, d)`` of the mean bound of pairs with the points ``(t, d)``.

    The bound of a pair is the value of the worst assignment minus |Wx| summed over bits and both points. For bits of ±1
    the direction is the mean of (sign(Wx) - worst)x' over the points.
    """
    a, b = first @ weights.T, second @ weights.T
    worst = worst_assignment(a, b, labels, loss)
    pull = np.subtract(a > 0, worst[0], dtype=np.float32).T @ first
    pull += np.subtract(b > 0, worst[1], dtype=np.float32).T @ second
    descent: F32 = pull * np.float32(2 / len(first))
    return descent
