"""One commit of a collection, for several reads."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import ArrayLike

from .._checks import check_integer
from .._ids import Id, as_ids
from .._types import I64, U8
from ..duplicates.pairs import MAX_PAIRS
from ._database import Database
from ._door import as_queries
from ._duplicates import groups_of_items
from ._interrupts import ending_at
from ._queries import exclude, no_matches
from ._read_methods import ReadMethods
from ._reader import Reader
from ._view import View
from .results import Matches


class Snapshot(ReadMethods):
    """The items of a collection at one commit, for one thread, while it is open.

    [`Collection.snapshot`][rankhash.Collection.snapshot] returns it. It has the reading methods of the collection, all
    of which see the same items, and some methods of its own.
    """

    def __init__(self, database: Database, reader: Reader, view: View, deadline: float | None = None) -> None:
        self._database = database
        self._reader = reader
        self._commit = view
        self._deadline = deadline

    @contextlib.contextmanager
    def _view(self) -> Iterator[View]:
        with ending_at(self._deadline):
            yield self._commit

    @property
    def generation(self) -> int:
        """The number of the commit."""
        return self._commit.generation

    def __len__(self) -> int:
        return self._commit.n_items

    def search_stored(
        self, vectors: ArrayLike, k: int, *, where: str | None = None, without: Sequence[Sequence[Id]] | None = None
    ) -> Matches:
        """The k items whose stored vectors are nearest by true distance, found by comparing all vectors.

        Parameters
        ----------
        vectors
            The queries, (n_queries, n_features).
        k
            Number of items per query.
        where
            A filter that the items must match; None by default.
        without
            The ids to exclude, a list per query; None by default.
        """
        k = check_integer("k", k)
        with self._view() as view:
            queries = as_queries(view.encoding, vectors)
            if view.encoding.n_features is None or not len(queries):
                return no_matches(len(queries), k)
            excluded = [view.find(as_ids(ids, unique=False)) for ids in without or ()]
            n_more = max(map(len, excluded), default=0)
            found = view.memory.search(queries, k + n_more, recall=1.0, bits=view.bitmap(where))
            return view.matches(exclude(found, excluded, n_more) if n_more else found)

    def histogram(self, codes: U8, *, where: str | None = None, n_threads: int | None = None) -> I64:
        """The number of items at each Hamming distance 0, 1, …, n_symbols, (n, n_symbols + 1).

        Parameters
        ----------
        codes
            The queries, (n, n_bytes).
        where
            A filter that the items must match; None by default.
        n_threads
            Number of threads; None (the default) uses every core that this process may use.
        """
        with self._view() as view:
            index, bits = view.index, view.bitmap(where)
            n_symbols = index.layout.n_symbols
            counts = np.zeros((len(codes), n_symbols + 1), np.int64)
            for row in range(len(codes)):
                found = index.search_radius(codes[row : row + 1], n_symbols, filter=bits, n_threads=n_threads)
                counts[row] = np.bincount(found.distances.astype(np.int64), minlength=n_symbols + 1)
            return counts

    def duplicate_groups(self, *, radius: float, max_pairs: int | None = MAX_PAIRS) -> list[list[Id]]:
        """Groups of near-duplicates; see [`Collection.duplicate_groups`][rankhash.Collection.duplicate_groups].

        Parameters
        ----------
        radius
            The largest distance of near items.
        max_pairs
            Largest number of pairs; 1,000,000,000 by default, None for no limit. More are an error.
        """
        with self._view() as view:
            return groups_of_items(self, view, radius, max_pairs)

    def unknown_fields(self, where: str) -> list[str]:
        """The fields that a filter tests and that no item has: probably mistakes."""
        return self._commit.unknown_fields(where)

    def has_field(self, name: str) -> bool:
        """Whether an item has the field, such as ``size.width``; True if there are no items."""
        return self._commit.has_field(name)

    def metadata_bytes(self, ids: Sequence[Id]) -> list[int]:
        """The length of each item's metadata as JSON text, in bytes; 0 for an item without metadata."""
        return self._commit.metadata_bytes(as_ids(ids, unique=False))
