"""Sources of labelled pairs: class labels, metric neighbours, or given pairs.

::

    y ───────────▶ ClassLabels | LabelSets ─┐
    X alone ─────▶ MetricNeighbors ─────────┼─▶ PairSource.sample(rng, size) ─▶ pairs (size, 2), labels (size,)
    similarity ──▶ GivenPairs ──────────────┘            └─▶ Triplets.sample(rng, size) ─▶ triplets (size, 3)
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InvalidInputError
from ._base import DISSIMILAR, SIMILAR, UNKNOWN, PairSource, random_pairs
from .classes import ClassLabels, LabelSets, class_source
from .given import GivenPairs, given_source
from .matrix import SimilarityMatrix, similarity_matrix
from .metric import MetricNeighbors, squared_distances, within_radius
from .triplets import Triplets

__all__ = [
    "DISSIMILAR",
    "SIMILAR",
    "UNKNOWN",
    "ClassLabels",
    "GivenPairs",
    "LabelSets",
    "MetricNeighbors",
    "PairSource",
    "SimilarityMatrix",
    "Triplets",
    "label_source",
    "pair_source",
    "random_pairs",
    "similarity_matrix",
    "squared_distances",
    "within_radius",
]


def label_source(y: Any, similarity: Any, n_points: int) -> PairSource | None:
    """The source of the classes ``y`` or of the pairs ``similarity``; None if both are None."""
    if similarity is None:
        return None if y is None else class_source(y, n_points)
    if y is not None:
        raise InvalidInputError("pass y or similarity, not both: each alone says which pairs are similar")
    if not isinstance(similarity, PairSource):
        return given_source(similarity, n_points)
    if similarity.n_points != n_points:
        raise InvalidInputError(f"similarity is about {similarity.n_points} vectors, but there are {n_points}")
    return similarity


def pair_source(
    vectors: NDArray[np.float32], y: Any, similarity: Any, n_neighbors: int, rng: np.random.Generator
) -> PairSource:
    """The source of labelled pairs: ``similarity`` if given, else the classes ``y``, else the vectors' distances.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(200, 8)).astype(np.float32)
    >>> source = pair_source(X, None, None, 10, np.random.default_rng(0))
    >>> pairs, labels = source.sample(np.random.default_rng(0), 1000, similar_share=0.5)
    >>> pairs.shape, bool((source.labels_of(pairs) == labels).mean() > 0.99)
    ((1000, 2), True)
    """
    known = label_source(y, similarity, len(vectors))
    return MetricNeighbors(vectors, n_neighbors, rng) if known is None else known
