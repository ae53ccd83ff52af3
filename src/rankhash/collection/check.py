"""Reading everything once, and saying what is damaged."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator

import numpy as np

from ..errors import FileFormatError, StorageError
from . import _chunks, _items, _removed, _vectors, _where
from ._connections import translated
from ._memory import Memory
from ._schema import read_state
from ._store import Store
from .results import CheckReport

MAX_PROBLEMS = 100


def check_file(path: str | os.PathLike[str], *, timeout: float = 5.0) -> CheckReport:
    """What is damaged in the file of a collection, also if it cannot be opened for that.

    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "x.rankhash"
    ...     _ = path.write_text("no collection")
    ...     len(check_file(path).problems)
    1
    """
    name = os.fspath(path)
    try:
        store = Store.open(name, writable=False, timeout=timeout)
    except FileFormatError as error:
        return CheckReport(0, 0, (str(error).removeprefix(f"{name} "),))
    try:
        return check_store(store)
    finally:
        store.connections.close()


def check_store(store: Store) -> CheckReport:
    """What is damaged in an open collection."""
    problems: list[str] = []
    with store.connections.reading() as connection:
        for part in (_structure, _chunk_problems, _removed_problems, _item_problems, _vector_problems, _together):
            problems += _found_by(part, store, connection, MAX_PROBLEMS - len(problems))
        try:
            n_items = read_state(connection).n_items
            n_chunks = connection.execute("SELECT count(*) FROM chunks").fetchone()[0]
        except (FileFormatError, sqlite3.DatabaseError):
            n_items = n_chunks = 0
    return CheckReport(n_items, n_chunks, tuple(problems))


def _found_by(
    part: Callable[[Store, sqlite3.Connection], Iterator[str]],
    store: Store,
    connection: sqlite3.Connection,
    room: int,
) -> list[str]:
    problems: list[str] = []
    try:
        for problem in part(store, connection):
            if len(problems) >= room:
                break
            problems.append(problem)
    except FileFormatError as error:
        problems.append(str(error))
    except sqlite3.DatabaseError as error:
        meaning = translated(error, store.connections.path, 0)
        if isinstance(meaning, StorageError):
            raise
        problems.append(f"is damaged: {error}")
    return [problem.removeprefix("is damaged: ") for problem in problems[:room]]


def _structure(_: Store, connection: sqlite3.Connection) -> Iterator[str]:
    for (line,) in connection.execute(f"PRAGMA integrity_check({MAX_PROBLEMS})"):
        if line != "ok":
            yield f"SQLite: {line}"


def _chunk_problems(store: Store, connection: sqlite3.Connection) -> Iterator[str]:
    previous = -1
    for (last,) in connection.execute("SELECT last FROM chunks ORDER BY last").fetchall():
        try:
            chunk = _chunks.read_one(connection, store.layout, last)
        except FileFormatError as error:
            yield str(error)
            continue
        if chunk.first <= previous:
            yield f"the chunk of numbers {chunk.first} to {chunk.last} overlaps the one before"
        previous = chunk.last


def _removed_problems(_: Store, connection: sqlite3.Connection) -> Iterator[str]:
    for (page,) in connection.execute("SELECT page FROM removed").fetchall():
        try:
            _removed.read_page(connection, page)
        except FileFormatError as error:
            yield str(error)


def _item_problems(_: Store, connection: sqlite3.Connection) -> Iterator[str]:
    for row in connection.execute("SELECT number, id, metadata, checksum FROM items ORDER BY number"):
        try:
            _items.check_row(*row)
            _items.parse(row[2])
        except FileFormatError as error:
            yield str(error)


def _vector_problems(store: Store, connection: sqlite3.Connection) -> Iterator[str]:
    n_features, kind = store.hasher.n_features_in_, store.store_vectors
    for number, checksum, data in connection.execute("SELECT number, checksum, vector FROM vectors ORDER BY number"):
        if kind == "none":
            yield f"there is a vector of number {number}, but vectors are not stored"
            continue
        try:
            vector = _vectors.parsed(number, checksum, data, kind, n_features)
        except FileFormatError as error:
            yield str(error)
            continue
        if not np.isfinite(vector).all():
            yield f"the vector of number {number} is not finite"


def _together(store: Store, connection: sqlite3.Connection) -> Iterator[str]:
    """Whether chunks, removed items, rows and the state tell one story."""
    state = read_state(connection)
    memory = Memory(store.layout, "flat")
    memory.follow(connection, state)
    numbers = memory.index.ids
    if len(numbers) and numbers[-1] >= state.next_number:
        yield f"number {numbers[-1]} is there, but the next one is {state.next_number}"
    n_rows = connection.execute("SELECT count(*) FROM items NOT INDEXED").fetchone()[0]
    if n_rows != state.n_rows:
        yield f"{n_rows} rows of items are left of {state.n_rows}"
    for table, all_of_them in (("items", False), ("vectors", store.store_vectors != "none")):
        rows = connection.execute(f"SELECT number FROM {table} ORDER BY number")
        named = np.fromiter((number for (number,) in rows), np.int64)
        strange = np.setdiff1d(named, numbers, assume_unique=True)
        if len(strange):
            yield f"the table {table} has number {strange[0]}, which has no code"
        if all_of_them and len(named) < len(numbers):
            yield f"{len(numbers) - len(named)} items have no vector"
    _, have_rows = _chunks.look_up(connection, numbers)
    if have_rows.sum() != n_rows:
        yield f"{have_rows.sum()} items belong into the table items, which has {n_rows} rows"
    for path, field in _where.read_fields(connection).items():
        if _where.count_missing(connection, path, field):
            yield f"the index of the field {_where.field_name(path)} is not complete; drop it and make it again"
