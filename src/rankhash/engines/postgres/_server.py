"""Abilities of a server: which functions compute the distances of codes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import psycopg
from psycopg import sql

from ...errors import EngineError

Connection = psycopg.Connection[Any]

PGVECTOR = (0, 7)
"""First version of pgvector with bit strings"""

BIT_COUNT = 140_000
"""First version of PostgreSQL with bit_count"""


@dataclass(frozen=True)
class Server:
    """How distances are computed on a server."""

    vector_schema: str | None
    """Where pgvector's functions are; None to do without them"""
    vector_version: tuple[int, ...]
    missing: str
    """Why there is no pgvector, and what to do; empty if there is"""

    @classmethod
    def of(cls, connection: Connection, pgvector: bool | None) -> Server:
        """The abilities of a connection's server; ``pgvector`` requires pgvector (True) or ignores it (False)."""
        schema, version, missing = _find_pgvector(connection)
        if pgvector and missing:
            raise EngineError(missing)
        if pgvector is False:
            schema, missing = None, "this index was opened with pgvector=False"
        if schema is None and connection.info.server_version < BIT_COUNT:
            major = connection.info.server_version // 10_000
            raise EngineError(f"PostgreSQL {major} can count bits with pgvector only, or take version 14; {missing}")
        return cls(schema, version, missing)

    def need_pgvector(self) -> str:
        """The schema of pgvector, or an error that says why it is missing."""
        if self.vector_schema is None:
            raise EngineError(f"approximate search needs pgvector 0.7 or later; {self.missing}")
        return self.vector_schema

    def differing_bits(self) -> sql.Composed:
        """An expression over the column of codes and one parameter. It never uses an HNSW index, unlike ``<~>``."""
        code = sql.SQL("{}").format(sql.Placeholder(format=psycopg.adapt.PyFormat.BINARY))
        if self.vector_schema is None:
            return sql.SQL("pg_catalog.bit_count(code OPERATOR(pg_catalog.#) {})").format(code)
        return sql.SQL("{}(code, {})").format(sql.Identifier(self.vector_schema, "hamming_distance"), code)


def _find_pgvector(connection: Connection) -> tuple[str | None, tuple[int, ...], str]:
    row = connection.execute(
        "SELECT n.nspname, e.extversion FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace "
        "WHERE e.extname = 'vector'"
    ).fetchone()
    if row is None:
        known = connection.execute("SELECT FROM pg_available_extensions WHERE name = 'vector'").fetchone()
        remedy = "run CREATE EXTENSION vector" if known is not None else "install pgvector on the server"
        return None, (), f"this database has no pgvector: {remedy}"
    version = tuple(int(part) for part in row[1].split(".") if part.isdecimal())
    if version < PGVECTOR:
        return (
            None,
            version,
            f"this database has pgvector {row[1]}, which knows no bits: run ALTER EXTENSION vector UPDATE",
        )
    return row[0], version, ""
