"""Random unit directions: independent, or orthogonal in blocks."""

from __future__ import annotations

import numpy as np

from ..._types import F64


def random_directions(rng: np.random.RandomState, n: int, d: int) -> F64:
    """``n`` independent random unit vectors in ``d`` dimensions."""
    directions: F64 = rng.standard_normal((n, d))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    return directions


def orthogonal_directions(rng: np.random.RandomState, n: int, d: int) -> F64:
    """``n`` random unit vectors in ``d`` dimensions; each block of up to ``d`` of them is orthogonal."""
    return np.concatenate([orthonormal_rows(rng, min(d, n - start), d) for start in range(0, n, d)])


def orthonormal_rows(rng: np.random.RandomState, n: int, d: int) -> F64:
    """``n`` orthonormal rows in ``d`` dimensions, n ≤ d, uniform over all rotations."""
    q, r = np.linalg.qr(rng.standard_normal((d, n)))
    rows: F64 = np.where(np.diag(r) < 0, -q, q).T
    return rows
