"""The encoding of a collection: its hasher, or the cells and codes that it learned; its metric; its vectors.

The counter ``encoding`` of the file increases with every change of the encoding, upon which readers read it again.
"""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from .. import hashers
from .._types import F32, U8
from ..codes import CodeLayout
from ..errors import FileFormatError, InvalidInputError
from ..hashers import hasher_from_bytes, hasher_to_bytes
from ..vector_index.learned import Learned
from ..vector_index.numbered import METRICS, NumberedVectors
from . import _chunks, _vectors
from ._schema import NO_ENCODING, Counters, find_setting, read_setting, write_setting

if TYPE_CHECKING:
    from ..hashers import Hasher

NO_VECTORS = "none"
"""How the file says that vectors are not stored"""
NO_HASHER = b""
"""How the file says that there is no hasher"""
MAX_FEATURES = 1 << 20


@dataclass(frozen=True)
class Encoding:
    """The encoding settings of the file, as of one value of the counter ``encoding``."""

    number: int
    hasher: Hasher | None
    metric: str
    """The metric of true distances"""
    recall: float
    store_vectors: str | None
    n_features: int | None
    """None while nothing was added to a collection without a hasher"""
    learned: Learned | None = None
    """Cells and codes learned by a collection without a hasher; None before"""

    @property
    def in_rows(self) -> bool:
        """Whether vectors are stored one per row, as in a file of version 1."""
        return self.number == NO_ENCODING

    @property
    def layout(self) -> CodeLayout | None:
        """The layout of the hasher's codes."""
        return None if self.hasher is None else self.hasher.layout_

    @property
    def vector_kind(self) -> str:
        """The type of stored vectors; only for a collection that stores them."""
        assert self.store_vectors is not None
        return self.store_vectors

    @cached_property
    def codes(self) -> _chunks.RowFormat:
        """The rows of the table ``chunks``: codes, cells with codes, or nothing."""
        if self.layout is not None:
            return _chunks.code_format(self.layout)
        if self.learned is not None:
            return _chunks.RowFormat("chunks", "codes", self.learned.row_bytes, self.learned.check)
        return _chunks.RowFormat("chunks", "codes", 0, _unchanged)

    @cached_property
    def vectors(self) -> _chunks.RowFormat | None:
        """The rows of the table ``vector_chunks``; None without vectors, or before their dimension is known."""
        if self.store_vectors is None or self.n_features is None:
            return None
        return _vectors.vector_format(self.store_vectors, self.n_features)

    def encode(self, vectors: F32) -> U8:
        """The rows of vectors in the table ``chunks``."""
        if self.hasher is not None:
            return self.hasher.encode(vectors) if len(vectors) else np.empty((0, self.codes.n_bytes), np.uint8)
        return np.empty((len(vectors), 0), np.uint8) if self.learned is None else self.learned.encode(vectors)

    def of_view(self, view: int | str | None) -> Encoding:
        """The encoding of vectors of one view, by its place or name; None stands for the first or only one."""
        if self.hasher is None or not isinstance(self.hasher, hashers.ViewHasher):
            if view is not None:
                raise InvalidInputError("this collection has no views: its hasher was not fitted to several")
            return self
        place = self.hasher.view_place(0 if view is None else view)
        if place and self.store_vectors is not None:
            raise InvalidInputError(f"this collection stores vectors of the view {self.hasher.views_[0]!r} only")
        return replace(self, hasher=self.hasher.view_hasher(place), n_features=self.hasher.n_features_[place])

    def with_learned(self, learned: Learned) -> Encoding:
        """The same encoding with other learned cells and codes; the transaction that stores it assigns its number."""
        return replace(self, learned=learned)

    def new_replica(self) -> NumberedVectors | None:
        """An empty set of vectors in memory, for a collection that stores them."""
        if self.store_vectors is None or self.n_features is None:
            return None
        return NumberedVectors(self.metric, self.recall, self.store_vectors, self.n_features)


def read_encoding(connection: sqlite3.Connection, counters: Counters, path: str) -> Encoding:
    """The encoding that this transaction sees."""
    data = read_setting(connection, "hasher", bytes)
    assert isinstance(data, bytes)
    hasher = None if data == NO_HASHER else hasher_from_bytes(data, path)
    kind = str(read_setting(connection, "store_vectors", str))
    metric, recall, n_features = "euclidean", 0.95, None
    if counters.encoding != NO_ENCODING:
        metric = str(read_setting(connection, "metric", str))
        recall = float(read_setting(connection, "recall", float))  # type: ignore[arg-type]
        n_features = find_setting(connection, "n_features", int)
    if hasher is not None:
        n_features = int(hasher.n_features_in_)
    if kind not in (NO_VECTORS, *_vectors.DTYPES):
        raise FileFormatError(f"is damaged: it stores vectors as {kind!r}")
    if metric not in METRICS or not 0 <= recall <= 1 or (hasher is None and kind == NO_VECTORS):
        raise FileFormatError("is damaged: its settings contradict each other")
    if n_features is not None and not 0 < n_features <= MAX_FEATURES:  # type: ignore[operator]
        raise FileFormatError(f"is damaged: its vectors have {n_features} dimensions")
    kept = None if kind == NO_VECTORS else kind
    learned = None if hasher is not None else _read_learned(connection, metric, n_features)
    return Encoding(counters.encoding, hasher, metric, recall, kept, n_features, learned)  # type: ignore[arg-type]


def write_encoding(connection: sqlite3.Connection, encoding: Encoding) -> None:
    """Store the hasher or the learned cells and codes; the other settings never change."""
    hasher, learned = encoding.hasher, encoding.learned
    write_setting(connection, "hasher", NO_HASHER if hasher is None else hasher_to_bytes(hasher))
    if learned is None:
        connection.execute("DELETE FROM settings WHERE name = 'learned'")
    else:
        write_setting(connection, "learned", learned.to_bytes())


def _read_learned(connection: sqlite3.Connection, metric: str, n_features: object) -> Learned | None:
    data = find_setting(connection, "learned", bytes)
    if data is None:
        return None
    learned = Learned.from_bytes(data)  # type: ignore[arg-type]
    if (learned.metric, learned.n_features) != (metric, n_features):
        raise FileFormatError("is damaged: it has learned from other vectors than it holds")
    return learned


def _unchanged(rows: U8) -> U8:
    return np.ascontiguousarray(rows)
