"""The methods of a collection that change its items."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numpy.typing import ArrayLike

from .. import _metadata
from .._ids import Id, as_ids
from ..errors import InvalidInputError
from . import _items
from ._batch import Batch
from ._duplicates import without_duplicates
from ._maintenance import MaintenanceMethods

Metadata = Any
"""A table, a dict of columns, a list of dicts and None, or None"""


class WriteMethods(MaintenanceMethods):
    """Every method is one transaction: durable once it returns, or on any error without effect."""

    def add(
        self,
        vectors: ArrayLike,
        ids: Sequence[Id] | ArrayLike | None = None,
        metadata: Metadata = None,
        *,
        skip_duplicates: float | None = None,
        view: int | str | None = None,
    ) -> list[Id]:
        """The ids of new items; on any error, none of them is added.

        Parameters
        ----------
        vectors
            The vectors, (n, n_features).
        ids
            Integers of any type, whole floats, strings or UUIDs that are not in the collection; None (the default)
            gives the integers after the largest integer id so far.
        metadata
            One row per vector: a pandas or polars DataFrame, an Arrow table, a dict of columns, or a list of dicts and
            None. NumPy values become those of JSON, NaN becomes null, dates and times become ISO 8601 text (in UTC,
            if they have a time zone), UUIDs become text. None by default.
        skip_duplicates
            Radius within which vectors are duplicates: those whose codes are within it of an item, or of an earlier
            vector that is added, are skipped. Concurrent additions are not compared. None (the default) adds all.
        view
            The view of the vectors, by its place or name, for a hasher of several views; None (the default) stands for
            the first or only one. Items of all views are found by queries of any view.
        """
        if view is not None and skip_duplicates is not None:
            raise InvalidInputError("skip_duplicates compares vectors of one view: leave view out")
        if skip_duplicates is not None:
            vectors, ids, metadata = without_duplicates(self, vectors, ids, metadata, skip_duplicates)
            if not len(vectors):
                return []
        batch = Batch.of_vectors(self._database.encoding, vectors, ids, metadata, view)
        with self._database.transaction() as transaction:
            names = batch.add_to(transaction)
        self._learner.consider(transaction.counters.n_items)
        return names

    def add_codes(
        self,
        codes: ArrayLike,
        ids: Sequence[Id] | ArrayLike | None = None,
        metadata: Metadata = None,
    ) -> list[Id]:
        """The ids of new items, given by codes (n, n_bytes) that this collection's hasher made.

        ``ids`` and ``metadata`` are those of [`Collection.add`][rankhash.Collection.add].
        """
        batch = Batch.of_codes(self._database.encoding, codes, ids, metadata)
        with self._database.transaction() as transaction:
            return batch.add_to(transaction)

    def upsert(
        self,
        vectors: ArrayLike,
        ids: Sequence[Id] | ArrayLike,
        metadata: Metadata = None,
        *,
        view: int | str | None = None,
    ) -> None:
        """Replace the items whose ids are in the collection, metadata included, and add the others.

        The parameters are those of [`Collection.add`][rankhash.Collection.add]; ``ids`` are required.
        """
        batch = Batch.of_vectors(self._database.encoding, vectors, ids, metadata, view)
        with self._database.transaction() as transaction:
            batch.upsert_to(transaction)
        self._learner.consider(transaction.counters.n_items)

    def update_metadata(self, ids: Sequence[Id] | ArrayLike, metadata: Metadata, *, replace: bool = False) -> None:
        """Change the metadata of items; their vectors stay unchanged.

        Parameters
        ----------
        ids
            Ids that are in the collection; if one is not, nothing is changed.
        metadata
            As in [`Collection.add`][rankhash.Collection.add], one row per id. The fields replace those of the same
            name; the other fields of the items are kept.
        replace
            Whether all other fields are dropped; False by default.
        """
        names = as_ids(ids)
        rows = _metadata.as_dicts(metadata, len(names))
        texts = _metadata.as_texts(rows, len(names))
        with self._database.transaction() as transaction:
            if not replace:
                numbers = _items.find_all(transaction.connection, names)
                known = _items.read(transaction.connection, numbers.tolist())
                merged = [
                    (_items.parse(known[number][1]) or {}) | (_items.parse(text) or {})
                    for number, text in zip(numbers.tolist(), texts, strict=True)
                ]
                texts = _metadata.as_texts([fields or None for fields in merged], len(names))
            if names:
                transaction.describe(names, texts)

    def delete(self, ids: Sequence[Id] | ArrayLike | None = None, *, where: str | None = None) -> int:
        """The number of removed items: those of ``ids``, or those that match the filter ``where``.

        Exactly one of the two must be given; both are None by default. If an id is not in the collection, nothing is
        removed.
        """
        if (ids is None) == (where is None):
            raise InvalidInputError("delete needs either ids or where")
        names = None if ids is None else as_ids(ids)
        with self._database.transaction() as transaction:
            if names is None:
                numbers = self._reader.passing(transaction.connection, transaction.counters, str(where))
            else:
                numbers = _items.find_all(transaction.connection, names)
            transaction.remove(numbers)
        return len(numbers)
