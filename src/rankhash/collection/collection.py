"""The public class of a collection."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from numpy.typing import ArrayLike

from .. import hashers
from .._checks import check_choice, check_number
from .._ids import Id
from ..duplicates.pairs import MAX_PAIRS
from ..errors import InvalidInputError
from ..vector_index.numbered import METRICS
from . import _vectors
from ._connections import MEMORY
from ._database import Database
from ._duplicates import ItemPairs, pairs_of_items, pairs_with_items
from ._learner import Learner
from ._reader import Reader
from ._replica import KINDS
from ._view import View
from ._write_methods import WriteMethods
from .snapshot import Snapshot

if TYPE_CHECKING:
    from typing_extensions import Self

    from ..hashers import Hasher

PathLike = str | os.PathLike[str]

MODES = {"r": False, "rw": True}
INDEXES = tuple(KINDS)


def _reopen(path: str, mode: str, index: str) -> Collection:
    return Collection.open(path, mode, index=index)


class Collection(WriteMethods):
    """Items with ids, metadata and codes in one file, searched in memory.

    Any number of threads and processes may read a collection; one at a time may change it. Changes are durable once
    the call returns, and other handles see them with their next call. [`Collection.create`][rankhash.Collection.create]
    makes a collection, [`Collection.open`][rankhash.Collection.open] opens one; use it in a ``with`` block or close it.

    Results are ordered by distance; at equal distance the item that was added earlier comes first. An item that is
    replaced counts as added at its replacement.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from rankhash import RSH, Collection
    >>> X, y = load_digits(return_X_y=True)
    >>> hasher = RSH(n_symbols=16, arity=4, random_state=0).fit(X)
    >>> digits = Collection.create(":memory:", hasher, store_vectors="float16")
    >>> names = [f"digit-{i}" for i in range(len(X))]
    >>> _ = digits.add(X, ids=names, metadata=[{"digit": int(label)} for label in y])
    >>> digits.search(X[:1], k=1, where="digit = 0").ids
    array([['digit-0']], dtype=object)
    >>> digits.count("digit in (3, 4)")
    364
    """

    def __init__(self, database: Database, index: str = "auto") -> None:
        self._database = database
        self._index = index
        self._reader = Reader(database, index)
        self._learner = Learner(database, self._reader)

    @classmethod
    def create(
        cls,
        path: PathLike | None,
        hasher: Hasher | None = None,
        *,
        metric: str | None = None,
        recall: float = 0.95,
        store_vectors: str | None = None,
        index: str = "auto",
        timeout: float = 5.0,
    ) -> Collection:
        """A new, empty collection, open for changes.

        Parameters
        ----------
        path
            The file to make, which must not exist; ``":memory:"`` or None for a collection in memory.
        hasher
            A fitted hasher, which is stored in the file. None (the default) stores the vectors and compares them by the
            metric.
        metric
            The metric of vectors: ``"cosine"``, ``"euclidean"`` or ``"dot"``, with the distances 1 - cosine, the
            Euclidean distance, and the negative inner product. None (the default) is ``"cosine"``; with a hasher,
            whose codes are compared first, ``"euclidean"``.
        recall
            The fraction of the true neighbours that searches without a hasher find on average; 0.95 by default.
        store_vectors
            ``"float16"`` or ``"float32"`` stores the vectors. None (the default) stores them as ``"float32"`` without
            a hasher; with a hasher, which needs them only for re-ranking, they are not stored.
        index
            The index in memory, as in [`Collection.open`][rankhash.Collection.open]; ``"auto"`` by default.
        timeout
            Seconds to wait for another writer; 5 by default.
        """
        if hasher is not None and not isinstance(hasher, hashers.Hasher):
            raise InvalidInputError(f"hasher must be a fitted rankhash hasher or None, got {hasher!r:.80}")
        if store_vectors is not None and store_vectors not in _vectors.DTYPES:
            raise InvalidInputError(f'store_vectors must be None, "float16" or "float32", got {store_vectors!r}')
        check_choice("index", index, INDEXES)
        recall = check_number("recall", recall, 0, 1)
        if metric is not None:
            check_choice("metric", metric, METRICS)
        if hasher is None:
            metric, store_vectors = metric or "cosine", store_vectors or "float32"
        name = MEMORY if path is None else os.fspath(path)
        return cls(Database.create(name, hasher, store_vectors, metric or "euclidean", recall, timeout), index)

    @classmethod
    def open(cls, path: PathLike, mode: str = "r", *, index: str = "auto", timeout: float = 5.0) -> Collection:
        """The collection of an existing file.

        Parameters
        ----------
        path
            The file.
        mode
            ``"r"`` (the default) for reading, ``"rw"`` also for changes.
        index
            The index in memory; results are the same with each. ``"flat"`` compares all codes. ``"lookup"`` looks them
            up in hash tables, which take about 12 bytes per code and table; a thread builds them from the second search
            on. ``"auto"`` (the default) has hash tables from a million codes on.
            [`Collection.stats`][rankhash.Collection.stats] shows which is in use.
        timeout
            Seconds to wait for another writer; 5 by default.
        """
        if mode not in MODES:
            raise InvalidInputError(f'mode must be "r" or "rw", got {mode!r}')
        check_choice("index", index, INDEXES)
        collection = cls(Database.open(os.fspath(path), writable=MODES[mode], timeout=timeout), index)
        collection._learner.consider(len(collection))
        return collection

    # -- the handle ------------------------------------------------------------------------------------------------

    @property
    def path(self) -> str:
        """The file, or ``":memory:"``."""
        return self._database.connections.path

    @property
    def mode(self) -> str:
        """``"r"`` or ``"rw"``."""
        return "rw" if self._database.connections.writable else "r"

    def __repr__(self) -> str:
        layout, metric = self.layout, self.metric
        what = f"{metric=}" if layout is None else f"{layout.n_symbols} symbols of arity {layout.arity}"
        return f"Collection({self.path!r}, {what}, mode={self.mode!r})"

    def close(self) -> None:
        """Close the file; a collection in memory is discarded."""
        self._learner.stop()
        self._reader.stop()
        self._database.connections.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        with contextlib.suppress(AttributeError):
            self.close()

    def __reduce__(self) -> tuple[Callable[..., Collection], tuple[str, str, str]]:
        if self.path == MEMORY:
            raise InvalidInputError("a collection in memory stays in its process; use a file to share it")
        return _reopen, (os.path.abspath(self.path), self.mode, self._index)

    # -- reading ---------------------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def snapshot(self, *, timeout: float | None = None, warn: bool = True) -> Iterator[Snapshot]:
        """The newest commit, for several reads that must see the same items; for one thread.

        Changes of others are not visible in it. Keep it short, since changes may have to wait for its end.

        Parameters
        ----------
        timeout
            Seconds after which a search, or a read of the file, for example by a filter, is interrupted with
            DeadlineError; None (the default) for no limit.
        warn
            Whether filters that test fields which no item has give a warning; True by default.

        Examples
        --------
        >>> from rankhash import LSH, Collection
        >>> items = Collection.create(":memory:", LSH(8, random_state=0).fit([[1, 2], [2, 1]]))
        >>> _ = items.add([[1, 2], [2, 1]], metadata=[{"size": 1}, {"size": 2}])
        >>> with items.snapshot() as now:
        ...     [item.metadata for item in now.get(now.ids(where="size > 1"))]
        [{'size': 2}]
        """
        deadline = None if timeout is None else time.monotonic() + timeout
        with self._reader.view(deadline, warn=warn) as view:
            yield Snapshot(self._database, self._reader, view, deadline)

    def find_duplicates(
        self, vectors: ArrayLike | None = None, *, radius: float, max_pairs: int | None = MAX_PAIRS
    ) -> ItemPairs:
        """Pairs of items whose codes are at most ``radius`` apart, or of given vectors and the items near them.

        Parameters
        ----------
        vectors
            Vectors (n, n_features) to compare with the items; None (the default) compares the items with each other.
        radius
            The largest distance of codes.
        max_pairs
            Largest number of pairs of items; 1,000,000,000 by default, None for no limit. More are an error, which is
            raised before the search if a sample shows it.
        """
        if vectors is not None:
            return pairs_with_items(self, vectors, radius)
        with self.snapshot() as now:
            kept = now.get(now.ids(), vectors=self.hasher is None)
        return pairs_of_items(self, kept, radius, max_pairs)

    def duplicate_groups(self, *, radius: float, max_pairs: int | None = MAX_PAIRS) -> list[list[Id]]:
        """Groups of two or more items that near pairs connect, each in the order in which its items were added.

        Equal codes are compared once, so that exact copies cost little.

        Parameters
        ----------
        radius
            The largest distance of codes; without a hasher, of vectors in the collection's metric.
        max_pairs
            Largest number of pairs of items; 1,000,000,000 by default, None for no limit. More are an error, which is
            raised before the search if a sample shows it.
        """
        with self.snapshot() as now:
            return now.duplicate_groups(radius=radius, max_pairs=max_pairs)

    def _view(self) -> contextlib.AbstractContextManager[View]:
        return self._reader.view()

    def __len__(self) -> int:
        return self._database.n_items()
