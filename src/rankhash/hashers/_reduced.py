"""Neighbours of vectors that PCA has shortened: which pairs among them can be trusted.

Vectors of one length lose length when PCA drops columns, and more so the worse they are represented. Among what is
left, the short ones look close to each other although they were not: of the closest pairs of 40 principal components
of CIFAR-10 Gist only about half are close in 512 dimensions. A learner that follows its pairs closely follows these,
too. If all vectors had the same length, those with the largest inner products were closest: pairs on which distance
and inner product agree are trusted, the others left out.
"""

from __future__ import annotations

import numpy as np

from .._kernels import I32
from ..similarity import random_pairs
from ._base import F32, F64, U8

MAX_SPREAD = 0.1
"""Lengths vary by less than this share of their mean if they were equal before."""

MAX_CORRELATION = 0.05
"""The mean of principal components' correlations, up to the noise of 1000 points."""

N_POINTS, N_PAIRS, BLOCK_FLOATS = 1000, 200_000, 1 << 20


def is_reduced(x: F32) -> bool:
    """Whether centred vectors look like principal components of vectors of one length: uncorrelated columns."""
    points = x[:: -(-len(x) // N_POINTS)].astype(np.float64)
    lengths = np.linalg.norm(points, axis=1)
    if lengths.std() > MAX_SPREAD * lengths.mean():
        return False
    moments = points.T @ points
    spread = np.sqrt(np.diag(moments))
    used = spread > 1e-6 * spread.max()
    if used.sum() < 2:
        return False
    correlations = (moments / np.outer(spread, spread).clip(1e-300))[np.ix_(used, used)]
    return bool(np.abs(correlations[np.triu_indices(len(correlations), 1)]).mean() < MAX_CORRELATION)


def trusted(x: F32, pairs: I32, labels: U8, similar_rate: float, rng: np.random.Generator) -> tuple[I32, U8]:
    """The pairs that distance and inner product, at the same share of similar ones, call the same."""
    limit = np.quantile(inner_products(x, random_pairs(rng, N_PAIRS, len(x))), 1 - similar_rate)
    agree = (inner_products(x, pairs) >= limit) == (labels == 1)
    both_kinds = 0 < labels[agree].sum() < agree.sum()
    return (pairs[agree], labels[agree]) if both_kinds else (pairs, labels)


def inner_products(x: F32, pairs: I32) -> F64:
    """The inner product of each pair of rows."""
    products = np.empty(len(pairs))
    step = max(1, BLOCK_FLOATS // x.shape[1])
    for start in range(0, len(pairs), step):
        part = pairs[start : start + step]
        products[start : start + step] = np.einsum("ij,ij->i", x[part[:, 0]], x[part[:, 1]])
    return products
