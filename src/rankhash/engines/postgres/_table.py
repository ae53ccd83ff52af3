"""The table: its name, its columns, and how it is created and recognised."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import psycopg
from psycopg import sql

from ..._checks import check_integer
from ...codes import CodeLayout
from ...errors import EngineError, InvalidInputError, LayoutMismatchError, unknown_name
from ._bits import MAX_BITS, BitLayout

Connection = psycopg.Connection[Any]

TYPES = (
    "bigint",
    "boolean",
    "bytea",
    "date",
    "double precision",
    "integer",
    "jsonb",
    "numeric",
    "real",
    "smallint",
    "text",
    "timestamptz",
    "uuid",
)
MAX_PARTITIONS = 1024

_DESCRIBE = """
SELECT n.nspname, c.relname, a.attname, format_type(a.atttypid, a.atttypmod), col_description(c.oid, a.attnum)
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
WHERE c.oid = to_regclass(%s) ORDER BY a.attnum"""

_HAS_HNSW = """
SELECT EXISTS (SELECT FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_am m ON m.oid = c.relam
WHERE i.indrelid = to_regclass(%s) AND m.amname = 'hnsw' AND i.indisvalid)"""


@dataclass(frozen=True)
class Table:
    """A table of codes in the database."""

    schema: str
    name: str
    bits: BitLayout
    columns: dict[str, str]
    """Further columns and the names of their types"""

    @property
    def sql(self) -> sql.Identifier:
        """The table's quoted name."""
        return sql.Identifier(self.schema, self.name)

    def has_hnsw(self, connection: Connection) -> bool:
        """Whether approximate search is possible."""
        found = connection.execute(_HAS_HNSW, [self.sql.as_string(connection)]).fetchone()
        return bool(found and found[0])


def identifier(schema: str | None, *names: str) -> sql.Identifier:
    """A quoted name that the server takes unchanged."""
    parts = names if schema is None else (schema, *names)
    for name in parts:
        if not isinstance(name, str) or not name or len(name.encode()) > 63 or "\0" in name or "%" in name:
            raise InvalidInputError(f"a name in PostgreSQL has 1 to 63 bytes, no NUL and here no %, got {name!r}")
    return sql.Identifier(*parts)


def create(
    connection: Connection,
    schema: str | None,
    name: str,
    bits: BitLayout,
    columns: Mapping[str, str],
    *,
    partitions: int,
    primary_key: bool,
) -> None:
    """Create the table, with its layout as a comment on the column of codes."""
    parts = [
        sql.SQL("id bigint NOT NULL" + " PRIMARY KEY" * primary_key),
        sql.SQL("code bit({}) NOT NULL").format(sql.Literal(bits.n_bits)),
        *(sql.SQL("{} {}").format(identifier(None, column), _type(kind)) for column, kind in columns.items()),
    ]
    target = identifier(schema, name)
    whole = sql.SQL("CREATE TABLE {} ({})").format(target, sql.SQL(", ").join(parts))
    if check_integer("partitions", partitions, 0, MAX_PARTITIONS):
        whole += sql.SQL(" PARTITION BY HASH (id)")
    connection.execute(whole)
    connection.execute(sql.SQL("COMMENT ON COLUMN {}.code IS {}").format(target, sql.Literal(bits.to_text())))
    for i in range(partitions):
        part = identifier(schema, f"{name}_{i}")
        values = sql.SQL("FOR VALUES WITH (MODULUS {}, REMAINDER {})").format(partitions, i)
        connection.execute(sql.SQL("CREATE TABLE {} PARTITION OF {} {}").format(part, target, values))


def describe(connection: Connection, target: sql.Identifier, layout: CodeLayout | None) -> Table:
    """The table of that name, which must hold codes of the layout (None: any layout)."""
    rows = connection.execute(_DESCRIBE, [target.as_string(connection)]).fetchall()
    name = target.as_string(connection)
    if not rows:
        raise EngineError(f"there is no table {name} in this database; PostgresIndex.create_table makes one")
    types = {column: str(kind) for _, _, column, kind, _ in rows}
    bits = BitLayout.from_text(next((comment for _, _, column, _, comment in rows if column == "code"), None))
    if types.pop("id", None) != "bigint" or bits is None or types.pop("code") != f"bit({bits.n_bits})":
        raise LayoutMismatchError(
            f"{name} is no table of codes: it needs a bigint id and a column code with the layout as a comment, as "
            "PostgresIndex.create_table makes them"
        )
    check_same_layout(name, bits.layout, layout)
    return Table(rows[0][0], rows[0][1], bits, types)


def check_same_layout(name: str, kept: CodeLayout, given: CodeLayout | None) -> None:
    """Raise unless codes of the given layout belong in the table; an empty fingerprint is unknown and fits."""
    if given is None:
        return
    if (kept.n_symbols, kept.arity) != (given.n_symbols, given.arity):
        raise LayoutMismatchError(
            f"{name} holds codes of {kept.n_symbols} symbols of arity {kept.arity}, not of {given.n_symbols} of arity "
            f"{given.arity}; encode with the hasher that it was made for, or make another table"
        )
    if kept.fingerprint and given.fingerprint and kept.fingerprint != given.fingerprint:
        raise LayoutMismatchError(f"{name} holds codes of another hasher; open it with the one that made them")


def create_hnsw(connection: Connection, table: Table, schema: str, m: int, ef_construction: int) -> None:
    """Build pgvector's HNSW index over the codes."""
    if table.bits.n_bits > MAX_BITS:
        raise InvalidInputError(f"HNSW takes at most {MAX_BITS} bits, a code of {table.name} has {table.bits.n_bits}")
    m = check_integer("m", m, 2, 100)
    ef_construction = check_integer("ef_construction", ef_construction, 2 * m, 1000)
    statement = sql.SQL("CREATE INDEX ON {} USING hnsw (code {}) WITH (m = {}, ef_construction = {})")
    connection.execute(statement.format(table.sql, sql.Identifier(schema, "bit_hamming_ops"), m, ef_construction))


def _type(name: str) -> sql.SQL:
    for known in TYPES:
        if name == known:
            return sql.SQL(known)
    raise unknown_name("column type", str(name), TYPES)
