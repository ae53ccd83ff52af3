"""Conversion of queries, vectors and examples in convenient forms into strict ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .._ids import Id, as_ids
from .._types import F32
from ..vectors import as_vectors
from ._encoding import Encoding

Examples = Id | Sequence[Id] | ArrayLike
"""One id, or several"""


def as_queries(encoding: Encoding, vectors: Any) -> F32:
    """Queries ``(n, n_features)``, from several vectors, from a single vector, or from an empty list."""
    return as_rows(np.atleast_2d(vectors) if _is_one(vectors) else vectors, encoding.n_features)


def as_rows(vectors: Any, n_features: int | None) -> F32:
    """Vectors ``(n, n_features)``, where n may be 0."""
    if is_empty(vectors):
        return np.empty((0, n_features or 0), np.float32)
    return as_vectors(vectors, n_features=n_features, owner="this collection")


def _is_one(vectors: Any) -> bool:
    """Whether ``vectors`` is a single vector: a list of numbers, or an array of one dimension."""
    if hasattr(vectors, "ndim"):
        return bool(vectors.ndim == 1 and vectors.size > 0)
    return isinstance(vectors, (list, tuple)) and len(vectors) > 0 and np.ndim(vectors[0]) == 0


def is_empty(vectors: Any) -> bool:
    """Whether ``vectors`` holds no vectors."""
    if hasattr(vectors, "shape"):
        return len(vectors.shape) in (1, 2) and vectors.shape[0] == 0
    return isinstance(vectors, (list, tuple)) and not len(vectors)


def examples(given: Examples) -> list[Id]:
    """The ids of examples, also of one id."""
    return as_ids([given] if isinstance(given, str) or not hasattr(given, "__iter__") else given)


def only_example(like: Examples | None, unlike: Examples) -> list[Id]:
    """The id of the only example, in a list; empty if there are none, several, or counterexamples."""
    ids = [] if like is None or examples(unlike) else examples(like)
    return ids if len(ids) == 1 else []
