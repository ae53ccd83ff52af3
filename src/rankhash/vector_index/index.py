"""The index that people use for true neighbours: `VectorIndex`."""

from __future__ import annotations

from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .. import _kernels
from .._checks import check_flag, check_ids, check_integer, check_number, new_ids
from .._types import F32, I64
from ..duplicates import Pairs
from ..duplicates.vectors import MAX_PAIRS, near_vector_pairs
from ..errors import InvalidInputError, TakenIdError, UnknownIdError
from ..neighbors import Neighbors
from ..vectors import as_vectors
from ._description import describe
from ._engine import Engine
from ._metric import prepare, storable, true_distances
from ._options import Options
from ._state import read_engine, write_engine


class VectorIndex:
    """The true nearest neighbours of vectors, at 16 to 64 bytes of memory per vector beside the vectors themselves.

    Vectors are grouped in cells around centroids and encoded as short codes. A search scans the codes of the nearest
    cells and re-ranks the best candidates by their true distances. How many cells and candidates the recall takes is
    measured on the stored vectors when the index learns, at the first ``add`` of more than 2²⁰ numbers (10,000 vectors
    of 100 dimensions), or 2²² in fewer than 10,000 vectors. Smaller sets are searched exactly.

    Parameters
    ----------
    metric
        ``"cosine"`` (default), ``"euclidean"`` or ``"dot"``. Distances are 1 - cosine, the Euclidean distance, and the
        negative inner product.
    recall
        The share of the true neighbours that searches find on average; default 0.95.
    bytes_per_vector
        Bytes of a code, 4 to 128; default ``"auto"``: 16 to 64, by the covariance of the vectors.
    vectors
        How vectors are stored for true distances: ``"float32"`` (default), ``"float16"``, ``"int8"`` (one factor per
        vector), or None: codes only, whose distances are approximate.
    n_cells
        Number of cells; default ``"auto"``: about 3 √n.
    n_probes, n_candidates
        Cells that a search scans, and codes that it re-ranks; default None: as the recall needs.
    random_state
        Seed of everything that is drawn at random; default 0.
    verbose
        Whether a bar is shown on a terminal if learning takes longer than a second; default True.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(1000, 8))
    >>> index = VectorIndex(metric="euclidean")
    >>> ids = index.add(X)
    >>> found = index.search(X[:2], k=3)
    >>> found.ids[:, 0], found.distances.shape
    (array([0, 1]), (2, 3))
    """

    kind = "vectors"

    def __init__(
        self,
        metric: str = "cosine",
        *,
        recall: float = 0.95,
        bytes_per_vector: int | str = "auto",
        vectors: str | None = "float32",
        n_cells: int | str = "auto",
        n_probes: int | None = None,
        n_candidates: int | None = None,
        random_state: int = 0,
        verbose: bool = True,
    ) -> None:
        self._options = Options.checked(
            metric=metric,
            recall=recall,
            bytes_per_vector=bytes_per_vector,
            vectors=vectors,
            n_cells=n_cells,
            n_probes=n_probes,
            n_candidates=n_candidates,
            random_state=random_state,
            verbose=verbose,
        )
        self._engine: Engine | None = None

    # -- what it holds ---------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return 0 if self._engine is None else len(self._engine.ids)

    def __repr__(self) -> str:
        of = "" if self._engine is None else f" of {self._engine.n_features} dimensions"
        return f"VectorIndex({len(self)} vectors{of}, metric={self.metric!r}, recall={self._options.recall:g})"

    @property
    def metric(self) -> str:
        """The metric: ``"cosine"``, ``"euclidean"`` or ``"dot"``."""
        return self._options.metric

    @property
    def n_features(self) -> int | None:
        """Dimensions of the vectors; None while the index has seen none."""
        return None if self._engine is None else self._engine.n_features

    @property
    def ids(self) -> I64:
        """The ids of all vectors, ascending."""
        if self._engine is None:
            return np.empty(0, np.int64)
        return self._engine.ids.ids[self._engine.ids.living()]

    @property
    def nbytes(self) -> int:
        """Bytes of memory that codes, cells and ids take, beside the vectors; see ``describe`` for both."""
        return 0 if self._engine is None else self._engine.index_bytes

    # -- vectors in and out ----------------------------------------------------------------------------------------

    def fit(self, X: Any) -> VectorIndex:
        """The index itself, after it has learned cells and codes from a sample of the vectors that will be added.

        Without ``fit`` the first ``add`` of enough vectors learns from these. Only an empty index can be fitted.
        """
        if len(self):
            raise InvalidInputError("only an empty index can be fitted; the vectors that are in it were learned from")
        sample = storable(self._vectors(X, "X"), self._options.vectors)
        engine = Engine(self._options, sample.shape[1])
        engine.learn(sample)
        self._engine = engine
        return self

    def add(self, X: Any, ids: ArrayLike | None = None) -> I64:
        """Add vectors ``(n, d)`` and return their ids.

        Without ``ids`` the vectors get the numbers after the largest id so far, from 0 on. Given ids are non-negative
        64-bit integers that are not in the index.
        """
        vectors = storable(self._vectors_or_none(X, "X"), self._options.vectors)
        first = 0 if self._engine is None else self._engine.ids.next_id
        numbers = new_ids(first, len(vectors)) if ids is None else check_ids(ids, len(vectors), "vectors")
        if self._engine is not None and ids is not None:
            taken = self._engine.ids.rows_of(numbers) >= 0
            if taken.any():
                raise TakenIdError(f"id {numbers[taken][0]} is already in the index; upsert replaces vectors")
        if len(vectors):
            engine = self._ready(vectors.shape[1])
            engine.add(vectors, numbers)
            self._engine = engine
        return numbers

    def upsert(self, X: Any, ids: ArrayLike) -> None:
        """Replace the vectors of ids that are in the index and add the others."""
        vectors = storable(self._vectors_or_none(X, "X"), self._options.vectors)
        numbers = check_ids(ids, len(vectors), "vectors")
        if not len(vectors):
            return
        engine = self._ready(vectors.shape[1])
        engine.upsert(vectors, numbers)
        self._engine = engine

    def remove(self, ids: ArrayLike) -> None:
        """Remove vectors by their ids; an id that is not in the index is an error, and then nothing is removed."""
        numbers = check_ids(ids, None)
        if not len(numbers):
            return
        engine, rows = self._found(numbers)
        engine.remove(rows)

    def get(self, ids: ArrayLike) -> F32:
        """The stored vectors ``(n, d)`` of the given ids: of unit length for the cosine, rounded as they are stored."""
        numbers = check_ids(ids, None, unique=False)
        if not len(numbers):
            return np.empty((0, self.n_features or 0), np.float32)
        engine, rows = self._found(numbers)
        return engine.vectors_of(rows)

    def compact(self) -> None:
        """Give back the room of removed vectors at once; it is also done when a quarter of the rows are removed."""
        if self._engine is not None:
            self._engine.compact()

    # -- search ----------------------------------------------------------------------------------------------------

    def search(
        self,
        Q: Any,
        k: int = 10,
        *,
        recall: float | None = None,
        filter: ArrayLike | None = None,
        exact: bool = False,
        n_threads: int | None = None,
    ) -> Neighbors:
        """The k nearest vectors of each query ``(n, d)``, by true distance, of equal distances the smaller id first.

        Parameters
        ----------
        k
            Neighbours per query; default 10. Places that cannot be filled have id -1 and an infinite distance.
        recall
            The share of the true neighbours to find; default None: as the index was made with.
        filter
            Which vectors may be found: their ids, or a boolean mask over the ids in ascending order; default None: all.
        exact
            Whether all vectors are compared, so that every true neighbour is found; default False.
        n_threads
            Threads; default None: all cores. Answers do not depend on their number.
        """
        wanted = self._options.recall if recall is None else check_number("recall", recall, 0, 1)
        k = check_integer("k", k)
        queries = self._vectors_or_none(Q, "Q")
        if len(queries) * k > 2**40:
            raise InvalidInputError(f"{len(queries)} queries with k={k} ask for more results than fit in memory")
        threads = _kernels.resolve_threads(n_threads)
        if self._engine is None:
            shape = (len(queries), k)
            return Neighbors(np.full(shape, -1, np.int64), np.full(shape, np.inf, np.float32))
        exact = check_flag("exact", exact) or wanted == 1
        found, distances = self._engine.search(queries, k, wanted, filter, exact, threads)
        return Neighbors(found, true_distances(distances, self.metric))

    def near_pairs(
        self,
        threshold: float,
        *,
        recall: float | None = None,
        exact: bool = False,
        max_pairs: int | None = MAX_PAIRS,
        n_threads: int | None = None,
    ) -> Pairs:
        """All pairs of vectors whose cosine is at least ``threshold``, or whose distance is at most ``threshold``.

        Every stored vector is searched; a pair that either of its members finds is confirmed by true distance.

        Parameters
        ----------
        threshold
            The smallest cosine for the metric ``"cosine"``, up to a rounding of 10⁻⁶; the largest distance for
            ``"euclidean"``.
        recall, exact, n_threads
            As in [`VectorIndex.search`][rankhash.VectorIndex.search]; None, False and None by default.
        max_pairs
            More pairs are an error; 100,000,000 by default, None for no limit.
        """
        return near_vector_pairs(self, threshold, recall=recall, exact=exact, max_pairs=max_pairs, n_threads=n_threads)

    def describe(self) -> dict[str, Any]:
        """What the index has chosen and measured: cells, bytes, recall, memory and expected time per query."""
        facts: dict[str, Any] = {"metric": self.metric, "recall": self._options.recall, "n_vectors": len(self)}
        return facts if self._engine is None else facts | describe(self._engine)

    # -- files -----------------------------------------------------------------------------------------------------

    def save(self, path: str | PathLike[str]) -> None:
        """Write the index to one file, all of it or nothing."""
        if self._engine is None:
            raise InvalidInputError("an index without vectors cannot be saved; add some first")
        write_engine(path, self._engine, self.kind)

    @classmethod
    def load(cls, path: str | PathLike[str], *, mmap: bool = False, verify: bool = True) -> VectorIndex:
        """The index that ``save`` wrote.

        With ``mmap`` (default False) vectors and codes stay in the file and are shared between processes; ``verify``
        (default True) compares the checksums, which reads the whole file once.
        """
        engine = read_engine(path, cls.kind, mmap=mmap, verify=verify)
        index = cls.__new__(cls)
        index._options, index._engine = engine.options, engine
        return index

    def _vectors_or_none(self, X: Any, name: str) -> F32:
        """Vectors as `_vectors` gives them, or an empty array ``(0, d)`` of the right dimension."""
        if isinstance(X, np.ndarray) and X.ndim == 2 and not len(X) and self.n_features in (None, X.shape[1]):
            return np.empty(X.shape, np.float32)
        return self._vectors(X, name)

    def _vectors(self, X: Any, name: str) -> F32:
        vectors = as_vectors(X, n_features=self.n_features, name=name, owner="VectorIndex")
        return prepare(vectors, self.metric, name)

    def _ready(self, n_features: int) -> Engine:
        return Engine(self._options, n_features) if self._engine is None else self._engine

    def _found(self, ids: I64) -> tuple[Engine, I64]:
        engine = self._engine
        rows = np.full(len(ids), -1) if engine is None else engine.ids.rows_of(ids)
        if engine is None or (rows < 0).any():
            raise UnknownIdError(f"id {ids[rows < 0][0]} is not in the index")
        return engine, rows
