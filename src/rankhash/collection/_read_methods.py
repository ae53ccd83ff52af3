"""The reading methods that a collection and a snapshot have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from .._checks import check_integer
from .._ids import Id, as_ids
from .._types import F32, I64
from ..codes import CodeLayout
from ..errors import IdError, InvalidInputError
from ._database import Database
from ._door import Examples, as_queries, examples, only_example
from ._encoding import Encoding
from ._queries import Queries, SearchOptions, example_query, no_matches, radius_in
from ._reader import Reader
from ._view import View
from .results import Item, Matches, RadiusMatches

if TYPE_CHECKING:
    from ..hashers import Hasher


class ReadMethods(ABC):
    """Items that can be counted, read and searched; every call reads one commit."""

    _database: Database
    _reader: Reader

    @abstractmethod
    def _view(self) -> AbstractContextManager[View]:
        """The commit to read."""

    @abstractmethod
    def __len__(self) -> int:
        """The number of items."""

    @property
    def hasher(self) -> Hasher | None:
        """The hasher that makes the codes; None for a collection without one."""
        return self._database.encoding.hasher

    @property
    def layout(self) -> CodeLayout | None:
        """The layout of the codes; None for a collection without a hasher."""
        return self._database.encoding.layout

    @property
    def store_vectors(self) -> str | None:
        """How vectors are stored: None, ``"float16"`` or ``"float32"``."""
        return self._database.encoding.store_vectors

    @property
    def metric(self) -> str:
        """The metric of true distances: ``"cosine"``, ``"euclidean"`` or ``"dot"``."""
        return self._database.encoding.metric

    @property
    def n_features(self) -> int | None:
        """Dimensions of the vectors; None while nothing was added to a collection without a hasher."""
        return self._database.encoding.n_features

    def count(self, where: str | None = None) -> int:
        """The number of items that match the filter ``where``; default None: all items."""
        if where is None:
            return len(self)
        with self._view() as view:
            return len(view.numbers(where))

    def ids(self, *, where: str | None = None, offset: int = 0, limit: int | None = None) -> list[Id]:
        """The ids of items in the order in which they were added.

        Parameters
        ----------
        where
            A filter that the items must match; None (the default) for all items.
        offset
            The number of ids to skip; 0 by default.
        limit
            The largest number of ids to return; None (the default) for all.
        """
        check_integer("offset", offset, 0)
        stop = None if limit is None else offset + check_integer("limit", limit, 0)
        with self._view() as view:
            return view.names(view.numbers(where)[offset:stop])

    def get(self, ids: Sequence[Id] | ArrayLike, *, vectors: bool = True) -> list[Item]:
        """The items of the given ids; UnknownIdError if one of them is not in the collection.

        Stored vectors are read as well, unless ``vectors`` (default True) is False.
        """
        names = as_ids(ids, unique=False)
        with self._view() as view:
            return view.get(names, vectors=vectors)

    def known(self, ids: Sequence[Id] | ArrayLike) -> list[Id]:
        """Those of the given ids that are in the collection, in the order given."""
        names = as_ids(ids, unique=False)
        with self._view() as view:
            return view.known(names)

    def __contains__(self, name: object) -> bool:
        """Whether there is an item of that id."""
        try:
            return bool(self.known([name]))  # type: ignore[arg-type]
        except IdError:
            return False

    def __getitem__(self, name: Id) -> Item:
        """The item of an id; UnknownIdError if there is none."""
        return self.get([name])[0]

    def __iter__(self) -> Iterator[Id]:
        """The ids in the order of insertion, as of the start of the iteration."""
        return iter(self.ids())

    def to_pandas(self, *, where: str | None = None, vectors: bool = False) -> Any:
        """A pandas DataFrame of the metadata: one row per item under its id, one column per field.

        Parameters
        ----------
        where
            A filter that the items must match; None (the default) for all items.
        vectors
            Whether stored vectors are put into a column ``vector``; False by default.
        """
        try:
            import pandas
        except ImportError:
            raise InvalidInputError("to_pandas needs pandas: pip install pandas") from None
        with self._view() as view:
            items = view.items(view.numbers(where), vectors=vectors)
        table = pandas.DataFrame.from_records([item.metadata or {} for item in items])
        table.index = pandas.Index([item.id for item in items], name="id", dtype=object if not items else None)
        if vectors and self.store_vectors is not None:
            table["vector"] = [item.vector for item in items]
        return table

    def search(
        self,
        vectors: ArrayLike | None = None,
        k: int = 10,
        *,
        where: str | None = None,
        like: Examples | None = None,
        unlike: Examples = (),
        group_by: str | None = None,
        recall: float | None = None,
        scoring: str = "auto",
        rerank: int | None = None,
        radius: float | None = None,
        view: int | str | None = None,
        n_threads: int | None = None,
    ) -> Matches:
        """The k nearest items of each query vector, or of examples.

        Parameters
        ----------
        vectors
            The queries, (n_queries, n_features), or one query, (n_features,); None (the default) with ``like``.
        k
            Number of items per query; 10 by default. Places that cannot be filled have the id None and an infinite
            distance.
        where
            A filter over the metadata, such as ``"price < 20 and colour in ('red', 'blue')"``; None by default.
        like, unlike
            One id or several of example items, and of counterexamples: the query is 2 · mean(like) - mean(unlike) of
            their stored vectors. One example alone needs no stored vectors. These items are not in the results.
            None and () by default.
        group_by
            A field of the metadata: of items with the same value in it, only the nearest is found. None by default.
        recall
            For a collection without a hasher, the fraction of the true neighbours to find; 1 compares all vectors. None
            (the default) is the recall that the collection was created with.
        scoring
            For a collection with a hasher, the distance by which items are found: ``"hamming"``, the number of
            differing symbols; ``"weighted"``, the sum of the hasher's weights of the differing symbols;
            ``"asymmetric"``, where the query keeps its real-valued scores. ``"auto"`` (the default) is
            ``"asymmetric"`` for hashers that have learned score tables, such as JRSH and RankQuantizer, and else
            ``"hamming"``.
        rerank
            For a collection with a hasher, the number of candidates to find by code and to re-rank by true distance
            to their stored vectors, which is then the distance of the result; 0 does not re-rank. None (the default)
            re-ranks 10 k candidates, at least 100, if vectors are stored and ``scoring`` is ``"auto"``, and else none.
        radius
            Largest distance of an item; None by default.
        view
            The view of the queries, by its place or name, for a hasher of several views; None (the default) stands for
            the first or only one. They find items of all views.
        n_threads
            Number of threads; None (the default) uses every core that this process may use.
        """
        k = check_integer("k", k)
        options = SearchOptions(scoring, rerank, recall, radius, n_threads)
        if vectors is None and view is None and (one := only_example(like, unlike)):
            return self._nearest_to_items(one, k, options, where=where, group_by=group_by)
        with self._view() as seen:
            encoding = seen.encoding.of_view(view)
            chosen = options.checked(encoding, k)
            rows, without = self._queries_of(seen, encoding, vectors, like, unlike)
            if not len(rows) or encoding.n_features is None:
                return no_matches(len(rows), k)
            queries = Queries.of_vectors(encoding, rows, chosen)
            return self._counted(queries.nearest(seen, k, where=where, without=without, group_by=group_by), chosen)

    def _queries_of(
        self, view: View, encoding: Encoding, vectors: Any, like: Any, unlike: Any
    ) -> tuple[F32, list[I64] | None]:
        """The queries of a search, and the numbers that are excluded from its results."""
        if (vectors is None) == (like is None):
            raise InvalidInputError("search needs either vectors or ids in like")
        if like is None:
            return as_queries(encoding, vectors), None
        numbers = view.find(examples(like)), view.find(examples(unlike))
        return example_query(view, *numbers), [np.concatenate(numbers)]

    def example_query(self, like: Examples, unlike: Examples = ()) -> F32:
        """The query vector, (1, n_features), of a search ``like`` items and ``unlike`` others (default: none)."""
        with self._view() as view:
            return example_query(view, view.find(examples(like)), view.find(examples(unlike)))

    def search_ids(
        self,
        ids: Sequence[Id] | ArrayLike,
        k: int = 10,
        *,
        where: str | None = None,
        group_by: str | None = None,
        recall: float | None = None,
        scoring: str = "auto",
        rerank: int | None = None,
        radius: float | None = None,
        n_threads: int | None = None,
    ) -> Matches:
        """The k items that are nearest to each of the given items, without these items themselves.

        The parameters are those of [`Collection.search`][rankhash.Collection.search]; ``"asymmetric"`` scoring and
        ``rerank`` need stored vectors.
        """
        k = check_integer("k", k)
        options = SearchOptions(scoring, rerank, recall, radius, n_threads)
        return self._nearest_to_items(as_ids(ids, unique=False), k, options, where=where, group_by=group_by)

    def _nearest_to_items(
        self, names: list[Id], k: int, options: SearchOptions, *, where: str | None, group_by: str | None
    ) -> Matches:
        with self._view() as view:
            chosen = options.checked(view.encoding, k, by_items=True)
            numbers = view.find(names)
            if not len(numbers):
                return no_matches(0, k)
            queries = Queries.of_items(view, numbers, chosen)
            found = queries.nearest(view, k, where=where, without=[*numbers[:, None]], group_by=group_by)
            return self._counted(found, chosen)

    def search_radius(
        self,
        vectors: ArrayLike,
        radius: float,
        *,
        where: str | None = None,
        scoring: str = "auto",
        n_threads: int | None = None,
    ) -> RadiusMatches:
        """All items within ``radius`` of each query vector.

        Without a hasher the radius is a distance in the collection's metric. With one it is a distance of codes, and
        ``scoring`` is ``"hamming"``, which ``"auto"`` (the default) stands for, or ``"weighted"``. The other
        parameters are those of [`Collection.search`][rankhash.Collection.search].
        """
        with self._view() as view:
            hasher = view.encoding.hasher
            if hasher is not None and scoring == "auto":
                scoring = "hamming"
            if scoring == "asymmetric":
                raise InvalidInputError('scoring="asymmetric" has no search by radius; use "hamming" or "weighted"')
            options = SearchOptions(scoring, None if hasher is None else 0, n_threads=n_threads)
            chosen = options.checked(view.encoding, 1)
            most = radius_in("codes" if hasher is not None else view.encoding.metric, radius)
            rows = as_queries(view.encoding, vectors)
            if not len(rows) or view.encoding.n_features is None:
                return RadiusMatches(np.zeros(len(rows) + 1, np.int64), np.empty(0, object), np.empty(0, np.float32))
            found = Queries.of_vectors(view.encoding, rows, chosen).within(view, most, where=where)
            self._reader.count_search()
            return found

    def _counted(self, found: Matches, options: SearchOptions) -> Matches:
        if options.scoring != "asymmetric":  # which no hash table speeds up
            self._reader.count_search()
        return found
