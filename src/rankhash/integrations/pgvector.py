"""A table of pgvector as a collection; needs ``pip install 'rankhash[postgres]'``."""

from __future__ import annotations

import datetime
import decimal
import uuid
from typing import Any

from ..collection import Collection
from ..engines.postgres.vector_tables import read_vectors
from ..readers import Block
from ._documents import PathLike
from ._importing import collected

__all__ = ["from_pgvector"]


def from_pgvector(
    server: Any,
    table: str,
    path: PathLike | None = None,
    *,
    id_column: str = "id",
    vector_column: str = "embedding",
    schema: str = "public",
    metric: str = "cosine",
) -> Collection:
    """A collection of the rows of a table that have a vector, read in one transaction.

    Parameters
    ----------
    server
        A connection string such as ``"host=… dbname=… user=…"``, or a connection of psycopg.
    table, schema
        The table and its schema, ``"public"`` by default.
    path
        The file of the collection, which must not exist; default None: the collection stays in memory.
    id_column, vector_column
        The columns of the ids (integers, text or uuid; default ``"id"``) and of the vectors (``vector`` or ``halfvec``;
        default ``"embedding"``). All other columns become metadata: dates, times and uuids as text, decimals as
        numbers.
    metric
        ``"cosine"`` (default), ``"euclidean"`` or ``"dot"``.
    """
    rows = read_vectors(server, table, id_column=id_column, vector_column=vector_column, schema=schema)
    blocks = (
        Block(vectors, [_plain(name) for name in ids], [{k: _plain(v) for k, v in row.items()} for row in fields])
        for vectors, ids, fields in rows
    )
    return collected(blocks, path, metric)


def _plain(value: Any) -> Any:
    """The value of a column in a type that JSON supports."""
    if isinstance(value, (datetime.date, datetime.time)):
        return value.isoformat()
    if isinstance(value, decimal.Decimal):
        return float(value)
    return str(value) if isinstance(value, uuid.UUID) else value
