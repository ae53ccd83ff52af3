"""One commit of a collection, to ask several questions of."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import InvalidInputError
from ..vectors import as_vectors
from . import _items, _searching, _vectors
from ._following import Following, View
from ._items import Id
from ._store import Store
from .reading import Reading
from .results import Matches

I64 = NDArray[np.int64]
U8 = NDArray[np.uint8]


class Snapshot(Reading):
    """What a collection held at one commit; made by :meth:`Collection.snapshot`, for one thread, while it is open.

    It answers as the collection does, and all answers see the same items; some questions only a snapshot answers.
    """

    def __init__(self, store: Store, following: Following, view: View) -> None:
        self._store = store
        self._following = following
        self._view = view

    def _now(self) -> contextlib.nullcontext[View]:
        return contextlib.nullcontext(self._view)

    @property
    def generation(self) -> int:
        """The number of the commit."""
        return self._view[2].generation

    def __len__(self) -> int:
        return self._view[2].n_items

    def search_stored(
        self, vectors: ArrayLike, k: int, *, where: str | None = None, without: Sequence[Id] | None = None
    ) -> Matches:
        """The k items whose stored vectors are nearest by Euclidean distance, found by reading all of them.

        ``without`` names one item a query that must not be found. It needs a collection that stores vectors.
        """
        kind = self.store_vectors
        if kind is None:
            raise InvalidInputError("this collection stores no vectors; create it with store_vectors")
        queries = as_vectors(vectors, n_features=self.hasher.n_features_in_)
        connection, _, state = self._view
        own = None if without is None else _items.find_all(connection, _items.as_ids(without, unique=False))
        found = _vectors.nearest(
            connection, queries, self._numbers(self._view, where), _searching.check_count("k", k), kind, own
        )
        return _searching.named(found, self._following, connection, state)

    def distances(self, codes: U8, *, where: str | None = None, n_threads: int | None = None) -> I64:
        """How many items differ from each of the ``codes`` (n, n_bytes) in 0, 1, …, n_symbols symbols.

        The answer has the shape (n, n_symbols + 1).
        """
        connection, memory, state = self._view
        bits = None if where is None else self._following.bitmap(connection, memory, state, where)
        n_symbols = memory.index.layout.n_symbols
        counts = np.zeros((len(codes), n_symbols + 1), np.int64)
        for row in range(len(codes)):
            found = memory.index.search_radius(codes[row : row + 1], n_symbols, filter=bits, n_threads=n_threads)
            counts[row] = np.bincount(found.distances.astype(np.int64), minlength=n_symbols + 1)
        return counts
