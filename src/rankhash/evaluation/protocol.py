"""Splits of a data set and their ground truth: the paper's protocol, and a stricter one with a separate database.

::

    vectors ─▶ minus the mean, unit length ─▶ random split ─▶ radius of 50 neighbours ─▶ PCA to 40 ─▶ Split
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from sklearn.utils.extmath import svd_flip

from .._checks import check_choice, check_integer
from .._types import F32, F64, I64, Array, Flags
from ..datasets import Dataset
from ..errors import InvalidInputError
from .truth import ClassTruth, RadiusTruth, Truth, euclidean, neighbor_radius


@dataclass(frozen=True)
class Protocol:
    """The settings of a split.

    Parameters
    ----------
    n_train
        Training vectors; default 1000.
    n_queries
        Queries; None (default) takes up to 3000 of the remaining vectors.
    n_database
        Vectors of a separate database; 0 (default) searches the training vectors, as the paper does.
    n_neighbors
        Vectors are similar within the radius that gives a training vector this many neighbours on average; default 50.
    n_components
        Dimensions after PCA on the training vectors; default 40, 0 keeps all.
    truth
        The definition of similar vectors: ``"neighbors"`` (default), within the radius, or ``"classes"``, of one class.

    Examples
    --------
    >>> Protocol().n_train, Protocol().truth
    (1000, 'neighbors')
    """

    n_train: int = 1000
    n_queries: int | None = None
    n_database: int = 0
    n_neighbors: int = 50
    n_components: int = 40
    truth: str = "neighbors"

    def __post_init__(self) -> None:
        check_choice("truth", self.truth, ("neighbors", "classes"))
        for name, low in (("n_train", 2), ("n_queries", 1), ("n_database", 0), ("n_neighbors", 1), ("n_components", 0)):
            if getattr(self, name) is not None:
                check_integer(name, getattr(self, name), low)

    def sizes(self, data: Dataset) -> tuple[int, int, int]:
        """Numbers of training vectors, separate database vectors and queries; an error if the set is too small."""
        n_train, n_database = self.n_train, self.n_database
        left = len(data.vectors) - n_train - n_database
        n_queries = min(3000, left) if self.n_queries is None else self.n_queries
        if left < max(n_queries, 1):
            needed = " + ".join(str(n) for n in (n_train, n_database, max(n_queries, 1)) if n)
            raise InvalidInputError(
                f"{data.name} has {len(data.vectors)} vectors, but the split needs {needed} (training, "
                f"{'database, ' if n_database else ''}queries); ask for fewer"
            )
        if self.truth == "classes" and data.labels is None:
            raise InvalidInputError(f"{data.name} has no classes; use truth='neighbors'")
        return n_train, n_database, n_queries

    def settings(self) -> dict[str, Any]:
        """The settings as they are stored with a result."""
        return asdict(self)


@dataclass(frozen=True)
class Split:
    """The vectors of one run and their ground truth.

    ``train_rows``, ``database_rows`` and ``query_rows`` are row numbers of the data set. Hashers learn from ``y``, the
    classes of the training vectors, or from ``similarity``, the boolean matrix of neighbours among the training
    vectors; the other one is None.
    """

    train: F32
    database: F32
    queries: F32
    y: Array | None
    similarity: Flags | None
    truth: Truth
    train_rows: I64
    database_rows: I64
    query_rows: I64

    def raw(self, data: Dataset) -> Split:
        """The same split and ground truth, with the vectors as they are in the data set."""
        train, database, queries = (
            data.vectors[rows].astype(np.float32) for rows in (self.train_rows, self.database_rows, self.query_rows)
        )
        return replace(self, train=train, database=database, queries=queries)


def split(data: Dataset, protocol: Protocol, seed: int) -> Split:
    """The random split of a data set for a seed.

    Preprocessing follows the paper's sources. The mean of the whole set is subtracted and every vector is scaled to
    unit length. Neighbours are determined before PCA. PCA projects the vectors without centring them again.
    """
    n_train, n_database, n_queries = protocol.sizes(data)
    rows = np.random.default_rng(seed).permutation(len(data.vectors))[: n_train + n_database + n_queries]
    unit = _unit(data.vectors[np.sort(rows)], data.mean())[np.argsort(np.argsort(rows))]
    places = np.split(np.arange(len(rows)), [n_train, n_train + n_database])
    train, database, queries = (unit[place] for place in places)
    train_rows, query_rows = rows[places[0]], rows[places[2]]
    database_rows = rows[places[1]] if n_database else train_rows
    database = database if n_database else train
    axes = _axes(train, protocol.n_components)
    reduced = _reduced(train, axes), _reduced(database, axes), _reduced(queries, axes)
    labels = data.labels
    if labels is not None and protocol.truth == "classes":
        truth: Truth = ClassTruth(labels[query_rows], labels[database_rows])
        return Split(*reduced, labels[train_rows], None, truth, train_rows, database_rows, query_rows)
    radius = neighbor_radius(train, protocol.n_neighbors)
    truth = RadiusTruth(queries, database, radius)
    similarity = euclidean(train, train) < radius
    return Split(*reduced, None, similarity, truth, train_rows, database_rows, query_rows)


def _unit(vectors: Array, mean: F64) -> F64:
    centred = vectors.astype(np.float64) - mean
    unit: F64 = centred / np.maximum(np.linalg.norm(centred, axis=1, keepdims=True), 1e-12)
    return unit


def _reduced(vectors: F64, axes: F64 | None) -> F32:
    return (vectors if axes is None else vectors @ axes).astype(np.float32)


def _axes(train: F64, n_components: int) -> F64 | None:
    """The principal axes ``(d, n_components)``; None if the vectors have at most ``n_components`` dimensions.

    The sign of an axis makes its largest entry positive, so that a split is the same on every machine.
    """
    if not n_components or train.shape[1] <= n_components:
        return None
    left, _, axes = np.linalg.svd(train - train.mean(axis=0), full_matrices=False)
    fixed: F64 = svd_flip(left, axes, u_based_decision=False)[1][:n_components].T
    return fixed
