"""Noise for queries, and the redundancy of the symbols of a code."""

from __future__ import annotations

import numpy as np

from .._types import F32, F64, U8

NOISE = 0.3
"""Length of the noise relative to the length of the query that it is added to."""


def noisy(vectors: F32, level: float = NOISE, seed: int = 0) -> F32:
    """The vectors, each with Gaussian noise whose mean squared length is ``level``² of its own; ``level`` is 0.3.

    >>> moved = noisy(np.ones((1000, 40), np.float32))
    >>> round(float(np.linalg.norm(moved - 1) / np.linalg.norm(np.ones((1000, 40)))), 2)
    0.3
    """
    noise = np.random.default_rng(seed).standard_normal(vectors.shape)
    lengths = np.linalg.norm(vectors.astype(np.float64), axis=1, keepdims=True)
    moved: F64 = vectors + level * lengths / np.sqrt(vectors.shape[1]) * noise
    return moved.astype(np.float32)


def redundancy(symbols: U8, arity: int) -> float:
    """The mutual information of two symbols of a code relative to their entropy: 0 if independent, 1 if the same.

    ``symbols`` is ``(n, n_symbols)``. It is the mean over all pairs of symbols, divided by the mean entropy of a
    symbol; 0 for a single symbol, and for symbols that never vary.

    >>> redundancy(np.array([[0, 0], [1, 1]], np.uint8), 2)
    1.0
    >>> redundancy(np.array([[0, 0], [0, 1], [1, 0], [1, 1]], np.uint8), 2)
    0.0
    """
    n, length = symbols.shape
    one_hot = (symbols[:, :, None] == np.arange(arity, dtype=np.uint8)).reshape(n, -1).astype(np.float32)
    joint = (one_hot.T @ one_hot).astype(np.float64) / n
    joint = _entropy_terms(joint).reshape(length, arity, length, arity).sum(axis=(1, 3))
    single = np.diag(joint)
    if length < 2 or single.mean() <= 0:
        return 0.0
    shared = single[:, None] + single - joint
    return float((shared.sum() - np.trace(shared)) / (length * (length - 1)) / single.mean())


def _entropy_terms(shares: F64) -> F64:
    """-p ln p of each share p, 0 for 0."""
    terms: F64 = -shares * np.log(np.where(shares > 0, shares, 1))
    return terms
