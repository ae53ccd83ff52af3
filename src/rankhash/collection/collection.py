"""The public face of a collection."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

from ..errors import InvalidInputError
from ..hashers import Hasher
from ..vectors import as_vectors
from . import _items, _vectors, transfer
from ._connections import MEMORY
from ._following import Following, View
from ._items import Id
from ._memory import KINDS
from ._store import Store
from .check import check_store
from .filters import field_path
from .reading import Reading
from .results import CheckReport, Stats
from .snapshot import Snapshot

if TYPE_CHECKING:
    from typing_extensions import Self

PathLike = str | os.PathLike[str]

MODES = {"r": False, "rw": True}


def _check_index(index: str) -> None:
    if index not in KINDS:
        raise InvalidInputError(f"index must be one of {', '.join(KINDS)}, got {index!r}")


def _reopen(path: str, mode: str, index: str) -> Collection:
    return Collection.open(path, mode, index=index)


class Collection(Reading):
    """Items with ids, metadata and codes in one file, searched in memory.

    Any number of threads and processes may read; one at a time may change it, and others see the change with their
    next call. What a call that changes it has returned from is on the disk. Make one with :meth:`create`, open it with
    :meth:`open`, and close it, best with ``with``.

    Order of results: by distance; of equal distances the item that was added earlier comes first. An item that was
    replaced counts as added when it was replaced.

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

    def __init__(self, store: Store, index: str = "auto") -> None:
        self._store = store
        self._index = index
        self._following = Following(store, index)

    @classmethod
    def create(
        cls,
        path: PathLike,
        hasher: Hasher,
        *,
        store_vectors: str | None = None,
        index: str = "auto",
        timeout: float = 5.0,
    ) -> Collection:
        """A new, empty collection, open for changes.

        Parameters
        ----------
        path
            The file to make, which must not be there yet; or ``":memory:"``.
        hasher
            A fitted hasher; it is kept in the file.
        store_vectors
            ``"float16"`` or ``"float32"`` to keep the vectors as well, for re-ranking; None for codes alone.
        index
            What searches of this handle read, always with the same answers: see :meth:`open`.
        timeout
            Seconds to wait for somebody else who is writing.
        """
        if not isinstance(hasher, Hasher):
            raise InvalidInputError(f"hasher must be a fitted rankhash hasher, got {hasher!r:.80}")
        if store_vectors is not None and store_vectors not in _vectors.DTYPES:
            raise InvalidInputError(f'store_vectors must be None, "float16" or "float32", got {store_vectors!r}')
        _check_index(index)
        return cls(Store.create(os.fspath(path), hasher, store_vectors or "none", timeout), index)

    @classmethod
    def open(cls, path: PathLike, mode: str = "r", *, index: str = "auto", timeout: float = 5.0) -> Collection:
        """The collection of a file, for reading (``"r"``) or also for changes (``"rw"``).

        Searches compare all codes, or with ``index="tables"`` look them up in hash tables, which are made in memory by
        a thread beside the searches, from the second one on, and take some 12 bytes a code and table more; ``"flat"``
        never has them, ``"auto"`` from a million codes on. Answers are always the same. :meth:`stats` says which is
        in use.
        """
        if mode not in MODES:
            raise InvalidInputError(f'mode must be "r" or "rw", got {mode!r}')
        _check_index(index)
        return cls(Store.open(os.fspath(path), writable=MODES[mode], timeout=timeout), index)

    # -- what it is ------------------------------------------------------------------------------------------------

    @property
    def path(self) -> str:
        """The file, or ``":memory:"``."""
        return self._store.connections.path

    @property
    def mode(self) -> str:
        """``"r"`` or ``"rw"``."""
        return "rw" if self._store.connections.writable else "r"

    def __repr__(self) -> str:
        layout = self.layout
        return f"Collection({self.path!r}, {layout.n_symbols} symbols of arity {layout.arity}, mode={self.mode!r})"

    def close(self) -> None:
        """Close the file; a collection in memory is gone."""
        self._following.stop()
        self._store.connections.close()

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

    # -- changes ---------------------------------------------------------------------------------------------------

    def add(
        self,
        vectors: ArrayLike,
        ids: Sequence[Id] | ArrayLike | None = None,
        metadata: Sequence[dict[str, Any] | None] | None = None,
    ) -> list[Id]:
        """Add items and return their ids: all of them, or on any error none.

        Parameters
        ----------
        vectors
            (n, n_features)
        ids
            Integers or strings that are not in the collection; without them items get the numbers after the largest
            integer id so far.
        metadata
            A dict that JSON can hold, or None, for each vector.
        """
        batch = self._batch(vectors, ids, metadata)
        with self._store.changing() as change:
            return batch.add_to(change)

    def add_codes(
        self,
        codes: ArrayLike,
        ids: Sequence[Id] | ArrayLike | None = None,
        metadata: Sequence[dict[str, Any] | None] | None = None,
    ) -> list[Id]:
        """Add items whose codes ``(n, n_bytes)`` were made by this collection's hasher; otherwise as :meth:`add`."""
        self._refuse_codes()
        batch = transfer.Batch.of(self.layout.check(codes), None, ids, metadata)
        with self._store.changing() as change:
            return batch.add_to(change)

    def upsert(
        self,
        vectors: ArrayLike,
        ids: Sequence[Id] | ArrayLike,
        metadata: Sequence[dict[str, Any] | None] | None = None,
    ) -> None:
        """Replace the items of ids that are in the collection, metadata included, and add the others."""
        batch = self._batch(vectors, ids, metadata)
        with self._store.changing() as change:
            batch.replace_in(change)

    def delete(self, ids: Sequence[Id] | ArrayLike | None = None, *, where: str | None = None) -> int:
        """Remove items by their ids, or those that a filter passes; returns how many.

        An id that is not in the collection is an error, and then nothing is removed.
        """
        if (ids is None) == (where is None):
            raise InvalidInputError("delete needs either ids or where")
        names = None if ids is None else _items.as_ids(ids)
        with self._store.changing() as change:
            if names is None:
                numbers = self._following.passing(change.connection, change.state, str(where))
            else:
                numbers = _items.find_all(change.connection, names)
            change.remove(numbers)
        return len(numbers)

    def compact(self) -> None:
        """Drop what removed items left behind and give the room back to the disk."""
        with self._store.changing() as change:
            change.compact()
        self._store.vacuum()

    def index_field(self, field: str, *, drop: bool = False) -> None:
        """Make an index of a metadata field, such as ``"price"`` or ``"size.width"``, or drop it.

        Filters give the same answers with and without; with it, the first use of a filter that passes few items is
        fast.
        """
        self._store.index_field(field_path(field), drop=drop)

    def _batch(self, vectors: Any, ids: Any, metadata: Any) -> transfer.Batch:
        codes = self.hasher.encode(vectors)
        stored = None
        if self.store_vectors is not None:
            stored = _vectors.rounded(as_vectors(vectors), self.store_vectors)
        return transfer.Batch.of(codes, stored, ids, metadata)

    def _refuse_codes(self) -> None:
        if self.store_vectors is not None:
            raise InvalidInputError("this collection stores vectors, so that codes alone cannot be added; use add")

    # -- reading ---------------------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def snapshot(self) -> Iterator[Snapshot]:
        """The newest commit, for several questions that must see the same items; for one thread.

        Changes that others make meanwhile are not seen in it; keep it short, since they may have to wait for its end.

        Examples
        --------
        >>> from rankhash import LSH, Collection
        >>> items = Collection.create(":memory:", LSH(8, random_state=0).fit([[1, 2], [2, 1]]))
        >>> _ = items.add([[1, 2], [2, 1]], metadata=[{"size": 1}, {"size": 2}])
        >>> with items.snapshot() as now:
        ...     [item.metadata for item in now.get(now.ids(where="size > 1"))]
        [{'size': 2}]
        """
        with self._following.now() as view:
            yield Snapshot(self._store, self._following, view)

    def _now(self) -> contextlib.AbstractContextManager[View]:
        return self._following.now()

    def __len__(self) -> int:
        return self._store.state().n_items

    # -- care ------------------------------------------------------------------------------------------------------

    def stats(self) -> Stats:
        """How large the collection is, and what it is made of."""
        index, index_bytes = self._following.index_state()
        return replace(self._store.stats(), index=index, index_bytes=index_bytes)

    def check(self) -> CheckReport:
        """Read everything once and say what is damaged."""
        return check_store(self._store)

    def export_file(
        self, path: PathLike, *, words: bool = False, progress: Callable[[int], object] | None = None
    ) -> int:
        """Write all items, in the order in which they were added, to a .parquet, .jsonl or .npy file (codes alone).

        ``words`` adds the columns ``w0``, ``w1``, … of numbers to a .parquet file, by which other engines compare
        codes: see :meth:`CodeLayout.words`. Returns how many; ``progress`` is called with the number written so far.
        """
        return transfer.export_file(self._store, os.fspath(path), progress, words=words)

    def import_file(
        self,
        path: PathLike,
        key: str | None = None,
        *,
        metadata: Sequence[str] = (),
        replace: bool = False,
        progress: Callable[[int], object] | None = None,
    ) -> int:
        """Add the vectors of a file, or the items of an exported one, block by block in one change.

        Parameters
        ----------
        path, key, metadata
            As in :func:`rankhash.readers.open_vectors`.
        replace
            Whether items whose ids are in the collection are replaced; otherwise they are an error.
        progress
            Called with the number of items so far.

        Returns
        -------
        int
            How many; on any error none are added.
        """
        return transfer.import_file(self, os.fspath(path), key, metadata, replace=replace, progress=progress)
