"""The statements of searches, and their answers as arrays."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np
import psycopg
from psycopg import sql

from ..._types import I64, U8
from ...errors import EngineError, InvalidInputError, UnknownIdError
from ...neighbors import Neighbors, RadiusNeighbors
from ._checks import check_params
from ._copy import BitString, from_bit_strings
from ._server import Server
from ._table import Table

Connection = psycopg.Connection[Any]
Where = str | sql.Composable | None

QUERIES = 64
"""Number of queries that are sent before the first answer is read"""

_MARKS = re.compile(r"%%|%[sbt(]")

_APPROXIMATE = """SELECT id, d FROM (
SELECT id, code OPERATOR({}.<~>) %b AS d FROM {} WHERE {} ORDER BY d LIMIT {}
) AS nearest ORDER BY 2, 1"""


class ApproximateNeighbors(Neighbors):
    """[`Neighbors`][rankhash.Neighbors] from a search of a graph: some of the nearest may be missing."""

    __slots__ = ()


@dataclass(frozen=True)
class Condition:
    """Which rows count: the caller's SQL, and the values of its ``%s``."""

    sql: sql.Composable
    params: Sequence[Any]

    @classmethod
    def of(cls, connection: Connection, where: Where, params: Sequence[Any] = ()) -> Condition:
        """A condition in brackets; its last line may be a comment."""
        if where is None:
            where = "TRUE"
        if not isinstance(where, (str, sql.Composable)) or not where:
            raise InvalidInputError(f"where must be SQL, as text or of psycopg.sql, got {where!r}")
        composed = sql.SQL(where) if isinstance(where, str) else where
        marks = _MARKS.findall(composed.as_string(connection))
        if "%(" in marks:
            raise InvalidInputError("where takes values by %s, in the order of params, not by name")
        if len(marks) - marks.count("%%") != len(check_params(params)):
            raise InvalidInputError(
                f"where has {len(marks) - marks.count('%%')} places for values, params has {len(params)}; "
                "a per cent sign itself is written %%"
            )
        return cls(sql.SQL("({}\n)").format(composed), params)


@dataclass(frozen=True)
class Searches:
    """The questions to a table: counts, codes and neighbours."""

    connection: Connection
    table: Table
    server: Server

    def count(self, condition: Condition) -> int:
        """The number of codes that pass the condition."""
        statement = sql.SQL("SELECT count(*) FROM {} WHERE {}").format(self.table.sql, condition.sql)
        return int(self.connection.execute(statement, condition.params).fetchall()[0][0])

    def codes(self, ids: I64) -> U8:
        """The codes ``(n, n_bytes)`` of the ids, all of which must be in the table."""
        statement = sql.SQL("SELECT id, code FROM {} WHERE id = ANY(%s)").format(self.table.sql)
        found = dict(self.connection.cursor(binary=True).execute(statement, [ids.tolist()]).fetchall())
        missing = [number for number in ids.tolist() if number not in found]
        if missing:
            raise UnknownIdError(f"id {missing[0]} is not in the table")
        return from_bit_strings(self.table.bits, [found[number] for number in ids.tolist()])

    def nearest(self, queries: list[BitString], k: int, condition: Condition) -> Neighbors:
        """The k nearest, by a scan of the whole table."""
        statement = sql.SQL("SELECT id, {} FROM {} WHERE {} ORDER BY 2, 1 LIMIT {}").format(
            self.server.differing_bits(), self.table.sql, condition.sql, k
        )
        return self._neighbors(statement, [[query, *condition.params] for query in queries], k)

    def within(self, queries: list[BitString], most: int, condition: Condition) -> RadiusNeighbors:
        """All with at most ``most`` differing bits, by a scan of the whole table."""
        differing = self.server.differing_bits()
        statement = sql.SQL("SELECT id, {} FROM {} WHERE {} <= {} AND {} ORDER BY 2, 1").format(
            differing, self.table.sql, differing, most, condition.sql
        )
        hits = [*self._each(statement, [[query, query, *condition.params] for query in queries])]
        offsets = np.cumsum([0, *map(len, hits)], dtype=np.int64)
        ids = np.fromiter((row[0] for rows in hits for row in rows), np.int64, offsets[-1])
        counts = np.fromiter((row[1] for rows in hits for row in rows), np.float64, offsets[-1])
        return RadiusNeighbors(offsets, ids, self.table.bits.distances(counts))

    def approximate(
        self, queries: list[BitString], k: int, ef_search: int, condition: Condition
    ) -> ApproximateNeighbors:
        """The k nearest that an HNSW index finds; its settings last until the end of the transaction."""
        schema = self.server.need_pgvector()
        if not self.table.has_hnsw(self.connection):
            raise EngineError(f"{self.table.name} has no HNSW index; create_hnsw makes one, and search does without")
        self.connection.execute("SELECT set_config('hnsw.ef_search', %s, TRUE)", [str(ef_search)])
        if self.server.vector_version >= (0, 8):
            self.connection.execute("SELECT set_config('hnsw.iterative_scan', 'strict_order', TRUE)")
        statement = sql.SQL(_APPROXIMATE).format(sql.Identifier(schema), self.table.sql, condition.sql, k)
        return ApproximateNeighbors(*self._neighbors(statement, [[query, *condition.params] for query in queries], k))

    def _neighbors(self, statement: sql.Composed, parameters: list[list[Any]], k: int) -> Neighbors:
        shape = len(parameters), k
        ids, differing = np.full(shape, -1, np.int64), np.full(shape, np.inf)
        for i, rows in enumerate(self._each(statement, parameters)):
            if rows:
                ids[i, : len(rows)], differing[i, : len(rows)] = zip(*rows, strict=True)
        return Neighbors(ids, self.table.bits.distances(differing))

    def _each(self, statement: sql.Composed, parameters: list[list[Any]]) -> Iterator[list[tuple[Any, ...]]]:
        """The rows of the statement for each of the parameters, by pipelined requests where libpq can."""
        for start in range(0, len(parameters), QUERIES):
            some = parameters[start : start + QUERIES]
            with self.connection.pipeline() if psycopg.Pipeline.is_supported() else nullcontext():
                cursors = [self.connection.cursor(binary=True).execute(statement, values) for values in some]
            yield from (cursor.fetchall() for cursor in cursors)
