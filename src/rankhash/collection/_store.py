"""The file of a collection: making it, opening it, and the transactions that change it.

Everything that changes the tables is here, so that what belongs together changes together.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from .. import _files
from ..codes import CodeLayout
from ..errors import FileFormatError, IdError, InvalidInputError, StorageError
from ..hashers import Hasher, hasher_from_bytes, hasher_to_bytes
from . import _chunks, _items, _removed, _vectors, _where
from ._connections import MEMORY, Connections, connect, prepare, translated
from ._items import Id
from ._schema import State, check_schema, create_tables, read_setting, read_state, write_state
from .results import Stats

I64 = NDArray[np.int64]
U8 = NDArray[np.uint8]

Settings = dict[str, str | bytes]

KINDS = ("none", *_vectors.DTYPES)


class Store:
    """The tables of one collection."""

    def __init__(self, connections: Connections) -> None:
        self.connections = connections
        with connections.reading() as connection:
            check_schema(connection)
            read_state(connection)
            self.store_vectors = str(read_setting(connection, "store_vectors", str))
            identity = str(read_setting(connection, "identity", str))
            data = read_setting(connection, "hasher", bytes)
        assert isinstance(data, bytes)
        if self.store_vectors not in KINDS:
            raise FileFormatError(f"{connections.path} is damaged: it stores vectors as {self.store_vectors!r}")
        connections.identity = identity
        self.hasher: Hasher = hasher_from_bytes(data, connections.path)
        self.layout: CodeLayout = self.hasher.layout_

    @classmethod
    def create(cls, path: str, hasher: Hasher, store_vectors: str, timeout: float) -> Store:
        """A new file; it is there whole or not at all."""
        settings: Settings = {
            "hasher": hasher_to_bytes(hasher),
            "store_vectors": store_vectors,
            "identity": secrets.token_hex(16),
        }
        connections = Connections(path, writable=True, timeout=timeout)
        try:
            if path == MEMORY:
                connection = sqlite3.connect(MEMORY, isolation_level=None, check_same_thread=False)
                prepare(connection, query_only=False)
                _fill(connection, settings)
                connections.adopt(connection)
            else:
                _create_file(Path(os.path.abspath(path)), settings)
        except sqlite3.Error as error:
            raise translated(error, path, timeout) from error
        return cls(connections)

    @classmethod
    def open(cls, path: str, *, writable: bool, timeout: float) -> Store:
        """The file that is there."""
        if path == MEMORY:
            raise InvalidInputError("a collection in memory cannot be opened again; make one with Collection.create")
        if not os.path.isfile(path):
            raise StorageError(f"there is no collection {path}; make one with Collection.create or rankhash create")
        return cls(Connections(path, writable=writable, timeout=timeout))

    @contextlib.contextmanager
    def changing(self) -> Iterator[Change]:
        """A change that is kept whole, or not at all if anything fails."""
        with self.connections.writing() as connection:
            change = Change(self, connection, read_state(connection))
            yield change
            change.finish()

    def state(self) -> State:
        """The newest state."""
        with self.connections.reading() as connection:
            return read_state(connection)

    def index_field(self, path: str, *, drop: bool) -> None:
        """Make or drop the index of a metadata field."""
        with self.connections.writing() as connection:
            (_where.drop_field if drop else _where.add_field)(connection, path)

    def stats(self) -> Stats:
        """How large it is, and what it is made of."""
        layout = self.layout
        with self.connections.reading() as connection:
            state = read_state(connection)
            n_chunks, n_codes = connection.execute("SELECT count(*), ifnull(sum(n), 0) FROM chunks").fetchone()
            pages = [connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "page_size")]
            fields = sorted(_where.read_fields(connection))
        return Stats(
            n_items=state.n_items,
            hasher=type(self.hasher).__name__,
            fingerprint=layout.fingerprint,
            n_features=int(self.hasher.n_features_in_),
            n_symbols=layout.n_symbols,
            arity=layout.arity,
            bits=layout.bits,
            store_vectors=None if self.store_vectors == "none" else self.store_vectors,
            indexed_fields=tuple(_where.field_name(path) for path in fields),
            n_chunks=n_chunks,
            n_dead_codes=n_codes - state.n_items,
            generation=state.generation,
            file_bytes=pages[0] * pages[1],
        )

    def vacuum(self) -> None:
        """Give the room of free pages back to the disk."""
        with self.connections.borrowed() as connection:
            connection.execute("VACUUM")
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


class Change:
    """One open transaction."""

    def __init__(self, store: Store, connection: sqlite3.Connection, state: State) -> None:
        self.store = store
        self.connection = connection
        self.state = state
        self._changed = False

    def add(
        self,
        codes: U8,
        stored: NDArray[Any] | None,
        ids: Sequence[Id] | None,
        texts: Sequence[str | None] | None,
    ) -> list[Id]:
        """Append items and return their ids; without ``ids`` they get the numbers after the largest so far."""
        state = self.state
        own = max(state.next_number, state.next_id)
        if own + len(codes) > _items.LARGEST:
            raise IdError(f"there is no room for {len(codes)} ids after {own - 1}; give ids explicitly")
        numbered = range(own, own + len(codes))
        bare = ids is None or (len(ids) > 0 and ids[0] == own and list(ids) == list(numbered))
        first = own if bare else state.next_number
        names: list[Id] = list(numbered if ids is None else ids)
        named = not bare or (texts is not None and any(text is not None for text in texts))
        if named:
            self._insert_items(first, names, texts)
            _where.fill_fields(self.connection, first)
            state.n_rows += len(names)
        if stored is not None:
            _vectors.insert(self.connection, first, stored)
        _chunks.append(self.connection, self.store.layout, first, codes, named=named)
        self._count(len(codes), first + len(codes), names)
        return names

    def _insert_items(self, first: int, names: list[Id], texts: Sequence[str | None] | None) -> None:
        self._refuse_bare(names)
        try:
            _items.insert(self.connection, first, names, texts)
        except sqlite3.IntegrityError:
            known = _items.find(self.connection, names)
            taken = np.flatnonzero((known >= 0) & (known < first))
            if not len(taken):
                raise
            self._refuse(names[taken[0]])

    def _refuse_bare(self, names: list[Id]) -> None:
        """Raise if an id is the number of an item that has no row."""
        below = [name for name in names if isinstance(name, int) and 0 <= name < self.state.next_number]
        if below:
            taken = np.flatnonzero(_items.find(self.connection, below) >= 0)
            if len(taken):
                self._refuse(below[taken[0]])

    def _refuse(self, name: Id) -> NoReturn:
        raise IdError(f"the id {name!r} is already in the collection; upsert replaces items")

    def _count(self, n: int, next_number: int, names: list[Id]) -> None:
        integers = [name for name in names if isinstance(name, int)]
        self.state.next_id = max(self.state.next_id, max(integers, default=-1) + 1)
        self.state.next_number = next_number
        self.state.n_items += n
        self._changed |= n > 0

    def remove(self, numbers: I64) -> None:
        """Remove items by their numbers, which must all be there."""
        if len(numbers):
            self.state.n_rows -= _items.delete(self.connection, numbers)
            _removed.mark_removed(self.connection, np.sort(numbers), self.state.generation + 1)
            self.state.n_items -= len(numbers)
            self._changed = True

    def compact(self) -> None:
        """Write all chunks anew without the codes of removed items, and forget which items were removed."""
        lasts = [last for (last,) in self.connection.execute("SELECT last FROM chunks ORDER BY last")]
        _chunks.rewrite(self.connection, self.store.layout, lasts)
        self.connection.execute("DELETE FROM removed")
        self.connection.execute("DELETE FROM facets WHERE number NOT IN (SELECT number FROM items)")
        self.state.epoch += 1
        self._changed = True

    def finish(self) -> None:
        """Move the state on, if anything changed."""
        if self._changed:
            self.state.generation += 1
            write_state(self.connection, self.state)


def _create_file(target: Path, settings: Settings) -> None:
    if target.exists():
        raise StorageError(f"{target} is there already; remove it first, or open it")
    if not target.parent.is_dir():
        raise StorageError(f"{target} cannot be made: there is no folder {target.parent}")
    temporary = target.parent / f".rankhash-{secrets.token_hex(8)}.tmp"
    try:
        temporary.touch(exist_ok=False)
        with contextlib.closing(connect(str(temporary), writable=True, timeout=5)) as connection:
            _fill(connection, settings)
        _move(temporary, target)
    except FileExistsError:
        raise StorageError(f"{target} is there already; remove it first, or open it") from None
    except OSError as error:
        if isinstance(error, StorageError):
            raise
        raise StorageError(f"{target} cannot be made: {error.strerror}") from error
    finally:
        for suffix in ("", "-wal", "-shm"):
            with contextlib.suppress(OSError):
                os.unlink(f"{temporary}{suffix}")


def _move(source: Path, target: Path) -> None:
    """Give a file its name for good, without replacing what somebody else made meanwhile."""
    try:
        os.link(source, target)
    except FileExistsError:
        raise
    except OSError:  # a file system without links
        os.rename(source, target)
    _files.sync_folder(target.parent)


def _fill(connection: sqlite3.Connection, settings: Settings) -> None:
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("BEGIN IMMEDIATE")
    create_tables(connection, settings)
    connection.execute("COMMIT")
