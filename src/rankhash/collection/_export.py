"""Export of items to a file for other programs: .parquet, .jsonl, or the codes as .npy."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from .._files import written_whole
from .._ids import Id
from .._parquet import CodesWriter
from .._types import F32, I64, U8
from ..errors import FileFormatError, InvalidInputError
from . import _chunks, _items, _removed, _vectors
from ._database import Database
from ._encoding import Encoding
from ._schema import read_counters

Progress = Callable[[int], object]

MAX_ROWS = 4096
"""Items that are read and written at once"""


@dataclass(frozen=True)
class _Rows:
    """Some items, by column."""

    ids: list[Id]
    texts: list[str | None]
    codes: U8
    vectors: F32 | None


def export_file(database: Database, path: str, progress: Progress | None, *, words: bool = False) -> int:
    """Write all items to a file, as ``Collection.export_file`` describes it; after a failure the file is unchanged."""
    suffix = Path(path).suffix.lower()
    if suffix not in WRITERS:
        raise InvalidInputError(f"{path} must end with one of {', '.join(WRITERS)} to export to it")
    if words and suffix != ".parquet":
        raise InvalidInputError(f"words go into .parquet files only, not into {path}")
    write = partial(_write_parquet, words=True) if words else WRITERS[suffix]
    with written_whole(path) as temporary, database.connections.reading() as connection:
        encoding = database.encoding_of(connection, read_counters(connection))
        if encoding.hasher is None and suffix == ".npy":
            raise InvalidInputError(f"{path} would hold codes, and this collection has no hasher; use .parquet")
        return write(encoding, connection, temporary, progress or (lambda _: None))


def _rows(encoding: Encoding, connection: sqlite3.Connection, progress: Progress) -> Iterator[_Rows]:
    done = 0
    for chunk in _chunks.read(connection, encoding.codes):
        numbers, codes = chunk.all_numbers(), chunk.rows
        kept = np.flatnonzero(~_removed.are_removed(connection, numbers))
        for start in range(0, len(kept), MAX_ROWS):
            some = kept[start : start + MAX_ROWS]
            yield _read_rows(encoding, connection, numbers[some], codes[some])
            done += len(some)
            progress(done)


def _read_rows(encoding: Encoding, connection: sqlite3.Connection, numbers: I64, codes: U8) -> _Rows:
    vectors = None
    if encoding.vectors is not None:
        kind, in_rows = encoding.vector_kind, encoding.in_rows
        vectors = _vectors.read(connection, encoding.vectors, numbers, kind, in_rows=in_rows)
    rows = _items.read(connection, numbers.tolist())
    pairs = [rows[number] for number in numbers.tolist()]
    return _Rows([name for name, _ in pairs], [text for _, text in pairs], codes, vectors)


def _write_json(encoding: Encoding, connection: sqlite3.Connection, path: Path, progress: Progress) -> int:
    done = 0
    with open(path, "x", encoding="utf-8") as file:
        for rows in _rows(encoding, connection, progress):
            for i, (name, text) in enumerate(zip(rows.ids, rows.texts, strict=True)):
                item = {"id": name, "metadata": _items.parse(text)}
                if encoding.layout is not None:
                    item |= {"code": rows.codes[i].tobytes().hex(), "hasher": encoding.layout.fingerprint}
                if rows.vectors is not None:
                    item["vector"] = rows.vectors[i].tolist()
                file.write(json.dumps(item, ensure_ascii=False) + "\n")
            done += len(rows.ids)
    return done


def _write_npy(encoding: Encoding, connection: sqlite3.Connection, path: Path, progress: Progress) -> int:
    n_items = connection.execute("SELECT n_items FROM state").fetchone()[0]
    shape = (n_items, encoding.codes.n_bytes)
    with open(path, "xb") as file:
        np.lib.format.write_array_header_1_0(file, {"descr": "|u1", "fortran_order": False, "shape": shape})
        for chunk in _chunks.read(connection, encoding.codes):
            kept = ~_removed.are_removed(connection, chunk.all_numbers())
            file.write(chunk.rows[kept].tobytes())
            progress(int(kept.sum()))
    return int(n_items)


def _write_parquet(
    encoding: Encoding, connection: sqlite3.Connection, path: Path, progress: Progress, *, words: bool = False
) -> int:
    n_features = None if encoding.store_vectors is None else encoding.n_features
    text_ids = _has_text_ids(connection)
    done = 0
    with CodesWriter(path, encoding.layout, text_ids=text_ids, n_features=n_features, words=words) as writer:
        for rows in _rows(encoding, connection, progress):
            if any(isinstance(name, str) != text_ids for name in rows.ids):
                raise FileFormatError("is damaged: its counters contradict its items")
            writer.write(rows.ids, rows.codes, rows.texts, rows.vectors)
            done += len(rows.ids)
    return done


def _has_text_ids(connection: sqlite3.Connection) -> bool:
    kinds = {kind for (kind,) in connection.execute("SELECT DISTINCT typeof(id) FROM items")}
    n_rows = connection.execute("SELECT count(*) FROM items").fetchone()[0]
    if n_rows < connection.execute("SELECT n_items FROM state").fetchone()[0]:
        kinds.add("integer")
    if len(kinds) > 1:
        raise InvalidInputError("some ids are integers and some are text, which Parquet cannot hold; use .jsonl")
    return kinds == {"text"}


WRITERS: dict[str, Callable[[Encoding, sqlite3.Connection, Path, Progress], int]] = {
    ".parquet": _write_parquet,
    ".jsonl": _write_json,
    ".npy": _write_npy,
}
