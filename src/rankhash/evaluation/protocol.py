"""How a data set is split and what counts as similar: the paper's protocol, and the stricter one of today.

::

    vectors ─▶ minus the mean, unit length ─▶ random split ─▶ radius of 50 neighbours ─▶ PCA to 40 ─▶ Split
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..datasets import Dataset
from ..errors import InvalidInputError
from .truth import ClassTruth, RadiusTruth, Truth, euclidean, neighbor_radius

F32 = NDArray[np.float32]
F64 = NDArray[np.float64]


@dataclass(frozen=True)
class Protocol:
    """The settings of a split.

    Parameters
    ----------
    n_train
        Vectors to learn from.
    n_queries
        Queries; None takes up to 3000 of those that are left.
    n_database
        Vectors to search in, apart from the others; 0 searches in the training vectors, as the paper does.
    n_neighbors
        Neighbours on average that make the radius below which vectors are similar.
    n_components
        Dimensions that PCA on the training vectors leaves; 0 leaves all.
    truth
        ``"neighbors"``: similar is what is close. ``"classes"``: what has the same class.

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
        if self.truth not in ("neighbors", "classes"):
            raise InvalidInputError(f"truth must be neighbors or classes, got {self.truth!r}")
        for name, low in (("n_train", 2), ("n_queries", 1), ("n_database", 0), ("n_neighbors", 1), ("n_components", 0)):
            value = getattr(self, name)
            if value is not None and value < low:
                raise InvalidInputError(f"{name} must be {low} or more, got {value}")

    def sizes(self, data: Dataset) -> tuple[int, int, int]:
        """Training vectors, database vectors apart from them, and queries; an error if the set is too small."""
        n_train, n_database = self.n_train, self.n_database
        left = len(data.vectors) - n_train - n_database
        n_queries = min(3000, left) if self.n_queries is None else self.n_queries
        if left < max(n_queries, 1):
            needed = " + ".join(str(n) for n in (n_train, n_database, max(n_queries, 1)) if n)
            raise InvalidInputError(
                f"{data.name} has {len(data.vectors)} vectors, but the split needs {needed} (training, "
                f"{'database, ' if n_database else ''}queries); take fewer of them"
            )
        if self.truth == "classes" and data.labels is None:
            raise InvalidInputError(f"{data.name} has no classes; take the truth 'neighbors'")
        return n_train, n_database, n_queries

    def settings(self) -> dict[str, Any]:
        """The settings as a result names them."""
        return asdict(self)


@dataclass(frozen=True)
class Split:
    """One run's vectors and what is similar among them.

    ``train_rows``, ``database_rows`` and ``query_rows`` are row numbers of the data set. ``similarity`` is what a
    hasher learns from: a matrix of the training vectors' neighbours, or None if there are classes, then in ``y``.
    """

    train: F32
    database: F32
    queries: F32
    y: NDArray[Any] | None
    similarity: NDArray[np.bool_] | None
    truth: Truth
    train_rows: NDArray[np.int64]
    database_rows: NDArray[np.int64]
    query_rows: NDArray[np.int64]

    def raw(self, data: Dataset) -> Split:
        """The same split with the vectors as they are in the data set; what is similar stays."""
        train, database, queries = (
            data.vectors[rows].astype(np.float32) for rows in (self.train_rows, self.database_rows, self.query_rows)
        )
        return replace(self, train=train, database=database, queries=queries)


def split(data: Dataset, protocol: Protocol, seed: int) -> Split:
    """The random split of a data set that belongs to a seed.

    As in the sources that the paper follows: the mean of the whole set is subtracted, every vector is scaled to unit
    length, neighbours are told before PCA, and PCA turns the vectors without centring them again.
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


def _unit(vectors: NDArray[Any], mean: F64) -> F64:
    centred = vectors.astype(np.float64) - mean
    unit: F64 = centred / np.maximum(np.linalg.norm(centred, axis=1, keepdims=True), 1e-12)
    return unit


def _reduced(vectors: F64, axes: F64 | None) -> F32:
    return (vectors if axes is None else vectors @ axes).astype(np.float32)


def _axes(train: F64, n_components: int) -> F64 | None:
    """The principal axes ``(d, n_components)``, or None if there are no more dimensions than that."""
    if not n_components or train.shape[1] <= n_components:
        return None
    axes: F64 = np.linalg.svd(train - train.mean(axis=0), full_matrices=False)[2][:n_components].T
    return axes
