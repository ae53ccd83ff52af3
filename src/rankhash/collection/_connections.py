"""Connections to a collection's file: each is used by one thread at a time and by one process only.

::

    reading()   a transaction that sees one commit     many at once
    writing()   the only transaction that may change   one at a time; committed whole, or undone
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

from ..errors import BusyError, FileFormatError, RankhashError, StorageError
from ._forking import FORKING
from ._interrupts import interruptible, too_late
from ._schema import read_setting

MEMORY = ":memory:"

PRAGMAS = (
    "PRAGMA trusted_schema = OFF",
    "PRAGMA cell_size_check = ON",
    "PRAGMA synchronous = FULL",
    "PRAGMA secure_delete = FAST",
    "PRAGMA cache_size = -32768",
)

_inherited: list[sqlite3.Connection] = []
"""Connections of the parent process, which a child process must neither use nor close after a fork"""


class Connections:
    """The connections of one collection."""

    def __init__(self, path: str, *, writable: bool, timeout: float) -> None:
        check_sqlite()
        self.path = path
        self.writable = writable
        self.timeout = timeout
        self.identity: str | None = None
        """The identity that the file's settings hold, once it is known"""
        self._inode: tuple[int, int] | None = None
        self._owner = os.getpid()
        self._closed = False
        self._free: list[sqlite3.Connection] = []
        self._free_lock = threading.Lock()
        self._memory_lock = threading.RLock()  # a collection in memory has one connection
        self._memory_used = False

    def close(self) -> None:
        """Close the unused connections now and the others when they are returned."""
        self._closed = True
        if self._owner != os.getpid():
            _inherited.extend(self._free)
            self._free = []
        with FORKING.using_sqlite():
            while self._free:
                with contextlib.suppress(sqlite3.Error):
                    self._free.pop().close()

    def check_open(self) -> None:
        """Raise if the collection was closed."""
        if self._closed:
            raise StorageError(f"the collection {self.path} is closed; open it again")

    @contextlib.contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """A connection in a transaction that sees one commit and changes nothing."""
        with self.borrowed() as connection:
            connection.execute("BEGIN")
            try:
                yield connection
            finally:
                _roll_back(connection)

    @contextlib.contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """A connection in the only transaction that may change the file; it is committed whole, or undone."""
        self.check_writable()
        with self.borrowed() as connection:
            connection.execute("BEGIN IMMEDIATE")
            try:
                self.check_file()
                yield connection
                self.check_file()
                connection.execute("COMMIT")
            except BaseException:
                _roll_back(connection)
                raise

    def check_writable(self) -> None:
        """Raise if the collection was opened for reading."""
        if not self.writable:
            raise StorageError(f'{self.path} was opened for reading; open it with mode="rw" to change it')

    def check_file(self) -> None:
        """Raise if the path no longer leads to the open file: later changes would be lost."""
        if self._inode is not None and _inode(self.path) != self._inode:
            raise StorageError(f"{self.path} was deleted or replaced by another file; open it again")

    @contextlib.contextmanager
    def borrowed(self) -> Iterator[sqlite3.Connection]:
        """A connection outside any transaction; errors of SQLite become errors of this package."""
        self._check_process()
        alone = self._alone() if self.path == MEMORY else contextlib.nullcontext()
        with FORKING.using_sqlite(), alone, self._errors():
            self.check_open()
            connection = self._take()
            try:
                with interruptible(connection):
                    yield connection
            finally:
                self._give(connection)

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        """Hold the one connection of a collection in memory."""
        with self._memory_lock:
            if self._memory_used:
                raise StorageError("a collection in memory is used by an open snapshot of this thread; close it first")
            self._memory_used = True
            try:
                yield
            finally:
                self._memory_used = False

    def adopt(self, connection: sqlite3.Connection) -> None:
        """Add a connection that was made elsewhere to the unused ones."""
        self._give(connection)

    def _take(self) -> sqlite3.Connection:
        with self._free_lock:
            if self._free:
                return self._free.pop()
        inode = _inode(self.path)
        connection = connect(self.path, writable=self.writable, timeout=self.timeout)
        if self.identity is not None and read_setting(connection, "identity", str) != self.identity:
            connection.close()
            raise StorageError(f"{self.path} was replaced by another collection; open it again")
        if self._inode is None:
            self._inode = inode
        elif inode != self._inode:
            connection.close()
            raise StorageError(f"{self.path} was deleted or replaced by another file; open it again")
        return connection

    def _give(self, connection: sqlite3.Connection) -> None:
        if self._owner != os.getpid():  # forked while it was in use
            _inherited.append(connection)
            return
        with self._free_lock:
            if not self._closed:
                self._free.append(connection)
                return
        connection.close()

    def _check_process(self) -> None:
        if self._owner == os.getpid():
            return
        if self.path == MEMORY:
            raise StorageError("a collection in memory stays in the process that made it; use a file to share it")
        _inherited.extend(self._free)
        self._free, self._owner = [], os.getpid()
        self._free_lock, self._memory_lock = threading.Lock(), threading.RLock()

    @contextlib.contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except FileFormatError as error:
            if str(error).startswith(("is ", "has ", "holds ")):
                raise FileFormatError(f"{self.path} {error}") from error
            raise
        except sqlite3.Error as error:
            raise translated(error, self.path, self.timeout) from error
        except (UnicodeError, OverflowError) as error:  # input is checked before, so it comes from the file
            raise FileFormatError(f"{self.path} is damaged: its text or its numbers cannot be read") from error


def _inode(path: str) -> tuple[int, int] | None:
    """The device and inode of a file; None if there is none."""
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino


def connect(path: str, *, writable: bool, timeout: float) -> sqlite3.Connection:
    """A connection to an existing file, read-only unless ``writable``."""
    location = Path(os.path.abspath(path))
    can_write = os.access(location, os.W_OK) and os.access(location.parent, os.W_OK)
    if writable and not can_write:
        raise StorageError(f'{path} cannot be written here; open it with mode="r"')
    if can_write:
        return _connect(location, "mode=rw", timeout, query_only=not writable)
    try:
        return _connect(location, "mode=ro", timeout, query_only=True)
    except sqlite3.OperationalError:
        log = Path(f"{location}-wal")
        if log.exists() and log.stat().st_size:
            raise
        return _connect(location, "immutable=1", timeout, query_only=True)


def check_sqlite() -> None:
    """Raise if Python's SQLite is too old for STRICT tables and JSON."""
    if sqlite3.sqlite_version_info < (3, 38):
        raise StorageError(f"collections need SQLite 3.38 or later, this Python has {sqlite3.sqlite_version}")


def _connect(location: Path, mode: str, timeout: float, *, query_only: bool) -> sqlite3.Connection:
    connection = sqlite3.connect(
        f"file:{quote(str(location))}?{mode}", timeout, isolation_level=None, check_same_thread=False, uri=True
    )
    try:
        connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
        prepare(connection, query_only=query_only)
    except BaseException:
        connection.close()
        raise
    return connection


def prepare(connection: sqlite3.Connection, *, query_only: bool) -> None:
    """Set the options that every connection needs."""
    for statement in PRAGMAS:
        connection.execute(statement)
    if query_only:
        connection.execute("PRAGMA query_only = ON")


def _roll_back(connection: sqlite3.Connection) -> None:
    with contextlib.suppress(sqlite3.Error):
        if connection.in_transaction:
            connection.execute("ROLLBACK")


def translated(error: sqlite3.Error, path: str, timeout: float) -> RankhashError:
    """The error of this package for an error of SQLite."""
    text = str(error)
    if text == "interrupted":
        return too_late()
    if "locked" in text or "busy" in text:
        return BusyError(
            f"timed out after {timeout:g} s waiting for another writer of {path}; "
            "try again later, or open it with a larger timeout"
        )
    if "full" in text:
        return StorageError(f"the disk of {path} is full; the change was undone")
    if "readonly" in text or "read-only" in text:
        return StorageError(f"{path} cannot be written: {text}")
    if "unable to open" in text or "I/O error" in text:
        return StorageError(f"{path} cannot be read or written: {text}; the change was undone")
    if "not a database" in text:
        return FileFormatError(f"{path} is not a rankhash collection")
    return FileFormatError(f"{path} is damaged: {text}; `rankhash check` says where")
