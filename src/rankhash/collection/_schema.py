"""The tables of a collection's file, and the few numbers that every change moves on.

An item has a *number*: the order in which it came. Numbers are never used twice, and what stands under a number is
never changed, only removed; an item that is replaced gets a new number. So a reader who knows the numbers below N takes
in what happened since by reading the chunks from N on and the pages of removed numbers that are newer than its own.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass

from ..errors import FileFormatError

APPLICATION_ID = 0x726B6831  # "rkh1"
VERSION = 1

TABLES = {
    "settings": """CREATE TABLE settings (
        name TEXT PRIMARY KEY,
        value ANY NOT NULL
    ) STRICT, WITHOUT ROWID""",
    "state": """CREATE TABLE state (
        one INTEGER PRIMARY KEY CHECK (one = 1),
        generation INTEGER NOT NULL,
        epoch INTEGER NOT NULL,
        next_number INTEGER NOT NULL,
        next_id INTEGER NOT NULL,
        n_items INTEGER NOT NULL,
        n_rows INTEGER NOT NULL
    ) STRICT""",
    "chunks": """CREATE TABLE chunks (
        last INTEGER PRIMARY KEY,
        first INTEGER NOT NULL,
        n INTEGER NOT NULL,
        checksum BLOB NOT NULL,
        numbers BLOB,
        named BLOB,
        codes BLOB NOT NULL
    ) STRICT""",
    "removed": """CREATE TABLE removed (
        page INTEGER PRIMARY KEY,
        generation INTEGER NOT NULL,
        checksum INTEGER NOT NULL,
        bitmap BLOB NOT NULL
    ) STRICT""",
    "removed_by_generation": "CREATE INDEX removed_by_generation ON removed (generation)",
    "items": """CREATE TABLE items (
        number INTEGER PRIMARY KEY,
        id ANY NOT NULL UNIQUE,
        metadata TEXT,
        checksum INTEGER NOT NULL
    ) STRICT""",
    "vectors": """CREATE TABLE vectors (
        number INTEGER PRIMARY KEY,
        checksum INTEGER NOT NULL,
        vector BLOB NOT NULL
    ) STRICT""",
    "fields": """CREATE TABLE fields (
        field INTEGER PRIMARY KEY,
        path TEXT NOT NULL UNIQUE
    ) STRICT""",
    "facets": """CREATE TABLE facets (
        field INTEGER NOT NULL,
        kind INTEGER NOT NULL,
        value ANY NOT NULL,
        number INTEGER NOT NULL,
        PRIMARY KEY (field, kind, value, number)
    ) STRICT, WITHOUT ROWID""",
}
"""Every table and index by name; a file that has others, or others of these names, is not opened."""


@dataclass
class State:
    """What every change moves on."""

    generation: int = 0
    """Goes up with every commit."""
    epoch: int = 0
    """Goes up when chunks were written anew, so that readers must read all of them."""
    next_number: int = 0
    """Larger than every number so far."""
    next_id: int = 0
    """Larger than every integer id so far."""
    n_items: int = 0
    """Items that can be found."""
    n_rows: int = 0
    """Rows of the table ``items``."""


def create_tables(connection: sqlite3.Connection, settings: dict[str, str | bytes]) -> None:
    """Make an empty collection inside an open transaction."""
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version = {VERSION}")
    for statement in TABLES.values():
        connection.execute(statement)
    connection.executemany("INSERT INTO settings (name, value) VALUES (?, ?)", settings.items())
    connection.execute("INSERT INTO state VALUES (1, 0, 0, 0, 0, 0, 0)")


def check_schema(connection: sqlite3.Connection) -> None:
    """Raise FileFormatError unless the file is a collection of this version, and nothing but that."""
    application, version = (_pragma(connection, name) for name in ("application_id", "user_version"))
    if application != APPLICATION_ID:
        raise FileFormatError("is not a rankhash collection")
    if version != VERSION:
        raise FileFormatError(
            f"has collection format {version}, but this rankhash reads format {VERSION}; "
            + ("upgrade rankhash" if version > VERSION else "it was never released")
        )
    found = connection.execute("SELECT name, sql FROM sqlite_schema WHERE sql IS NOT NULL LIMIT 100").fetchall()
    if {name: _plain(sql) for name, sql in found} != {name: _plain(sql) for name, sql in TABLES.items()}:
        raise FileFormatError("is damaged: its tables are not those of a rankhash collection")


def _pragma(connection: sqlite3.Connection, name: str) -> int:
    return int(connection.execute(f"PRAGMA {name}").fetchone()[0])


def _plain(sql: object) -> str:
    return " ".join(str(sql).split())


def read_setting(connection: sqlite3.Connection, name: str, kind: type) -> object:
    """A value of ``settings``, which must have that type."""
    row = connection.execute("SELECT value FROM settings WHERE name = ?", (name,)).fetchone()
    if row is None or type(row[0]) is not kind:
        raise FileFormatError(f"is damaged: its setting {name!r} is missing or not of {kind.__name__}")
    return row[0]


def has_types(row: Sequence[object] | None, *types: type | tuple[type, ...]) -> bool:
    """Whether a row has values of these types; a damaged file gives others in spite of its STRICT tables."""
    return row is not None and len(row) == len(types) and all(map(isinstance, row, types))


def read_state(connection: sqlite3.Connection) -> State:
    """The state that this transaction sees."""
    row = connection.execute("SELECT generation, epoch, next_number, next_id, n_items, n_rows FROM state").fetchone()
    if not has_types(row, int, int, int, int, int, int) or min(row) < 0:
        raise FileFormatError("is damaged: its state cannot be read")
    return State(*row)


def write_state(connection: sqlite3.Connection, state: State) -> None:
    """Keep the state; the generation must have gone up."""
    connection.execute(
        "UPDATE state SET generation = ?, epoch = ?, next_number = ?, next_id = ?, n_items = ?, n_rows = ?",
        (state.generation, state.epoch, state.next_number, state.next_id, state.n_items, state.n_rows),
    )
