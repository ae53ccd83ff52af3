"""Items that were checked and are ready to be written."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .. import _metadata
from .._ids import Id, as_ids
from .._types import U8, Array
from ..errors import InvalidInputError, LayoutMismatchError
from ..vector_index.numbered import prepare, storable
from . import _items, _vectors
from ._door import as_rows, is_empty
from ._encoding import Encoding
from ._transaction import Transaction


@dataclass(frozen=True)
class Batch:
    """Codes with ids, metadata texts and, for a collection that stores them, vectors."""

    encoding: Encoding
    source: Any
    """The vectors as they were given; None for a batch of codes"""
    codes: U8
    stored: Array | None
    ids: list[Id] | None
    texts: list[str | None] | None
    view: int | str | None = None
    """The view of the vectors; None for the first or only one"""

    @classmethod
    def of_vectors(
        cls, encoding: Encoding, vectors: Any, ids: Any, metadata: Any, view: int | str | None = None
    ) -> Batch:
        """A batch of vectors of a view (None: the first or only one), encoded by the collection's encoding."""
        codes, stored = encoded(encoding.of_view(view), vectors)
        return replace(cls._checked(encoding, vectors, codes, stored, ids, metadata), view=view)

    @classmethod
    def of_codes(cls, encoding: Encoding, codes: Any, ids: Any, metadata: Any) -> Batch:
        """A batch of codes that the collection's hasher made."""
        if encoding.store_vectors is not None or encoding.layout is None:
            raise InvalidInputError("this collection stores vectors, so that codes alone cannot be added; use add")
        return cls._checked(encoding, None, encoding.layout.check(codes), None, ids, metadata)

    @classmethod
    def _checked(
        cls, encoding: Encoding, source: Any, codes: U8, stored: Array | None, ids: Any, metadata: Any
    ) -> Batch:
        names = None if ids is None else as_ids(ids, len(codes))
        texts = None if metadata is None else _metadata.as_texts(metadata, len(codes))
        return cls(encoding, source, codes, stored, names, texts)

    def add_to(self, transaction: Transaction) -> list[Id]:
        """Add the items; TakenIdError if one of their ids is in the collection."""
        codes, stored = self.codes, self.stored
        if transaction.encoding.number != self.encoding.number:  # it changed since
            if self.source is None and transaction.encoding.hasher is not self.encoding.hasher:
                raise LayoutMismatchError("the collection has got another hasher meanwhile; encode the vectors again")
            if self.source is not None:
                codes, stored = encoded(transaction.encoding.of_view(self.view), self.source)
        return transaction.add(codes, stored, self.ids, self.texts)

    def upsert_to(self, transaction: Transaction) -> list[Id]:
        """Add the items and remove the earlier items of their ids."""
        if self.ids is not None:
            numbers = _items.find(transaction.connection, self.ids)
            transaction.remove(numbers[numbers >= 0])
        return self.add_to(transaction)


def encoded(encoding: Encoding, vectors: Any) -> tuple[U8, Array | None]:
    """The codes of vectors, and the vectors as they are stored."""
    stored = None
    if encoding.store_vectors is not None:
        checked = as_rows(vectors, encoding.n_features)
        stored = _vectors.rounded(checked, encoding.store_vectors)
        storable(prepare(stored.astype(np.float32, copy=False), encoding.metric, "X"))
        return encoding.encode(checked), stored
    assert encoding.hasher is not None
    if is_empty(vectors):
        return np.empty((0, encoding.codes.n_bytes), np.uint8), None
    return encoding.hasher.encode(vectors), None
