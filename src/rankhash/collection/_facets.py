"""Indexes of metadata fields: the table ``fields`` names them, the table ``facets`` holds their values in order."""

from __future__ import annotations

import sqlite3

from ..errors import FileFormatError
from ._filter_sql import KINDS
from ._schema import has_types

_KIND = "CASE json_type(metadata, ?) " + " ".join(f"WHEN '{name}' THEN {kind}" for name, kind in KINDS.items()) + " END"
_FACETS = f"""SELECT ? AS field, {_KIND} AS kind,
    CASE WHEN json_type(metadata, ?) IN ('null', 'array', 'object') THEN '' ELSE json_extract(metadata, ?) END AS value,
    number FROM items WHERE number >= ? AND json_type(metadata, ?) IS NOT NULL"""


def read_fields(connection: sqlite3.Connection) -> dict[str, int]:
    """The numbers of the indexed fields, by JSON path."""
    rows = connection.execute("SELECT path, field FROM fields").fetchall()
    if not all(has_types(row, str, int) for row in rows):
        raise FileFormatError("is damaged: its indexed fields cannot be read")
    return dict(rows)


def field_name(path: str) -> str:
    """The name that a filter uses for a JSON path."""
    names = path.removeprefix('$."').removesuffix('"').split('"."')
    return ".".join(name if name.isidentifier() else f"`{name}`" for name in names)


def add_field(connection: sqlite3.Connection, path: str) -> None:
    """Index a field, unless it is indexed already."""
    if path not in read_fields(connection):
        connection.execute("INSERT INTO fields (path) VALUES (?)", (path,))
        _fill(connection, path, read_fields(connection)[path], 0)


def drop_field(connection: sqlite3.Connection, path: str) -> None:
    """Drop the index of a field, if there is one."""
    field = read_fields(connection).get(path)
    connection.execute("DELETE FROM facets WHERE field = ?", (field,))
    connection.execute("DELETE FROM fields WHERE field = ?", (field,))


def fill_fields(connection: sqlite3.Connection, first: int) -> None:
    """Add the items from the number ``first`` on to every index."""
    for path, field in read_fields(connection).items():
        _fill(connection, path, field, first)


def _fill(connection: sqlite3.Connection, path: str, field: int, first: int) -> None:
    values = (field, path, path, path, first, path)
    connection.execute(f"INSERT INTO facets (field, kind, value, number) {_FACETS}", values)


def count_missing(connection: sqlite3.Connection, path: str, field: int) -> int:
    """The number of entries that the index of a field lacks."""
    values = (field, path, path, path, 0, path)
    query = f"SELECT count(*) FROM ({_FACETS} EXCEPT SELECT field, kind, value, number FROM facets)"
    return int(connection.execute(query, values).fetchone()[0])
