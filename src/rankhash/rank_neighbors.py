"""Neighbours by hash codes in the interface of scikit-learn: :class:`RankNeighbors`, :class:`RankNeighborsTransformer`.

::

    X ──fit──▶ hasher ──encode──▶ index          Q ──encode──▶ search ──(rerank)──▶ neighbours, or their graph
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin, clone
from sklearn.utils.validation import check_is_fitted

from .errors import InvalidInputError
from .hashers import ITQ, Hasher
from .index import FlatIndex, Index, TableIndex
from .vectors import as_vectors

if TYPE_CHECKING:
    from typing_extensions import Self

F32 = NDArray[np.float32]
I64 = NDArray[np.int64]
U8 = NDArray[np.uint8]

INDEXES: dict[str, type[Index]] = {"tables": TableIndex, "flat": FlatIndex}
_RERANK_FLOATS = 1 << 24  # vectors that are compared at a time


class RankNeighbors(BaseEstimator):  # type: ignore[misc]
    """The nearest vectors by their codes, where ``sklearn.neighbors.NearestNeighbors`` fits.

    Distances are the numbers of differing symbols, or with ``rerank`` Euclidean.

    Parameters
    ----------
    hasher
        Makes the codes; it is cloned and fitted. None: ``ITQ(64, random_state=0)``.
    n_neighbors
        How many neighbours :meth:`kneighbors` finds.
    radius
        How many symbols may differ in :meth:`radius_neighbors`.
    rerank
        If not 0, the ``rerank * n_neighbors`` vectors with the nearest codes are compared by their Euclidean
        distance in :meth:`kneighbors`; the vectors are then kept.
    index
        ``"tables"`` or ``"flat"``: see :class:`TableIndex` and :class:`FlatIndex`.
    n_threads
        None uses every core that this process may use.

    Attributes
    ----------
    hasher_ : Hasher
        The fitted hasher.
    index_ : Index
        The codes; ids are the rows of the fitted vectors.
    n_samples_fit_ : int
        How many vectors were fitted.

    Examples
    --------
    >>> from rankhash import LSH, RankNeighbors
    >>> X = [[0, 1], [1, 0.1], [1, 0], [0.1, 1]]
    >>> near = RankNeighbors(LSH(32, random_state=0), n_neighbors=1).fit(X)
    >>> near.kneighbors(return_distance=False).ravel()
    array([3, 2, 1, 0])
    """

    def __init__(
        self,
        hasher: Hasher | None = None,
        *,
        n_neighbors: int = 5,
        radius: float = 1.0,
        rerank: int = 0,
        index: str = "tables",
        n_threads: int | None = None,
    ) -> None:
        self.hasher = hasher
        self.n_neighbors = n_neighbors
        self.radius = radius
        self.rerank = rerank
        self.index = index
        self.n_threads = n_threads

    def fit(self, X: Any, y: Any = None) -> Self:
        """The estimator itself, after it has fitted the hasher to ``X`` (and ``y``) and indexed the codes."""
        if self.index not in INDEXES:
            raise InvalidInputError(f"index must be one of {sorted(INDEXES)}, got {self.index!r}")
        if isinstance(self.rerank, bool) or not isinstance(self.rerank, (int, np.integer)) or self.rerank < 0:
            raise InvalidInputError(f"rerank must be an integer of at least 0, got {self.rerank!r}")
        if self.hasher is not None and not isinstance(self.hasher, Hasher):
            raise InvalidInputError(f"hasher must be a rankhash hasher or None, got {self.hasher!r}")
        hasher = ITQ(64, random_state=0) if self.hasher is None else clone(self.hasher)
        self.hasher_ = hasher.fit(X, y)
        vectors = as_vectors(X, owner=type(self).__name__)
        self.n_features_in_ = vectors.shape[1]
        self.n_samples_fit_ = len(vectors)
        self._codes: U8 = self.hasher_.encode(vectors)
        self._vectors = vectors if self.rerank else None
        self.index_ = INDEXES[self.index](self.hasher_.layout_)
        self.index_.add(self._codes)
        return self

    def kneighbors(
        self, X: Any = None, n_neighbors: int | None = None, return_distance: bool = True
    ) -> tuple[F32, I64] | I64:
        """Distances and rows ``(n, n_neighbors)`` of the nearest fitted vectors, or the rows alone.

        Without ``X`` these are the neighbours of the fitted vectors, themselves left out.
        """
        check_is_fitted(self)
        k = self.n_neighbors if n_neighbors is None else n_neighbors
        own = X is None
        most = self.n_samples_fit_ - own
        if isinstance(k, bool) or not isinstance(k, (int, np.integer)) or not 1 <= k <= most:
            raise InvalidInputError(f"n_neighbors must be an integer from 1 to {most}, the fitted vectors, got {k!r}")
        distances, rows = self._nearest(X, int(k) + own)
        if own:
            distances, rows = _without_self(distances, rows)
        return (distances, rows) if return_distance else rows

    def radius_neighbors(
        self, X: Any = None, radius: float | None = None, return_distance: bool = True, sort_results: bool = True
    ) -> tuple[NDArray[Any], NDArray[Any]] | NDArray[Any]:
        """For each vector an array of distances and one of rows: all whose codes differ in at most ``radius`` symbols.

        Without ``X`` these are the neighbours of the fitted vectors, themselves left out. They always come sorted,
        whatever ``sort_results`` says.
        """
        del sort_results
        graph = self.radius_neighbors_graph(X, radius, mode="distance")
        rows = _rows_of(graph.indices.astype(np.int64), graph.indptr)
        return (_rows_of(graph.data, graph.indptr), rows) if return_distance else rows

    def kneighbors_graph(self, X: Any = None, n_neighbors: int | None = None, mode: str = "connectivity") -> csr_matrix:
        """The neighbours as a sparse matrix ``(n, n_samples_fit_)``: ones, or distances with ``mode="distance"``."""
        _check_mode(mode)
        found = self.kneighbors(X, n_neighbors)
        distances, rows = found[0], found[1]
        offsets = np.arange(len(rows) + 1) * rows.shape[1]
        return self._graph(offsets, rows.ravel(), distances.ravel(), mode)

    def radius_neighbors_graph(
        self, X: Any = None, radius: float | None = None, mode: str = "connectivity", sort_results: bool = True
    ) -> csr_matrix:
        """As :meth:`kneighbors_graph`, of all fitted vectors whose codes differ in at most ``radius`` symbols."""
        del sort_results
        _check_mode(mode)
        check_is_fitted(self)
        limit = self.radius if radius is None else radius
        offsets, rows, distances = self.index_.search_radius(self._encode(X), limit, n_threads=self.n_threads)
        if X is None:
            owner = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
            other = rows != owner
            offsets = np.concatenate([[0], np.cumsum(other)])[offsets]
            rows, distances = rows[other], distances[other]
        return self._graph(offsets, rows, distances, mode)

    # -- inside ----------------------------------------------------------------------------------------------------

    def _encode(self, X: Any) -> U8:
        return self._codes if X is None else self.hasher_.encode(X)

    def _nearest(self, X: Any, k: int) -> tuple[F32, I64]:
        codes = self._encode(X)
        if self._vectors is None:
            found = self.index_.search(codes, k, n_threads=self.n_threads)
            return found.distances, found.ids
        n_candidates = min(self.n_samples_fit_, k * int(self.rerank))
        rows = self.index_.search(codes, n_candidates, n_threads=self.n_threads).ids
        queries = self._vectors if X is None else as_vectors(X, owner=type(self).__name__)
        return _rerank(self._vectors, queries, rows, k)

    def _graph(self, offsets: I64, rows: I64, distances: F32, mode: str) -> csr_matrix:
        values = np.ones(len(rows)) if mode == "connectivity" else distances.astype(np.float64)
        return csr_matrix((values, rows, offsets), shape=(len(offsets) - 1, self.n_samples_fit_))


class RankNeighborsTransformer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, RankNeighbors):  # type: ignore[misc]
    """The graph of nearest neighbours by codes, where ``sklearn.neighbors.KNeighborsTransformer`` fits.

    Put before an estimator that takes ``metric="precomputed"``, it replaces that one's search for neighbours. With
    ``mode="distance"`` there are ``n_neighbors + 1`` entries a row, since a fitted vector finds itself, too.
    The other parameters and the attributes are those of :class:`RankNeighbors`.

    Examples
    --------
    >>> from rankhash import LSH, RankNeighborsTransformer
    >>> X = [[0, 1], [1, 0.1], [1, 0], [0.1, 1]]
    >>> RankNeighborsTransformer(LSH(32, random_state=0), n_neighbors=1).fit_transform(X).shape
    (4, 4)
    """

    def __init__(
        self,
        hasher: Hasher | None = None,
        *,
        mode: str = "distance",
        n_neighbors: int = 5,
        radius: float = 1.0,
        rerank: int = 0,
        index: str = "tables",
        n_threads: int | None = None,
    ) -> None:
        super().__init__(
            hasher, n_neighbors=n_neighbors, radius=radius, rerank=rerank, index=index, n_threads=n_threads
        )
        self.mode = mode

    def fit(self, X: Any, y: Any = None) -> Self:
        """The transformer itself, after it has fitted the hasher to ``X`` (and ``y``) and indexed the codes."""
        _check_mode(self.mode)
        super().fit(X, y)
        self._n_features_out = self.n_samples_fit_
        return self

    def transform(self, X: Any) -> csr_matrix:
        """The graph ``(n, n_samples_fit_)`` of the vectors of ``X``."""
        check_is_fitted(self)
        return self.kneighbors_graph(X, self.n_neighbors + (self.mode == "distance"), mode=self.mode)


def _check_mode(mode: str) -> None:
    if mode not in ("connectivity", "distance"):
        raise InvalidInputError(f'mode must be "connectivity" or "distance", got {mode!r}')


def _without_self(distances: F32, rows: I64) -> tuple[F32, I64]:
    """Leave each row's own number out, or the last neighbour where many equals have crowded it out."""
    others = rows != np.arange(len(rows))[:, None]
    others[others.all(axis=1), -1] = False
    shape = (len(rows), rows.shape[1] - 1)
    return distances[others].reshape(shape), rows[others].reshape(shape)


def _rerank(vectors: F32, queries: F32, rows: I64, k: int) -> tuple[F32, I64]:
    """Of the candidates ``rows`` of each query the k nearest, by (Euclidean distance, row)."""
    distances, best = np.empty((len(rows), k), np.float32), np.empty((len(rows), k), np.int64)
    step = max(1, _RERANK_FLOATS // max(1, rows.shape[1] * vectors.shape[1]))
    for start in range(0, len(rows), step):
        part = slice(start, start + step)
        apart = vectors[rows[part]] - queries[part, None, :]
        lengths = np.sqrt(np.einsum("qkd,qkd->qk", apart, apart))
        order = np.lexsort((rows[part], lengths))[:, :k]
        distances[part] = np.take_along_axis(lengths, order, axis=1)
        best[part] = np.take_along_axis(rows[part], order, axis=1)
    return distances, best


def _rows_of(values: NDArray[Any], offsets: NDArray[Any]) -> NDArray[Any]:
    """The rows of ragged data as an array of arrays."""
    out = np.empty(len(offsets) - 1, dtype=object)
    out[:] = np.split(values, offsets[1:-1]) if len(out) > 1 else [values] * len(out)
    return out
