"""Neighbours in the forms of scikit-learn: sparse matrices, and arrays of arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from .._checks import check_choice
from .._types import F32, I64
from ..neighbors import Neighbors, RadiusNeighbors


def check_mode(mode: str) -> None:
    """Raise unless ``mode`` is a mode of graphs."""
    check_choice("mode", mode, ("connectivity", "distance"))


def graph(found: RadiusNeighbors, n_columns: int, mode: str) -> csr_matrix:
    """One row per query, with ones or distances at its neighbours."""
    offsets, rows, distances = found
    values = np.ones(len(rows)) if mode == "connectivity" else distances.astype(np.float64)
    return csr_matrix((values, rows, offsets), shape=(len(offsets) - 1, n_columns))


def nearest_without_self(found: Neighbors) -> Neighbors:
    """The neighbours without the query itself, or without the last one where the query was not found."""
    rows, distances = found
    others = rows != np.arange(len(rows))[:, None]
    others[others.all(axis=1), -1] = False
    shape = (len(rows), rows.shape[1] - 1)
    return Neighbors(rows[others].reshape(shape), distances[others].reshape(shape))


def within_without_self(found: RadiusNeighbors) -> RadiusNeighbors:
    """The neighbours of each query but itself."""
    offsets, rows, distances = found
    owner = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    other = rows != owner
    return RadiusNeighbors(np.concatenate([[0], np.cumsum(other)])[offsets], rows[other], distances[other])


def as_ragged(rows: I64, distances: F32) -> RadiusNeighbors:
    """Rows of equal length, one after the other."""
    return RadiusNeighbors(np.arange(len(rows) + 1) * rows.shape[1], rows.ravel(), distances.ravel())


def rows_of(values: NDArray[Any], offsets: NDArray[Any]) -> NDArray[Any]:
    """Ragged rows as an object array of arrays."""
    out = np.empty(len(offsets) - 1, dtype=object)
    out[:] = np.split(values, offsets[1:-1]) if len(out) > 1 else [values] * len(out)
    return out
