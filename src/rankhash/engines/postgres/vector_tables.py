"""Tables with a column of pgvector's type ``vector``, read in blocks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from psycopg import sql

from ..._types import F32
from ...errors import InvalidInputError
from ._connection import Connection, connected
from ._errors import translated

N_ROWS = 2048
"""Rows that are read at once"""

VectorRows = tuple[F32, list[Any], list[dict[str, Any]]]


def read_vectors(
    server: str | Connection, table: str, *, id_column: str, vector_column: str, schema: str = "public"
) -> Iterator[VectorRows]:
    """Vectors ``(n, d)``, ids, and the other columns as dicts, of all rows that have a vector, in the order of ids.

    Parameters
    ----------
    server
        A connection string, or a connection of psycopg.
    table, schema
        The table and its schema, ``"public"`` by default.
    id_column, vector_column
        The columns of the ids and of the vectors, of the type ``vector`` or ``halfvec``.
    """
    with connected(server) as connection:
        try:
            with translated(), connection.transaction(), connection.cursor("rankhash_vectors") as cursor:
                cursor.itersize = N_ROWS
                names = _columns(connection, schema, table)
                for name in (id_column, vector_column):
                    if name not in names:
                        raise InvalidInputError(f"there is no column {name!r} in {schema}.{table}; known: {names}")
                others = [name for name in names if name not in (id_column, vector_column)]
                cursor.execute(_query(schema, table, id_column, vector_column, others))
                while rows := cursor.fetchmany(N_ROWS):
                    yield _block(rows, others)
        finally:
            if isinstance(server, str):
                connection.close()


def _query(schema: str, table: str, id_column: str, vector_column: str, others: list[str]) -> sql.Composed:
    return sql.SQL(
        "SELECT {id}, {vector}::real[]{others} FROM {table} WHERE {vector} IS NOT NULL ORDER BY {id}"
    ).format(
        id=sql.Identifier(id_column),
        vector=sql.Identifier(vector_column),
        others=sql.Composed([sql.SQL(", ") + sql.Identifier(name) for name in others]),
        table=sql.Identifier(schema, table),
    )


def _columns(connection: Connection, schema: str, table: str) -> list[str]:
    query = "SELECT column_name FROM information_schema.columns WHERE table_schema = %s AND table_name = %s"
    names = [row[0] for row in connection.execute(query + " ORDER BY ordinal_position", (schema, table))]
    if not names:
        raise InvalidInputError(f"there is no table {schema}.{table}, or this user may not read it")
    return names


def _block(rows: list[tuple[Any, ...]], others: list[str]) -> VectorRows:
    widths = {len(row[1]) for row in rows}
    if len(widths) > 1:
        raise InvalidInputError(f"vectors must have one dimension, got {min(widths)} and {max(widths)}")
    vectors = np.array([row[1] for row in rows], np.float32)
    return vectors, [row[0] for row in rows], [dict(zip(others, row[2:], strict=True)) for row in rows]
