"""Codes in and out by COPY in its binary format, many rows at a time.

The format: a header, then each row as its number of fields and each field as its length and its bytes, all numbers with
the most significant byte first; a bit string is its number of bits and its bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import psycopg
from psycopg import adapt, pq, sql
from psycopg.types.json import Jsonb

from ..._types import I64, U8
from ._bits import BitLayout

Progress = Callable[[int], object]
Connection = psycopg.Connection[Any]

ROWS = 16_384
HEADER = b"PGCOPY\n\xff\r\n\0" + bytes(8)
END = b"\xff\xff"


class BitString(bytes):
    """A bit string as PostgreSQL's protocol has it: the number of bits in four bytes, then the bits."""


class _BitStringDumper(adapt.Dumper):
    format = pq.Format.BINARY
    oid = psycopg.postgres.types["bit"].oid

    def dump(self, obj: BitString) -> bytes:
        return bytes(obj)


def teach_bit_strings(connection: Connection) -> None:
    """Register ``BitString`` as a type of parameters of the connection."""
    connection.adapters.register_dumper(BitString, _BitStringDumper)


def bit_strings(bits: BitLayout, codes: U8) -> list[BitString]:
    """The codes as parameters of statements."""
    head, packed = bits.n_bits.to_bytes(4, "big"), bits.pack(codes)
    return [BitString(head + row.tobytes()) for row in packed]


def as_text(bits: BitLayout, codes: U8) -> list[str]:
    """The codes as digits 0 and 1."""
    digits = np.unpackbits(bits.pack(codes), axis=1, count=bits.n_bits) + np.uint8(ord("0"))
    return [row.tobytes().decode() for row in digits]


def from_bit_strings(bits: BitLayout, strings: Sequence[bytes]) -> U8:
    """The codes of fields that a binary cursor has read."""
    whole = np.frombuffer(b"".join(strings), np.uint8).reshape(len(strings), 4 + bits.n_bytes)
    return bits.unpack(whole[:, 4:])


# -- in ------------------------------------------------------------------------------------------------------------


def write(
    connection: Connection,
    target: sql.Composable,
    bits: BitLayout,
    codes: U8,
    ids: I64,
    columns: Mapping[str, Sequence[Any]],
    types: Sequence[str],
    progress: Progress | None,
) -> None:
    """COPY codes, ids and the values of further columns into a table, in one statement: all of it or nothing.

    Values of further columns go as text, which the server checks; psycopg's binary form cuts numbers to size.
    """
    names = sql.SQL(", ").join(map(sql.Identifier, ("id", "code", *columns)))
    form = sql.SQL("text" if columns else "binary")
    statement = sql.SQL("COPY {} ({}) FROM STDIN (FORMAT {})").format(target, names, form)
    with connection.cursor().copy(statement) as copy:
        if not columns:
            copy.write(HEADER)
        for start in range(0, len(codes), ROWS):
            some = slice(start, start + ROWS)
            if columns:
                fields = [_values(values[some], kind) for values, kind in zip(columns.values(), types, strict=True)]
                for row in zip(ids[some].tolist(), as_text(bits, codes[some]), *fields, strict=True):
                    copy.write_row(row)
            else:
                copy.write(_rows(bits, codes[some], ids[some]))
            if progress is not None:
                progress(min(start + ROWS, len(codes)))
        if not columns:
            copy.write(END)


def _row_type(bits: BitLayout) -> np.dtype[Any]:
    fields = [("n_fields", ">i2"), ("id_bytes", ">i4"), ("id", ">i8"), ("code_bytes", ">i4"), ("n_bits", ">i4")]
    return np.dtype([*fields, ("bits", np.uint8, (bits.n_bytes,))])


def _rows(bits: BitLayout, codes: U8, ids: I64) -> bytes:
    rows = np.empty(len(codes), _row_type(bits))
    rows["n_fields"], rows["id_bytes"], rows["id"] = 2, 8, ids
    rows["code_bytes"], rows["n_bits"], rows["bits"] = 4 + bits.n_bytes, bits.n_bits, bits.pack(codes)
    return rows.tobytes()


def _values(values: Any, kind: str) -> list[Any]:
    if isinstance(values, np.ndarray):
        values = (values.astype("datetime64[us]") if values.dtype.kind == "M" else values).tolist()
    plain = [value.item() if isinstance(value, np.generic) else value for value in values]
    return [None if value is None else Jsonb(value) for value in plain] if kind == "jsonb" else plain


# -- out -----------------------------------------------------------------------------------------------------------


def read(connection: Connection, source: sql.Composable, bits: BitLayout) -> Iterator[tuple[I64, U8]]:
    """All ids, ascending, and their codes, some thousands at a time."""
    statement = sql.SQL("COPY (SELECT id, code FROM {} ORDER BY id) TO STDOUT (FORMAT binary)").format(source)
    kind, held = _row_type(bits), bytearray()
    with connection.cursor().copy(statement) as copy:
        skip = len(HEADER)
        for part in copy:
            held += part
            n = (len(held) - skip) // kind.itemsize
            if n >= ROWS:
                yield _split(bytes(held[skip : skip + n * kind.itemsize]), kind, bits)
                held, skip = held[skip + n * kind.itemsize :], 0
    if len(held) - skip >= kind.itemsize:
        yield _split(bytes(held[skip : len(held) - len(END)]), kind, bits)


def _split(rows: bytes, kind: np.dtype[Any], bits: BitLayout) -> tuple[I64, U8]:
    parsed = np.frombuffer(rows, kind)
    return parsed["id"].astype(np.int64), bits.unpack(np.ascontiguousarray(parsed["bits"]))
