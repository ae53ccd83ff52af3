"""A search in steps: queries to codes or score tables, candidates from the index, re-ranking, ids."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import hashers
from .._checks import check_choice, check_integer, check_number, check_radius
from .._types import F32, I64, U8
from ..errors import InvalidInputError
from ..index import Index
from ..neighbors import Neighbors
from ..vector_index.numbered import prepare
from ._encoding import Encoding
from ._view import View
from .results import Matches, RadiusMatches

SCORINGS = ("auto", "hamming", "weighted", "asymmetric")

CANDIDATES_PER_GROUP = 4
"""Candidates per group at first; more if they do not give enough groups"""
CANDIDATES, CANDIDATES_PER_NEIGHBOR = 100, 10
"""Default number of re-ranked candidates: max(100, 10 · k)"""

MAX_RADIUS = float(np.finfo(np.float32).max)


@dataclass(frozen=True)
class SearchOptions:
    """Options of a search; the collection chooses those that are None."""

    scoring: str = "auto"
    rerank: int | None = None
    """Number of candidates to re-rank; 0 for none"""
    recall: float | None = None
    radius: float | None = None
    n_threads: int | None = None

    def checked(self, encoding: Encoding, k: int, *, by_items: bool = False) -> SearchOptions:
        """The options with the choices of a collection; InvalidInputError if they do not fit it.

        Queries that are items (``by_items``, False) have score tables only if their vectors are stored.
        """
        check_choice("scoring", self.scoring, SCORINGS)
        if self.recall is not None:
            check_number("recall", self.recall, 0, 1)
        if encoding.hasher is None:
            if self.scoring != "auto" or self.rerank is not None:
                raise InvalidInputError(
                    "this collection has no hasher and compares vectors by its metric: leave scoring and rerank out"
                )
            return self
        if self.recall is not None:
            raise InvalidInputError("recall needs a collection without a hasher; use rerank with this one")
        rerank = self.rerank
        if rerank is not None:
            check_integer("rerank", rerank, 0)
            if rerank and encoding.store_vectors is None:
                raise InvalidInputError("rerank needs stored vectors: create the collection with store_vectors")
        elif self.scoring == "auto" and encoding.store_vectors is not None:
            rerank = max(CANDIDATES, CANDIDATES_PER_NEIGHBOR * k)
        scoring = _scoring(encoding, self.scoring)
        if by_items and self.scoring == "auto" and encoding.store_vectors is None:
            scoring = "hamming"
        return SearchOptions(scoring, rerank or None, None, self.radius, self.n_threads)

    def checked_radius(self, encoding: Encoding) -> float | None:
        """The radius; a distance of inner products may be negative."""
        if self.radius is None:
            return None
        compares_vectors = encoding.hasher is None or self.rerank is not None
        return radius_in(encoding.metric if compares_vectors else "codes", self.radius)


@dataclass(frozen=True)
class Queries:
    """Queries in the form of a collection's search."""

    encoding: Encoding
    options: SearchOptions
    vectors: F32 | None
    codes: U8 | None
    """For scoring by differing symbols"""
    score_tables: F32 | None
    """For asymmetric scoring"""

    @classmethod
    def of_vectors(cls, encoding: Encoding, vectors: Any, options: SearchOptions) -> Queries:
        """The queries of vectors, with options that were checked."""
        hasher = encoding.hasher
        codes = tables = None
        if hasher is not None and options.scoring == "asymmetric":
            tables = hasher.score_tables(vectors)
        elif hasher is not None:
            codes = hasher.encode(vectors, n_threads=options.n_threads)
        return cls(encoding, options, vectors, codes, tables)

    @classmethod
    def of_items(cls, view: View, numbers: I64, options: SearchOptions) -> Queries:
        """The queries of stored items."""
        encoding, vectors = view.encoding, None
        if encoding.hasher is None or options.scoring == "asymmetric" or options.rerank is not None:
            if encoding.store_vectors is None:
                raise InvalidInputError('scoring="asymmetric" by ids needs stored vectors: create with store_vectors')
            vectors = view.vectors(numbers)
            if options.scoring == "asymmetric" or encoding.hasher is None:
                return cls.of_vectors(encoding, vectors, options)
        return cls(encoding, options, vectors, view.index.get(numbers), None)

    def nearest(
        self,
        view: View,
        k: int,
        *,
        where: str | None,
        without: list[I64] | None = None,
        group_by: str | None = None,
    ) -> Matches:
        """The k nearest items of each query; ``without`` (None) excludes numbers, for each query its own.

        With ``group_by`` (None), a field, only the nearest of the items that have the same value in it.
        """
        if group_by is None:
            return view.matches(self._neighbors(view, k, where, without))
        path, width = view.group_path(group_by), CANDIDATES_PER_GROUP * k
        while True:
            found = self._neighbors(view, width, where, without)
            chosen = first_of_groups(found, [view.values(row, path) for row in found.ids], k)
            if width >= view.n_items or (chosen.ids >= 0).all() or (found.ids[:, -1] < 0).all():
                return view.matches(chosen)
            width = min(CANDIDATES_PER_GROUP * width, view.n_items)

    def _neighbors(self, view: View, k: int, where: str | None, without: list[I64] | None) -> Neighbors:
        rerank, radius = self.options.rerank, self.options.checked_radius(self.encoding)
        n_more = 0 if without is None else max(map(len, without), default=0)
        found = self._search(view, (k if rerank is None else max(k, rerank)) + n_more, view.bitmap(where))
        if without is not None:
            found = exclude(found, without, n_more)
        if rerank is not None:
            assert self.vectors is not None
            found = view.memory.rank(self.vectors, found.ids, k, n_threads=self.options.n_threads)
        if radius is not None:
            found = _within(found, radius)
        return found

    def within(self, view: View, radius: float, *, where: str | None) -> RadiusMatches:
        """All items within the radius."""
        bits, n_threads = view.bitmap(where), self.options.n_threads
        if self.encoding.hasher is None:
            assert self.vectors is not None
            found = view.memory.search_radius(self.vectors, radius, bits=bits, n_threads=n_threads)
        else:
            assert self.codes is not None
            weights = weights_of(self.encoding, self.options.scoring)
            found = view.index.search_radius(self.codes, radius, weights=weights, filter=bits, n_threads=n_threads)
        ids = np.empty(len(found.ids), object)
        ids[:] = view.names(found.ids)
        return RadiusMatches(found.offsets, ids, found.distances)

    def _search(self, view: View, k: int, bits: U8 | None) -> Neighbors:
        options = self.options
        if self.encoding.hasher is None:
            assert self.vectors is not None
            memory, n_threads = view.memory, options.n_threads
            return memory.search(self.vectors, k, recall=options.recall, bits=bits, n_threads=n_threads)
        index: Index = view.index
        if self.score_tables is not None:
            return index.search_scores(self.score_tables, k, filter=bits, n_threads=options.n_threads)
        assert self.codes is not None
        weights = weights_of(self.encoding, options.scoring)
        return index.search(self.codes, k, weights=weights, filter=bits, n_threads=options.n_threads)


def no_matches(n_queries: int, k: int) -> Matches:
    """The answer of a search without hits."""
    return Matches(np.full((n_queries, k), None, object), np.full((n_queries, k), np.inf, np.float32))


def radius_in(metric: str, radius: Any) -> float:
    """The radius, checked: negative inner products may be negative, other distances may not."""
    return check_number("radius", radius, -MAX_RADIUS, MAX_RADIUS) if metric == "dot" else check_radius(radius)


def weights_of(encoding: Encoding, scoring: str) -> F32 | None:
    """The weights of symbols for weighted scoring, else None."""
    if scoring != "weighted":
        return None
    weights: F32 | None = getattr(encoding.hasher, "weights_", None)
    if weights is None:
        name = type(encoding.hasher).__name__
        raise InvalidInputError(f'scoring="weighted" needs a hasher that learns weights, such as SRSH; this is {name}')
    return weights


def _scoring(encoding: Encoding, scoring: str) -> str:
    """The scoring, with ``"auto"`` resolved: score tables if the hasher has learned them, else Hamming."""
    weights_of(encoding, scoring)
    if scoring != "auto":
        return scoring
    hasher = encoding.hasher
    assert hasher is not None
    learned = hasattr(hasher, "sharpness_") or type(hasher).score_tables is not hashers.Hasher.score_tables
    return "asymmetric" if learned else "hamming"


def first_of_groups(found: Neighbors, groups: list[list[Any]], k: int) -> Neighbors:
    """The first k neighbours of each query that are the nearest of their group."""
    ids, distances = empty_neighbors(len(found.ids), k)
    for row, values in enumerate(groups):
        seen: set[Any] = set()
        keep = [at for at, value in enumerate(values) if found.ids[row, at] >= 0 and _is_new(value, seen)][:k]
        ids[row, : len(keep)], distances[row, : len(keep)] = found.ids[row, keep], found.distances[row, keep]
    return Neighbors(ids, distances)


def _is_new(value: Any, seen: set[Any]) -> bool:
    """Whether a value is new; adds it to those seen."""
    if value in seen:
        return False
    seen.add(value)
    return True


def empty_neighbors(n_queries: int, k: int) -> tuple[I64, F32]:
    """Ids and distances of no neighbours."""
    return np.full((n_queries, k), -1, np.int64), np.full((n_queries, k), np.inf, np.float32)


def example_query(view: View, like: I64, unlike: I64) -> F32:
    """The query ``(1, d)`` of examples and counterexamples: 2 · mean(like) - mean(unlike)."""
    if view.encoding.store_vectors is None:
        raise InvalidInputError("a search by examples needs stored vectors: create the collection with store_vectors")
    if not len(like):
        raise InvalidInputError("a search by examples needs at least one item that the results should be like")
    means = []
    for numbers in (like, unlike if len(unlike) else like):
        vectors = prepare(view.vectors(numbers), view.encoding.metric, "vectors")
        means.append(vectors.mean(axis=0, dtype=np.float64))
    query: F32 = (2 * means[0] - means[1]).astype(np.float32)[None]
    return query


def exclude(found: Neighbors, without: list[I64], n_more: int) -> Neighbors:
    """Each row without the given numbers, cut to ``n_more`` places fewer."""
    ids, distances = (np.empty((len(part), part.shape[1] - n_more), part.dtype) for part in found)
    for row, numbers in enumerate(without):
        keep = np.flatnonzero(~np.isin(found.ids[row], numbers))[: ids.shape[1]]
        ids[row], distances[row] = found.ids[row, keep], found.distances[row, keep]
    return Neighbors(ids, distances)


def _within(found: Neighbors, radius: float) -> Neighbors:
    far = found.distances > np.float64(radius)
    return Neighbors(np.where(far, -1, found.ids), np.where(far, np.float32(np.inf), found.distances))
