"""The SQLite file of a collection: creating it, opening it, and its settings."""

from __future__ import annotations

import contextlib
import os
import secrets
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from .. import _files
from ..errors import InvalidInputError, StorageError
from ..hashers import hasher_to_bytes
from . import _facets
from ._connections import MEMORY, Connections, connect, prepare, translated
from ._encoding import NO_HASHER, NO_VECTORS, Encoding, read_encoding
from ._schema import Counters, SettingValue, check_schema, create_tables, read_counters, read_setting
from ._transaction import Transaction
from ._upgrade import upgrade
from .results import Stats

if TYPE_CHECKING:
    from ..hashers import Hasher

Settings = dict[str, SettingValue]


class Database:
    """The file of one collection, or its tables in memory."""

    def __init__(self, connections: Connections) -> None:
        self.connections = connections
        with connections.reading() as connection:
            check_schema(connection)
            counters = read_counters(connection)
            connections.identity = str(read_setting(connection, "identity", str))
            self._encoding = read_encoding(connection, counters, connections.path)

    @classmethod
    def create(
        cls, path: str, hasher: Hasher | None, store_vectors: str | None, metric: str, recall: float, timeout: float
    ) -> Database:
        """A new file; a failure leaves no file behind."""
        settings: Settings = {
            "hasher": NO_HASHER if hasher is None else hasher_to_bytes(hasher),
            "store_vectors": store_vectors or NO_VECTORS,
            "metric": metric,
            "recall": recall,
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
    def open(cls, path: str, *, writable: bool, timeout: float) -> Database:
        """The existing file."""
        if path == MEMORY:
            raise InvalidInputError("a collection in memory cannot be opened again; make one with Collection.create")
        if not os.path.isfile(path):
            raise StorageError(f"there is no collection {path}; make one with Collection.create or rankhash create")
        return cls(Connections(path, writable=writable, timeout=timeout))

    def encoding_of(self, connection: sqlite3.Connection, counters: Counters) -> Encoding:
        """The encoding of the commit that a connection sees."""
        known = self._encoding
        if known.number != counters.encoding:
            known = self._encoding = read_encoding(connection, counters, self.connections.path)
        return known

    @property
    def encoding(self) -> Encoding:
        """The encoding of the newest commit that this handle has seen."""
        return self._encoding

    @contextlib.contextmanager
    def transaction(self) -> Iterator[Transaction]:
        """A transaction that is committed whole, or undone if anything fails."""
        with self.connections.writing() as connection:
            counters = read_counters(connection)
            encoding = self.encoding_of(connection, counters)
            if encoding.in_rows:
                counters = upgrade(connection, counters, encoding)
                encoding = read_encoding(connection, counters, self.connections.path)
            transaction = Transaction(encoding, connection, counters)
            yield transaction
            transaction.finish()
        self._encoding = transaction.encoding

    def n_items(self) -> int:
        """The number of items of the newest commit."""
        with self.connections.reading() as connection:
            return read_counters(connection).n_items

    def index_field(self, path: str, *, drop: bool) -> None:
        """Index a metadata field, or drop its index."""
        with self.connections.writing() as connection:
            (_facets.drop_field if drop else _facets.add_field)(connection, path)

    def stats(self) -> Stats:
        """The sizes and settings of the newest commit."""
        with self.connections.reading() as connection:
            counters = read_counters(connection)
            encoding = self.encoding_of(connection, counters)
            n_chunks, n_codes = connection.execute("SELECT count(*), ifnull(sum(n), 0) FROM chunks").fetchone()
            pages = [connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "page_size")]
            fields = sorted(_facets.read_fields(connection))
        layout, learned = encoding.layout, encoding.learned
        return Stats(
            n_items=counters.n_items,
            hasher=None if encoding.hasher is None else type(encoding.hasher).__name__,
            fingerprint=None if layout is None else layout.fingerprint,
            n_features=encoding.n_features,
            n_symbols=None if layout is None else layout.n_symbols,
            arity=None if layout is None else layout.arity,
            bits=None if layout is None else layout.bits,
            store_vectors=encoding.store_vectors,
            metric=encoding.metric,
            recall=encoding.recall,
            n_learned=None if learned is None else learned.n_learned,
            recall_measured=None if learned is None else learned.calibration.choose(10, encoding.recall).recall,
            indexed_fields=tuple(_facets.field_name(path) for path in fields),
            n_chunks=n_chunks,
            n_dead_codes=n_codes - counters.n_items,
            generation=counters.generation,
            file_bytes=pages[0] * pages[1],
        )

    def vacuum(self) -> None:
        """Return the space of free pages to the file system."""
        with self.connections.borrowed() as connection:
            connection.execute("VACUUM")
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


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
    """Give a file its final name, without replacing a file that another process made meanwhile."""
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
