"""The tables of a collection's file, and the counters that every commit updates.

Every item has a *number*: its place in the order of insertion. A number is never used again, and an item never changes
under its number: an item that is replaced gets a new number. A reader that has loaded all numbers below N therefore
catches up by reading the chunks from N on and the pages of removed numbers that are newer than its own generation.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import astuple, dataclass

from ..errors import FileFormatError

SettingValue = str | bytes | int | float

APPLICATION_ID = 0x726B6831  # "rkh1"
VERSION = 2
"""Version 1 had a table of vectors with one row per item; such files are read, and rewritten by their first change"""


def chunk_table(name: str, column: str) -> str:
    """SQL of a table of chunks, whose last column holds the codes or the vectors."""
    return f"""CREATE TABLE {name} (
        last INTEGER PRIMARY KEY,
        first INTEGER NOT NULL,
        n INTEGER NOT NULL,
        checksum BLOB NOT NULL,
        numbers BLOB,
        named BLOB,
        {column} BLOB NOT NULL
    ) STRICT"""


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
        n_rows INTEGER NOT NULL,
        encoding INTEGER NOT NULL
    ) STRICT""",
    "chunks": chunk_table("chunks", "codes"),
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
    "vector_chunks": chunk_table("vector_chunks", "vectors"),
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
"""Every table and index by name; a file with any other schema is refused."""

TABLES_1 = {
    **{name: sql for name, sql in TABLES.items() if name != "vector_chunks"},
    "state": TABLES["state"].replace(" NOT NULL,\n        encoding INTEGER NOT NULL", " NOT NULL"),
    "vectors": """CREATE TABLE vectors (
        number INTEGER PRIMARY KEY,
        checksum INTEGER NOT NULL,
        vector BLOB NOT NULL
    ) STRICT""",
}
"""The tables of version 1"""

NO_ENCODING = -1
"""The number of the encoding of a file of version 1"""


@dataclass
class Counters:
    """The one row of the table ``state``, which every commit updates."""

    generation: int = 0
    """Number of commits so far"""
    epoch: int = 0
    """Number of compactions so far; after one, readers load all chunks again"""
    next_number: int = 0
    """Larger than every number so far"""
    next_id: int = 0
    """Larger than every integer id so far"""
    n_items: int = 0
    """Items that can be found"""
    n_rows: int = 0
    """Rows of the table ``items``"""
    encoding: int = 0
    """Increases with every change of the encoding; NO_ENCODING in a file of version 1"""


def create_tables(connection: sqlite3.Connection, settings: dict[str, SettingValue]) -> None:
    """Make an empty collection inside an open transaction."""
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version = {VERSION}")
    for statement in TABLES.values():
        connection.execute(statement)
    connection.executemany("INSERT INTO settings (name, value) VALUES (?, ?)", settings.items())
    connection.execute("INSERT INTO state VALUES (1, 0, 0, 0, 0, 0, 0, 0)")


def check_schema(connection: sqlite3.Connection) -> None:
    """Raise FileFormatError unless the file is a collection of this version, and nothing but that."""
    application, version = (_pragma(connection, name) for name in ("application_id", "user_version"))
    if application != APPLICATION_ID:
        raise FileFormatError("is not a rankhash collection")
    if version not in (1, VERSION):
        raise FileFormatError(
            f"has collection format {version}, but this rankhash reads formats 1 to {VERSION}; "
            + ("upgrade rankhash" if version > VERSION else "it was never released")
        )
    tables = TABLES if version == VERSION else TABLES_1
    found = connection.execute("SELECT name, sql FROM sqlite_schema WHERE sql IS NOT NULL LIMIT 100").fetchall()
    if {name: _plain(sql) for name, sql in found} != {name: _plain(sql) for name, sql in tables.items()}:
        raise FileFormatError("is damaged: its tables are not those of a rankhash collection")


def _pragma(connection: sqlite3.Connection, name: str) -> int:
    return int(connection.execute(f"PRAGMA {name}").fetchone()[0])


def _plain(sql: object) -> str:
    return " ".join(str(sql).split())


def read_setting(connection: sqlite3.Connection, name: str, kind: type) -> object:
    """A value of the table ``settings``, which must have the type ``kind``."""
    row = connection.execute("SELECT value FROM settings WHERE name = ?", (name,)).fetchone()
    if row is None or type(row[0]) is not kind:
        raise FileFormatError(f"is damaged: its setting {name!r} is missing or not of {kind.__name__}")
    return row[0]


def has_types(row: Sequence[object] | None, *types: type | tuple[type, ...]) -> bool:
    """Whether a row has values of these types; a damaged file can violate its STRICT tables."""
    return row is not None and len(row) == len(types) and all(map(isinstance, row, types))


def read_counters(connection: sqlite3.Connection) -> Counters:
    """The counters that this transaction sees."""
    columns = "generation, epoch, next_number, next_id, n_items, n_rows"
    try:
        row = connection.execute(f"SELECT {columns}, encoding FROM state").fetchone()
        least = 0
    except sqlite3.OperationalError as error:
        if "no such column" not in str(error):
            raise
        row = connection.execute(f"SELECT {columns}, {NO_ENCODING} FROM state").fetchone()
        least = NO_ENCODING
    if not has_types(row, *[int] * 7) or min(row) < least:
        raise FileFormatError("is damaged: its state cannot be read")
    return Counters(*row)


def write_counters(connection: sqlite3.Connection, counters: Counters) -> None:
    """Store the counters of a new generation."""
    columns = ("generation", "epoch", "next_number", "next_id", "n_items", "n_rows", "encoding")
    connection.execute(f"UPDATE state SET {', '.join(f'{name} = ?' for name in columns)}", astuple(counters))


def write_setting(connection: sqlite3.Connection, name: str, value: SettingValue) -> None:
    """Store a value of the table ``settings``."""
    connection.execute("REPLACE INTO settings (name, value) VALUES (?, ?)", (name, value))


def find_setting(connection: sqlite3.Connection, name: str, kind: type) -> object | None:
    """A value of the table ``settings``, or None if there is none of that name."""
    there = connection.execute("SELECT 1 FROM settings WHERE name = ?", (name,)).fetchone()
    return None if there is None else read_setting(connection, name, kind)
