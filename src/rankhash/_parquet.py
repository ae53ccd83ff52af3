"""Codes in Parquet files, for engines that do not know rankhash.

::

    id        int64 or text
    metadata  JSON as text, or null
    code      packed code, as in CodeLayout, if there is a hasher
    vector    a list of float32, if vectors are stored
    w0, w1 …  uint64, optional: CodeLayout.words, whose differing bits are `scale` times the differing symbols

The metadata of the file hold the hasher's fingerprint under ``rankhash``, and the layout as JSON under
``rankhash.layout``.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ._types import F32, I64, U8
from .codes import CodeLayout, embedding
from .errors import InvalidInputError

GROUP_ROWS = 1 << 17
GROUP_BYTES = 32 << 20


def need_parquet(path: str | Path) -> Any:
    """The module pyarrow.parquet, or an error that says how to install it."""
    try:
        import pyarrow.parquet
    except ImportError:
        raise InvalidInputError(
            f"{path} needs pyarrow: pip install 'rankhash[data]' (in a checkout: '.[data]')"
        ) from None
    return pyarrow.parquet


class CodesWriter:
    """Writes codes to a new file, batch by batch; batches are collected into row groups of a good size for engines."""

    def __init__(
        self,
        path: Path,
        layout: CodeLayout | None,
        *,
        text_ids: bool = False,
        n_features: int | None = None,
        words: bool = False,
    ) -> None:
        parquet = need_parquet(path)
        self._layout, self._words = layout, words
        self._schema = _schema(layout, text_ids, n_features, words)
        self._batches: list[Any] = []
        self._writer = parquet.ParquetWriter(path, self._schema)

    def __enter__(self) -> CodesWriter:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self._flush()
        self._writer.close()

    def write(
        self,
        ids: Sequence[int | str] | I64,
        codes: U8,
        texts: Sequence[str | None] | None = None,
        vectors: F32 | None = None,
    ) -> None:
        """Add rows; ``texts`` are metadata as JSON."""
        import pyarrow as pa

        columns = [
            pa.array(ids, self._schema.field("id").type),
            pa.nulls(len(codes), pa.string()) if texts is None else pa.array(texts, pa.string()),
        ]
        if self._layout is not None:
            columns.append(_binary(codes))
        if vectors is not None:
            columns.append(pa.FixedSizeListArray.from_arrays(pa.array(vectors.reshape(-1)), vectors.shape[1]))
        if self._words and self._layout is not None:
            columns += [pa.array(np.ascontiguousarray(word)) for word in self._layout.words(codes)[0].T]
        self._batches.append(pa.record_batch(columns, schema=self._schema))
        if sum(map(len, self._batches)) >= GROUP_ROWS or sum(b.nbytes for b in self._batches) >= GROUP_BYTES:
            self._flush()

    def _flush(self) -> None:
        import pyarrow as pa

        if self._batches:
            self._writer.write_table(pa.Table.from_batches(self._batches, self._schema))
            self._batches = []


def _schema(layout: CodeLayout | None, text_ids: bool, n_features: int | None, words: bool) -> Any:
    import pyarrow as pa

    fields = [("id", pa.string() if text_ids else pa.int64()), ("metadata", pa.string())]
    if layout is not None:
        fields.append(("code", pa.binary()))
    if n_features is not None:
        fields.append(("vector", pa.list_(pa.float32(), n_features)))
    if layout is None:
        return pa.schema(fields)
    rows, scale = embedding(layout.arity)
    if words:
        fields += [(f"w{i}", pa.uint64()) for i in range(-(-layout.n_symbols * rows.shape[1] // 64))]
    facts = {"n_symbols": layout.n_symbols, "arity": layout.arity, "fingerprint": layout.fingerprint, "scale": scale}
    return pa.schema(fields, metadata={"rankhash": layout.fingerprint, "rankhash.layout": json.dumps(facts)})


def _binary(codes: U8) -> Any:
    import pyarrow as pa

    ends = np.arange(len(codes) + 1, dtype=np.int32) * np.int32(codes.shape[1])
    return pa.Array.from_buffers(
        pa.binary(), len(codes), [None, pa.py_buffer(ends), pa.py_buffer(np.ascontiguousarray(codes))]
    )
