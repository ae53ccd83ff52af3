"""A check of the whole file, and a report on damage."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator

import numpy as np

from ..errors import FileFormatError, StorageError
from . import _chunk_rows, _chunks, _facets, _items, _removed, _vector_rows
from ._connections import translated
from ._database import Database
from ._replica import Replica
from ._schema import read_counters
from .results import CheckReport

MAX_PROBLEMS = 100


def check_file(path: str | os.PathLike[str], *, timeout: float = 5.0) -> CheckReport:
    """A report on damage in the file of a collection, also if the damage prevents opening it.

    ``timeout`` is the number of seconds to wait for a writer; default 5.

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
        database = Database.open(name, writable=False, timeout=timeout)
    except FileFormatError as error:
        return CheckReport(0, 0, (str(error).removeprefix(f"{name} "),))
    try:
        return check_database(database)
    finally:
        database.connections.close()


def check_database(database: Database) -> CheckReport:
    """A report on damage in an open collection."""
    problems: list[str] = []
    with database.connections.reading() as connection:
        for part in (_structure, _chunk_problems, _removed_problems, _item_problems, _vector_problems, _together):
            problems += _found_by(part, database, connection, MAX_PROBLEMS - len(problems))
        try:
            n_items = read_counters(connection).n_items
            n_chunks = connection.execute("SELECT count(*) FROM chunks").fetchone()[0]
        except (FileFormatError, sqlite3.DatabaseError):
            n_items = n_chunks = 0
    return CheckReport(n_items, n_chunks, tuple(problems))


def _found_by(
    part: Callable[[Database, sqlite3.Connection], Iterator[str]],
    database: Database,
    connection: sqlite3.Connection,
    room: int,
) -> list[str]:
    problems: list[str] = []
    try:
        for problem in part(database, connection):
            if len(problems) >= room:
                break
            problems.append(problem)
    except FileFormatError as error:
        problems.append(str(error))
    except sqlite3.DatabaseError as error:
        meaning = translated(error, database.connections.path, 0)
        if isinstance(meaning, StorageError):
            raise
        problems.append(f"is damaged: {error}")
    except (ValueError, OverflowError) as error:  # from numbers or text that no collection writes
        problems.append(f"is damaged: its rows cannot be read: {error}")
    return [problem.removeprefix("is damaged: ") for problem in problems[:room]]


def _structure(_: Database, connection: sqlite3.Connection) -> Iterator[str]:
    for (line,) in connection.execute(f"PRAGMA integrity_check({MAX_PROBLEMS})"):
        if line != "ok":
            yield f"SQLite: {line}"


def _chunk_problems(database: Database, connection: sqlite3.Connection) -> Iterator[str]:
    encoding = database.encoding_of(connection, read_counters(connection))
    for format in (encoding.codes, None if encoding.in_rows else encoding.vectors):
        if format is not None:
            yield from _problems_of(connection, format)


def _problems_of(connection: sqlite3.Connection, format: _chunks.RowFormat) -> Iterator[str]:
    previous = -1
    for (last,) in connection.execute(f"SELECT last FROM {format.table} ORDER BY last").fetchall():
        try:
            chunk = _chunks.read_one(connection, format, last)
        except FileFormatError as error:
            yield str(error)
            continue
        if chunk.first <= previous:
            yield f"the chunk of numbers {chunk.first} to {chunk.last} overlaps the one before"
        previous = chunk.last


def _removed_problems(_: Database, connection: sqlite3.Connection) -> Iterator[str]:
    for (page,) in connection.execute("SELECT page FROM removed").fetchall():
        try:
            _removed.read_page(connection, page)
        except FileFormatError as error:
            yield str(error)


def _item_problems(_: Database, connection: sqlite3.Connection) -> Iterator[str]:
    for row in connection.execute("SELECT number, id, metadata, checksum FROM items ORDER BY number"):
        try:
            _items.check_row(*row)
            _items.parse(row[2])
        except FileFormatError as error:
            yield str(error)


def _vector_problems(database: Database, connection: sqlite3.Connection) -> Iterator[str]:
    """Damage of vectors in rows, as a file of version 1 has them, and vectors where none are stored."""
    encoding = database.encoding_of(connection, read_counters(connection))
    table = "vectors" if encoding.in_rows else "vector_chunks"
    if encoding.vectors is None and connection.execute(f"SELECT 1 FROM {table} LIMIT 1").fetchone():
        yield "there are vectors, but vectors are not stored"
    elif encoding.in_rows and encoding.vectors is not None:
        yield from _vector_rows.problems(connection, encoding.vectors)


def _together(database: Database, connection: sqlite3.Connection) -> Iterator[str]:
    """Contradictions between chunks, removed items, rows and counters."""
    counters = read_counters(connection)
    encoding = database.encoding_of(connection, counters)
    replica = Replica("flat")
    replica.follow(connection, counters, encoding)
    numbers = replica.numbers
    if len(numbers) and numbers[-1] >= counters.next_number:
        yield f"number {numbers[-1]} is there, but the next one is {counters.next_number}"
    n_rows = connection.execute("SELECT count(*) FROM items NOT INDEXED").fetchone()[0]
    if n_rows != counters.n_rows:
        yield f"{n_rows} rows of items are left of {counters.n_rows}"
    rows = connection.execute("SELECT number FROM items ORDER BY number")
    strange = np.setdiff1d(np.fromiter((number for (number,) in rows), np.int64), numbers, assume_unique=True)
    if len(strange):
        yield f"the table items has number {strange[0]}, which is not in the collection"
    if encoding.store_vectors is not None:
        replica.with_vectors(connection)
    if encoding.hasher is None:
        kept, _ = _chunk_rows.look_up(connection, numbers)
        if not kept.all():
            yield f"the table chunks lacks number {numbers[~kept][0]}"
    _, have_rows = _chunk_rows.look_up(connection, numbers)
    if have_rows.sum() != n_rows:
        yield f"{have_rows.sum()} items belong into the table items, which has {n_rows} rows"
    for path, field in _facets.read_fields(connection).items():
        if _facets.count_missing(connection, path, field):
            yield f"the index of the field {_facets.field_name(path)} is not complete; drop it and make it again"
