"""Items in and out by the batch: what add, upsert, import and export share."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .._files import written_whole
from .._parquet import CodesWriter, need_parquet
from ..errors import InvalidInputError, LayoutMismatchError
from ..readers import open_vectors
from . import _chunks, _items, _removed, _vectors
from ._items import Id
from ._store import Change, Store

if TYPE_CHECKING:
    from .collection import Collection

U8 = NDArray[np.uint8]
Progress = Callable[[int], object]

ROWS = 4096
MAX_LINE = 64 << 20


@dataclass(frozen=True)
class Batch:
    """Items that were checked and are ready to be added."""

    codes: U8
    stored: NDArray[Any] | None
    ids: list[Id] | None
    texts: list[str | None] | None

    @classmethod
    def of(cls, codes: U8, stored: NDArray[Any] | None, ids: Any, metadata: Any) -> Batch:
        """A batch, after ids and metadata were checked."""
        names = None if ids is None else _items.as_ids(ids, len(codes))
        texts = None if metadata is None else _items.as_texts(metadata, len(codes))
        return cls(codes, stored, names, texts)

    def add_to(self, change: Change) -> list[Id]:
        """Add the items; their ids must be free."""
        return change.add(self.codes, self.stored, self.ids, self.texts)

    def replace_in(self, change: Change) -> list[Id]:
        """Add the items in place of those that have their ids."""
        if self.ids is not None:
            numbers = _items.find(change.connection, self.ids)
            change.remove(numbers[numbers >= 0])
        return self.add_to(change)


# -- import --------------------------------------------------------------------------------------------------------


def import_file(
    collection: Collection,
    path: str,
    key: str | None,
    metadata: Sequence[str],
    *,
    replace: bool,
    progress: Progress | None,
) -> int:
    """Add the items of a file in one change; see :meth:`Collection.import_file`."""
    batches = _code_batches(collection, path)
    if batches is None:
        blocks = open_vectors(path, key, metadata=metadata)
        batches = (collection._batch(block.vectors, block.ids, block.metadata) for block in blocks)
    done = 0
    with collection._store.changing() as change:
        for batch in batches:
            (batch.replace_in if replace else batch.add_to)(change)
            done += len(batch.codes)
            if progress is not None:
                progress(done)
    return done


def _code_batches(collection: Collection, path: str) -> Iterator[Batch] | None:
    """The batches of an exported file that holds codes but no vectors; None if it is no such file."""
    suffix = Path(path).suffix.lower()
    if suffix == ".parquet":
        return _parquet_codes(collection, path)
    if suffix == ".jsonl":
        first = next(_lines(path), "")
        if '"code"' in first and '"vector"' not in first:
            return _json_codes(collection, path)
    return None


def _parquet_codes(collection: Collection, path: str) -> Iterator[Batch] | None:
    parquet = need_parquet(path)
    with parquet.ParquetFile(path) as file:
        names = file.schema_arrow.names
        fingerprint = (file.schema_arrow.metadata or {}).get(b"rankhash", b"").decode()
    if "code" not in names or "vector" in names:
        return None
    return _read_parquet_codes(collection, path, fingerprint)


def _read_parquet_codes(collection: Collection, path: str, fingerprint: str) -> Iterator[Batch]:
    with need_parquet(path).ParquetFile(path) as file:
        for part in file.iter_batches(ROWS * 4, columns=["id", "metadata", "code"]):
            rows = part.to_pydict()
            texts = [None if text is None else json.loads(text) for text in rows["metadata"]]
            yield _code_batch(collection, path, {fingerprint}, rows["code"], rows["id"], texts)


def _json_codes(collection: Collection, path: str) -> Iterator[Batch]:
    rows: list[dict[str, Any]] = []
    for number, line in enumerate(_lines(path), 1):
        try:
            row = json.loads(line)
            rows.append({name: row.get(name) for name in ("id", "hasher", "metadata")})
            rows[-1]["code"] = bytes.fromhex(row["code"])
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            raise InvalidInputError(f"{path} has no exported item in line {number}") from None
        if len(rows) == ROWS * 4:
            yield _row_batch(collection, path, rows)
            rows = []
    if rows:
        yield _row_batch(collection, path, rows)


def _row_batch(collection: Collection, path: str, rows: list[dict[str, Any]]) -> Batch:
    codes, ids, metadata = ([row[name] for row in rows] for name in ("code", "id", "metadata"))
    return _code_batch(collection, path, {row["hasher"] for row in rows}, codes, ids, metadata)


def _code_batch(
    collection: Collection, path: str, fingerprints: set[Any], codes: list[bytes], ids: list[Any], metadata: list[Any]
) -> Batch:
    if fingerprints != {collection.layout.fingerprint}:
        raise LayoutMismatchError(
            f"{path} holds codes of another hasher than this collection's; import vectors, or create a collection "
            "with the hasher that made them"
        )
    collection._refuse_codes()
    if {*map(len, codes)} != {collection.layout.n_bytes}:
        raise LayoutMismatchError(f"{path} holds codes that have not {collection.layout.n_bytes} bytes")
    array = np.frombuffer(b"".join(codes), np.uint8).reshape(len(codes), -1)
    return Batch.of(collection.layout.check(array), None, ids, metadata)


def _lines(path: str) -> Iterator[str]:
    with open(path, encoding="utf-8") as file:
        while line := file.readline(MAX_LINE):
            if len(line) == MAX_LINE:
                raise InvalidInputError(f"{path} has a line of more than {MAX_LINE} characters")
            if not line.isspace():
                yield line


# -- export --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Rows:
    """Some items, column by column."""

    ids: list[Id]
    texts: list[str | None]
    codes: U8
    vectors: NDArray[np.float32] | None


def export_file(store: Store, path: str, progress: Progress | None, *, words: bool = False) -> int:
    """Write all items to a file that is there whole or not at all; see :meth:`Collection.export_file`."""
    suffix = Path(path).suffix.lower()
    if suffix not in WRITERS:
        raise InvalidInputError(f"{path} must end with one of {', '.join(WRITERS)} to export to it")
    if words and suffix != ".parquet":
        raise InvalidInputError(f"words go into .parquet files only, not into {path}")
    write = partial(_write_parquet, words=True) if words else WRITERS[suffix]
    with written_whole(path) as temporary, store.connections.reading() as connection:
        return write(store, connection, temporary, progress or (lambda _: None))


def _rows(store: Store, connection: sqlite3.Connection, progress: Progress) -> Iterator[_Rows]:
    done = 0
    for chunk in _chunks.read(connection, store.layout):
        numbers, codes = chunk.all_numbers(), chunk.codes
        kept = np.flatnonzero(~_removed.are_removed(connection, numbers))
        for start in range(0, len(kept), ROWS):
            some = kept[start : start + ROWS]
            yield _read_rows(store, connection, numbers[some], codes[some])
            done += len(some)
            progress(done)


def _read_rows(store: Store, connection: sqlite3.Connection, numbers: NDArray[np.int64], codes: U8) -> _Rows:
    vectors = None
    if store.store_vectors != "none":
        vectors = _vectors.read(connection, numbers, store.store_vectors, store.hasher.n_features_in_)
    rows = _items.read(connection, numbers.tolist())
    pairs = [rows[number] for number in numbers.tolist()]
    return _Rows([name for name, _ in pairs], [text for _, text in pairs], codes, vectors)


def _write_json(store: Store, connection: sqlite3.Connection, path: Path, progress: Progress) -> int:
    done = 0
    with open(path, "x", encoding="utf-8") as file:
        for rows in _rows(store, connection, progress):
            for i, (name, text) in enumerate(zip(rows.ids, rows.texts, strict=True)):
                item = {"id": name, "metadata": _items.parse(text), "code": rows.codes[i].tobytes().hex()}
                item["hasher"] = store.layout.fingerprint
                if rows.vectors is not None:
                    item["vector"] = rows.vectors[i].tolist()
                file.write(json.dumps(item, ensure_ascii=False) + "\n")
            done += len(rows.ids)
    return done


def _write_npy(store: Store, connection: sqlite3.Connection, path: Path, progress: Progress) -> int:
    n_items = connection.execute("SELECT n_items FROM state").fetchone()[0]
    shape = (n_items, store.layout.n_bytes)
    with open(path, "xb") as file:
        np.lib.format.write_array_header_1_0(file, {"descr": "|u1", "fortran_order": False, "shape": shape})
        for chunk in _chunks.read(connection, store.layout):
            kept = ~_removed.are_removed(connection, chunk.all_numbers())
            file.write(chunk.codes[kept].tobytes())
            progress(int(kept.sum()))
    return int(n_items)


def _write_parquet(
    store: Store, connection: sqlite3.Connection, path: Path, progress: Progress, *, words: bool = False
) -> int:
    n_features = None if store.store_vectors == "none" else store.hasher.n_features_in_
    text_ids = _has_text_ids(connection)
    done = 0
    with CodesWriter(path, store.layout, text_ids=text_ids, n_features=n_features, words=words) as writer:
        for rows in _rows(store, connection, progress):
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


WRITERS: dict[str, Callable[[Store, sqlite3.Connection, Path, Progress], int]] = {
    ".parquet": _write_parquet,
    ".jsonl": _write_json,
    ".npy": _write_npy,
}
