"""Changes of a table: inserts, replacements and deletions. Each call needs a transaction around it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import psycopg
from psycopg import sql

from ..._types import I64, U8
from ...errors import UnknownIdError
from . import _copy
from ._copy import Progress
from ._search import Condition
from ._table import Table

Connection = psycopg.Connection[Any]


@dataclass(frozen=True)
class Batch:
    """Checked codes with their ids and the values of further columns."""

    codes: U8
    ids: I64
    columns: dict[str, Any]

    @property
    def names(self) -> tuple[str, ...]:
        """The columns that are written."""
        return ("id", "code", *self.columns)


def next_ids(connection: Connection, table: Table, n: int) -> I64:
    """The n integers after the largest id; the table is locked against other changes until the transaction ends."""
    connection.execute(sql.SQL("LOCK TABLE {} IN SHARE ROW EXCLUSIVE MODE").format(table.sql))
    statement = sql.SQL("SELECT coalesce(max(id), -1) + 1 FROM {}").format(table.sql)
    first = connection.execute(statement).fetchall()[0][0]
    return np.arange(first, first + n, dtype=np.int64)


def insert(connection: Connection, table: Table, batch: Batch, progress: Progress | None) -> None:
    """Add the codes; their ids must be free."""
    _write(connection, table, table.sql, batch, progress)


def upsert(connection: Connection, table: Table, batch: Batch, progress: Progress | None) -> None:
    """Add the codes, or replace those of their ids, by way of a temporary table."""
    apart = sql.Identifier("pg_temp", "rankhash_upsert")
    names = sql.SQL(", ").join(map(sql.Identifier, batch.names))
    setting = sql.SQL(", ").join(
        sql.SQL("{} = excluded.{}").format(*[sql.Identifier(name)] * 2) for name in batch.names[1:]
    )
    make = sql.SQL("CREATE TEMP TABLE rankhash_upsert ON COMMIT DROP AS SELECT {} FROM {} WITH NO DATA")
    move = sql.SQL("INSERT INTO {} ({}) SELECT {} FROM {} ON CONFLICT (id) DO UPDATE SET {}")
    connection.execute(make.format(names, table.sql))
    _write(connection, table, apart, batch, progress)
    connection.execute(move.format(table.sql, names, names, apart, setting))
    connection.execute(sql.SQL("DROP TABLE {}").format(apart))


def delete(connection: Connection, table: Table, condition: Condition) -> int:
    """Remove the rows that pass the condition; return their number."""
    statement = sql.SQL("DELETE FROM {} WHERE {}").format(table.sql, condition.sql)
    return connection.execute(statement, condition.params).rowcount


def delete_ids(connection: Connection, table: Table, ids: I64) -> int:
    """Remove codes by their ids, all of which must be there."""
    done = delete(connection, table, Condition.of(connection, "id = ANY(%s)", [ids.tolist()]))
    if done < len(ids):
        raise UnknownIdError(f"{len(ids) - done} of these ids are not in the table; nothing was removed")
    return done


def _write(
    connection: Connection, table: Table, target: sql.Composable, batch: Batch, progress: Progress | None
) -> None:
    types = [table.columns[name] for name in batch.columns]
    _copy.write(connection, target, table.bits, batch.codes, batch.ids, batch.columns, types, progress)
