"""Import of items from files of vectors and from exported files."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import InvalidInputError, LayoutMismatchError
from ..readers import open_vectors
from ..readers.foreign import decoding
from ..readers.parquet import open_parquet, parquet_batches
from ..readers.sidecars import with_sidecars
from ._batch import Batch
from ._database import Database
from ._encoding import Encoding

Progress = Callable[[int], object]
Current = Callable[[], Encoding]
"""Returns the current encoding, which the first batch of a collection without a hasher changes"""

MAX_ROWS = 16_384
"""Items of exported codes in one batch"""
MAX_LINE = 64 << 20
"""Bytes of one line of a .jsonl file"""


def import_file(
    database: Database,
    path: str,
    key: str | None,
    metadata: Sequence[str],
    sidecars: dict[str, str | None],
    *,
    replace: bool,
    view: int | str | None,
    progress: Progress | None,
) -> int:
    """Add the items of a file in one transaction, as ``Collection.import_file`` describes it."""
    done = 0
    with database.transaction() as transaction:
        for batch in _batches(lambda: transaction.encoding, path, key, metadata, sidecars, view):
            (batch.upsert_to if replace else batch.add_to)(transaction)
            done += len(batch.codes)
            if progress is not None:
                progress(done)
    return done


def _batches(
    current: Current,
    path: str,
    key: str | None,
    metadata: Sequence[str],
    sidecars: dict[str, str | None],
    view: int | str | None,
) -> Iterator[Batch]:
    batches = _code_batches(current, path)
    if batches is not None:
        return batches
    if sidecars["id_column"] is not None and sidecars["metadata"] is None and _has_columns(path):
        metadata = [*metadata, sidecars["id_column"]]
    blocks = with_sidecars(open_vectors(path, key, metadata=metadata), **sidecars)
    return (Batch.of_vectors(current(), block.vectors, block.ids, block.metadata, view) for block in blocks)


def _has_columns(path: str) -> bool:
    """Whether columns of the file become metadata if they are named."""
    return Path(path).suffix.lower() in (".csv", ".parquet")


def _code_batches(current: Current, path: str) -> Iterator[Batch] | None:
    """The batches of an exported file that holds codes but no vectors; None if it is no such file."""
    suffix = Path(path).suffix.lower()
    if suffix == ".parquet":
        return _parquet_codes(current, path)
    if suffix == ".jsonl":
        first = next(_lines(path), "")
        if '"code"' in first and '"vector"' not in first:
            return _json_codes(current, path)
    return None


def _parquet_codes(current: Current, path: str) -> Iterator[Batch] | None:
    with decoding(path, "Parquet file"), open_parquet(path) as file:
        names = file.schema_arrow.names
        fingerprint = (file.schema_arrow.metadata or {}).get(b"rankhash", b"").decode()
    if "code" not in names or "vector" in names:
        return None
    return _read_parquet_codes(current, path, fingerprint)


def _read_parquet_codes(current: Current, path: str, fingerprint: str) -> Iterator[Batch]:
    for rows in parquet_batches(path, MAX_ROWS, ["id", "metadata", "code"]):
        if rows.keys() != {"id", "metadata", "code"}:
            raise InvalidInputError(f"{path} has no columns id, metadata and code")
        try:
            fields = [None if text is None else json.loads(text) for text in rows["metadata"]]
        except (ValueError, TypeError, RecursionError):
            raise InvalidInputError(f"{path} has metadata that are not JSON") from None
        yield _code_batch(current, path, {fingerprint}, rows["code"], rows["id"], fields)


def _json_codes(current: Current, path: str) -> Iterator[Batch]:
    rows: list[dict[str, Any]] = []
    for number, line in enumerate(_lines(path), 1):
        try:
            row = json.loads(line)
            rows.append({name: row.get(name) for name in ("id", "metadata")})
            rows[-1] |= {"code": bytes.fromhex(row["code"]), "hasher": str(row.get("hasher"))}
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            raise InvalidInputError(f"{path} has no exported item in line {number}") from None
        if len(rows) == MAX_ROWS:
            yield _row_batch(current, path, rows)
            rows = []
    if rows:
        yield _row_batch(current, path, rows)


def _row_batch(current: Current, path: str, rows: list[dict[str, Any]]) -> Batch:
    codes, ids, metadata = ([row[name] for row in rows] for name in ("code", "id", "metadata"))
    return _code_batch(current, path, {row["hasher"] for row in rows}, codes, ids, metadata)


def _code_batch(
    current: Current, path: str, fingerprints: set[Any], codes: list[bytes], ids: list[Any], metadata: list[Any]
) -> Batch:
    encoding = current()
    if encoding.layout is None:
        raise InvalidInputError(f"{path} holds codes, but this collection has no hasher; import vectors")
    if fingerprints != {encoding.layout.fingerprint}:
        raise LayoutMismatchError(
            f"{path} holds codes of another hasher than this collection's; import vectors, or create a collection "
            "with the hasher that made them"
        )
    if any(type(code) is not bytes or len(code) != encoding.layout.n_bytes for code in codes):
        raise LayoutMismatchError(f"{path} holds codes that have not {encoding.layout.n_bytes} bytes")
    array = np.frombuffer(b"".join(codes), np.uint8).reshape(len(codes), -1)
    return Batch.of_codes(encoding, array, ids, metadata)


def _lines(path: str) -> Iterator[str]:
    with open(path, "rb") as file:
        while data := file.readline(MAX_LINE):
            try:
                line = data.decode()
            except UnicodeDecodeError:
                raise InvalidInputError(f"{path} is not UTF-8 text") from None
            if len(data) == MAX_LINE:
                raise InvalidInputError(f"{path} has a line of more than {MAX_LINE} bytes")
            if not line.isspace():
                yield line
