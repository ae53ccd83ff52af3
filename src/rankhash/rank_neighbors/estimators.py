"""The two estimators: `RankNeighbors` and `RankNeighborsTransformer`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin, clone
from sklearn.utils.validation import check_is_fitted

from .._checks import check_choice, check_integer
from .._types import F32, I64
from ..errors import InvalidInputError
from ..hashers import Hasher
from ..vector_index import VectorIndex
from ..vectors import as_vectors
from ._by_codes import INDEXES, ByCodes
from ._by_vectors import ByVectors
from ._graphs import as_ragged, check_mode, graph, nearest_without_self, rows_of, within_without_self

if TYPE_CHECKING:
    from typing_extensions import Self

METRICS = ("euclidean", "cosine")


class RankNeighbors(BaseEstimator):  # type: ignore[misc]
    """Nearest neighbours with the interface of ``sklearn.neighbors.NearestNeighbors``.

    Without a hasher they are the true neighbours, found by a [`VectorIndex`][rankhash.VectorIndex]. With a hasher they
    are the vectors with the nearest codes, and distances are numbers of differing symbols (Euclidean with ``rerank``).

    Parameters
    ----------
    hasher
        The hasher, which is cloned and fitted. Default None: true neighbours.
    metric
        The distance of true neighbours: ``"euclidean"`` (default) or ``"cosine"`` (1 - cosine).
    recall
        The fraction of the true neighbours that ``kneighbors`` finds on average; default 0.95. Sets of up to 2²⁰
        numbers (10,000 vectors of 100 dimensions), or 2²² in fewer than 10,000 vectors, are searched exactly. With a
        hasher it has no effect.
    n_neighbors
        The number of neighbours that ``kneighbors`` finds. Default 5.
    radius
        The distance, or with a hasher the number of differing symbols, that ``radius_neighbors`` allows. Default 1.
    rerank
        With a hasher and ``rerank > 0``, ``kneighbors`` takes the ``rerank * n_neighbors`` vectors with the nearest
        codes and sorts them by Euclidean distance; the estimator then keeps the vectors. Default 0: no re-ranking.
    index
        Index of a hasher's codes: ``"lookup"`` (default) for a [`LookupIndex`][rankhash.LookupIndex], ``"flat"`` for a
        [`FlatIndex`][rankhash.FlatIndex].
    n_threads
        The number of threads. Default None: every core that this process may use.

    Attributes
    ----------
    hasher_ : Hasher or None
        The fitted hasher.
    index_ : VectorIndex or Index
        The index of the vectors, or of their codes; ids are the rows of the fitted vectors.
    n_samples_fit_ : int
        The number of fitted vectors.

    Examples
    --------
    >>> from rankhash import LSH, RankNeighbors
    >>> X = [[0, 1], [1, 0.1], [1, 0], [0.1, 1]]
    >>> RankNeighbors(n_neighbors=1).fit(X).kneighbors(return_distance=False).ravel()
    array([3, 2, 1, 0])
    >>> RankNeighbors(LSH(32, random_state=0), n_neighbors=1).fit(X).kneighbors(return_distance=False).ravel()
    array([3, 2, 1, 0])
    """

    def __init__(
        self,
        hasher: Hasher | None = None,
        *,
        metric: str = "euclidean",
        recall: float = 0.95,
        n_neighbors: int = 5,
        radius: float = 1.0,
        rerank: int = 0,
        index: str = "lookup",
        n_threads: int | None = None,
    ) -> None:
        self.hasher = hasher
        self.metric = metric
        self.recall = recall
        self.n_neighbors = n_neighbors
        self.radius = radius
        self.rerank = rerank
        self.index = index
        self.n_threads = n_threads

    def fit(self, X: Any, y: Any = None) -> Self:
        """The estimator itself, with ``X`` or its codes indexed; ``y`` (default None) is for the hasher."""
        rerank = self._check_parameters()
        vectors = as_vectors(X, owner=type(self).__name__)
        search: ByCodes | ByVectors
        if self.hasher is None:
            search = ByVectors(
                VectorIndex(self.metric, recall=self.recall, verbose=False), vectors, type(self).__name__
            )
        else:
            search = ByCodes(clone(self.hasher).fit(X, y), vectors, self.index, rerank)
        self._search = search
        self.hasher_ = search.hasher if isinstance(search, ByCodes) else None
        self.index_ = search.index
        self.n_features_in_ = vectors.shape[1]
        self.n_samples_fit_ = len(vectors)
        return self

    def _check_parameters(self) -> int:
        """The number of candidates per neighbour; raises if parameters are unknown or contradict each other."""
        check_choice("index", self.index, tuple(INDEXES))
        check_choice("metric", self.metric, METRICS)
        rerank = check_integer("rerank", self.rerank, 0)
        if self.hasher is None:
            if rerank:
                raise InvalidInputError("rerank needs a hasher; without a hasher all neighbours have true distances")
        elif not isinstance(self.hasher, Hasher):
            meant = f"; for that many neighbours say n_neighbors={self.hasher}" if isinstance(self.hasher, int) else ""
            raise InvalidInputError(f"hasher must be a rankhash hasher or None, got {self.hasher!r}{meant}")
        elif self.metric != "euclidean":
            raise InvalidInputError(f"metric={self.metric!r} is for true neighbours; leave out the hasher")
        return rerank

    def kneighbors(
        self, X: Any = None, n_neighbors: int | None = None, return_distance: bool = True
    ) -> tuple[F32, I64] | I64:
        """Distances and row numbers ``(n, n_neighbors)`` of the nearest fitted vectors.

        Parameters
        ----------
        X
            The queries. Default None: the fitted vectors, none of which is its own neighbour.
        n_neighbors
            Number of neighbours, at most the number of fitted vectors. Default None: that of the constructor.
        return_distance
            Whether to return distances as well as row numbers. Default True.
        """
        check_is_fitted(self)
        k = self.n_neighbors if n_neighbors is None else n_neighbors
        own = X is None
        k = check_integer("n_neighbors", k, 1, self.n_samples_fit_ - own)
        found = self._search.nearest(X, k + own, self.n_threads)
        rows, distances = nearest_without_self(found) if own else found
        return (distances, rows) if return_distance else rows

    def radius_neighbors(
        self, X: Any = None, radius: float | None = None, return_distance: bool = True, sort_results: bool = True
    ) -> tuple[NDArray[Any], NDArray[Any]] | NDArray[Any]:
        """All fitted vectors within ``radius`` of each query, found exactly: per query, distances and row numbers.

        ``radius`` is by default (None) the constructor's; other parameters as in ``kneighbors``. Neighbours are always
        sorted: ``sort_results`` is there for compatibility with scikit-learn and has no effect.
        """
        del sort_results
        found = self.radius_neighbors_graph(X, radius, mode="distance")
        rows = rows_of(found.indices.astype(np.int64), found.indptr)
        return (rows_of(found.data, found.indptr), rows) if return_distance else rows

    def kneighbors_graph(self, X: Any = None, n_neighbors: int | None = None, mode: str = "connectivity") -> csr_matrix:
        """The neighbours as a sparse matrix ``(n, n_samples_fit_)``.

        Entries are ones with ``mode="connectivity"`` (default), and distances with ``mode="distance"``. ``X`` and
        ``n_neighbors`` (both None by default) are as in ``kneighbors``.
        """
        check_mode(mode)
        found = self.kneighbors(X, n_neighbors)
        return graph(as_ragged(found[1], found[0]), self.n_samples_fit_, mode)

    def radius_neighbors_graph(
        self, X: Any = None, radius: float | None = None, mode: str = "connectivity", sort_results: bool = True
    ) -> csr_matrix:
        """The neighbours within ``radius`` as a sparse matrix; parameters as in ``kneighbors_graph``."""
        del sort_results
        check_mode(mode)
        check_is_fitted(self)
        limit = self.radius if radius is None else radius
        found = self._search.within(X, limit, self.n_threads)
        return graph(within_without_self(found) if X is None else found, self.n_samples_fit_, mode)


class RankNeighborsTransformer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, RankNeighbors):  # type: ignore[misc]
    """The graph of nearest neighbours, with the interface of ``sklearn.neighbors.KNeighborsTransformer``.

    In a pipeline, it precedes an estimator with ``metric="precomputed"``, whose neighbour search it replaces. With
    ``mode="distance"`` (default) a row has ``n_neighbors + 1`` entries, since a fitted vector finds itself. The other
    parameters and the attributes are those of [`RankNeighbors`][rankhash.RankNeighbors].

    Examples
    --------
    >>> from rankhash import RankNeighborsTransformer
    >>> X = [[0, 1], [1, 0.1], [1, 0], [0.1, 1]]
    >>> RankNeighborsTransformer(n_neighbors=1).fit_transform(X).shape
    (4, 4)
    """

    def __init__(
        self,
        hasher: Hasher | None = None,
        *,
        mode: str = "distance",
        metric: str = "euclidean",
        recall: float = 0.95,
        n_neighbors: int = 5,
        radius: float = 1.0,
        rerank: int = 0,
        index: str = "lookup",
        n_threads: int | None = None,
    ) -> None:
        super().__init__(
            hasher,
            metric=metric,
            recall=recall,
            n_neighbors=n_neighbors,
            radius=radius,
            rerank=rerank,
            index=index,
            n_threads=n_threads,
        )
        self.mode = mode

    def fit(self, X: Any, y: Any = None) -> Self:
        """The transformer itself, fitted as in [`RankNeighbors.fit`][rankhash.RankNeighbors.fit]."""
        check_mode(self.mode)
        super().fit(X, y)
        self._n_features_out = self.n_samples_fit_
        return self

    def transform(self, X: Any) -> csr_matrix:
        """The graph ``(n, n_samples_fit_)`` of the vectors of ``X``."""
        check_is_fitted(self)
        return self.kneighbors_graph(X, self.n_neighbors + (self.mode == "distance"), mode=self.mode)
