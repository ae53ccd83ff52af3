"""The triplet loss of Hamming distance metric learning, its loss-augmented inference and its bound."""

from __future__ import annotations

import numpy as np

from .. import _kernels
from .._types import F32, Flags


def worst_triplet_bits(a: F32, p: F32, n: F32) -> tuple[Flags, Flags, Flags]:
    """The bits of three points that maximise [D + 1]₊ + Σ ±a + Σ ±p + Σ ±n, for projections ``(t, q)`` each.

    D is the number of bits in which the first point differs from the second, minus those in which it differs from the
    third. With the contribution c(d) to the sum, a bit adds d to D:

    * c(0) = max(|a + p + n|, |a - p - n|);
    * c(1) = |a - p + n|: only the second point differs;
    * c(-1) = |a + p - n|: only the third point differs.

    The loss is max(0, D + 1). Both terms are linear in D, so that every bit can be chosen separately for each of them.
    The maximum is the larger of Σ max_d c(d) and 1 + Σ max_d (c(d) + d).
    """
    signed = np.stack([a + p + n, a - p - n, a - p + n, a + p - n])
    sizes = np.abs(signed)
    flat = sizes.argmax(axis=0)
    sizes[2] += 1
    sizes[3] -= 1
    sloped = sizes.argmax(axis=0)
    with_loss = 1 + sizes.max(axis=0).sum(axis=1)
    sizes[2] -= 1
    sizes[3] += 1
    choice = np.where((with_loss > sizes.max(axis=0).sum(axis=1))[:, None], sloped, flat)
    first: Flags = np.take_along_axis(signed, choice[None], axis=0)[0] > 0
    return first, first ^ ((choice == 1) | (choice == 2)), first ^ ((choice == 1) | (choice == 3))


def triplet_descent(first: F32, second: F32, third: F32, weights: F32) -> tuple[F32, float]:
    """The descent direction ``(q, d)`` of the mean bound of triplets with the points ``(t, d)``, and that bound.

    The bound of a triplet is the value of its worst bits minus |Wx| summed over bits and points. It is at least the
    loss. For bits of ±1 the direction is the mean of (sign(Wx) - worst)x' over the points.
    """
    points = (first, second, third)
    projected = [_kernels.inner_products(x, weights) for x in points]
    worst = worst_triplet_bits(*projected)
    pull, lost = np.zeros_like(weights), 0.0
    for x, values, bits in zip(points, projected, worst, strict=True):
        change = np.subtract(values > 0, bits, dtype=np.float32)
        pull += _kernels.inner_products(change.T, x.T)
        lost += float(np.vdot(change, values))
    apart = np.count_nonzero(worst[0] != worst[1], axis=1) - np.count_nonzero(worst[0] != worst[2], axis=1)
    bound = (float(np.maximum(apart + 1, 0).sum()) - 2 * lost) / len(first)
    descent: F32 = pull * np.float32(2 / len(first))
    return descent, bound
