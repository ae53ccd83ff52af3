"""A batch of searches with equal options: one commit, one native search, a result for each request."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from ..codes import CodeLayout
from ..collection import Item, Matches, Snapshot
from ..errors import DeadlineError, RankhashError
from . import _answer_size
from ._errors import ApiError
from ._models import SearchOptions
from .served_collection import ServedCollection

Id = int | str

MAX_HISTOGRAMS = 16
"""Largest number of queries with a histogram per request; each of them compares all items"""
MAX_BATCH_ROWS = 256
"""Largest number of queries of different requests in one native search; more are no faster and delay other searches"""


class Examples(NamedTuple):
    """What a search by examples should find: items like these, and less like those."""

    like: tuple[Id, ...]
    unlike: tuple[Id, ...]


class BatchKey(NamedTuple):
    """The collection and the options of a search; searches with equal keys can run as one."""

    served: ServedCollection
    by_ids: bool
    examples: Examples | None
    k: int
    radius: float | None
    where: str | None
    scoring: str
    rerank: int | None
    recall: float | None
    group_by: str | None
    view: str | None
    truth: bool
    histogram: bool
    metadata: bool
    symbols: bool

    @property
    def reads_index_only(self) -> bool:
        """Whether only the index is read, which takes a short and predictable time."""
        more = self.truth or self.histogram or self.metadata or self.symbols
        return not more and self.where is None and self.group_by is None and self.rerank in (None, 0)

    @classmethod
    def of(
        cls, served: ServedCollection, options: SearchOptions, n: int, *, by_ids: bool, examples: Examples | None = None
    ) -> BatchKey:
        """The key of a request with ``n`` queries; raises ApiError if it exceeds a limit."""
        limits = served.settings.limits
        _check_limit("k", options.k, limits.k)
        _check_limit("the number of queries", n, limits.batch)
        _check_limit("queries times k", n * options.k, limits.matches)
        if options.rerank is not None:
            _check_limit("queries times rerank", n * options.rerank, limits.matches)
        if options.histogram:
            _check_limit("the number of queries with histogram", n, MAX_HISTOGRAMS)
        if options.histogram and served.collection.layout is None:
            raise ApiError(422, "invalid", "a histogram counts distances of codes, and this collection has no hasher")
        if options.truth and served.collection.store_vectors is None:
            raise ApiError(422, "invalid", "truth needs stored vectors, and this collection has none")
        if examples is not None:
            _check_limit("the number of examples", sum(map(len, examples)), limits.batch)
        if options.view is not None and (by_ids or examples is not None):
            raise ApiError(422, "invalid", "view is the view of vectors; leave it out for items")
        given = ("served", "by_ids", "examples")
        return cls(served, by_ids, examples, **{name: getattr(options, name) for name in cls._fields[len(given) :]})


def _check_limit(what: str, value: int, limit: int) -> None:
    if value > limit:
        raise ApiError(422, "limit", f"{what} must be at most {limit}, got {value}", "ask in several requests")


@dataclass
class SearchResult:
    """The matches of one request."""

    matches: Matches
    generation: int
    queries: list[dict[str, Any]] = field(default_factory=list)
    """Facts about each query: its id, its symbols"""
    items: dict[Id, dict[str, Any]] = field(default_factory=dict)
    """Metadata and symbols of the items found, by id"""
    true: list[set[Id]] | None = None
    """The true neighbours of each query"""
    histograms: list[list[int]] | None = None
    warnings: list[str] = field(default_factory=list)
    """Probable mistakes: fields of the filter that no item has"""


def run_batch(key: BatchKey, requests: Sequence[Any]) -> list[SearchResult | Exception]:
    """A result or an error for each request: an array of vectors (n, n_features) or a list of ids.

    With examples the key says it all: one search answers all requests. Else, if one of several requests fails, they
    are searched one by one; not at the deadline, which they all have reached.
    """
    try:
        return list(_search_together(key, requests))
    except DeadlineError as error:
        return [error] * len(requests)
    except (RankhashError, ApiError) as error:
        if len(requests) == 1:
            return [error]
    return [result for request in requests for result in run_batch(key, [request])]


def _search_together(key: BatchKey, requests: Sequence[Any]) -> list[SearchResult]:
    vectors: Any = None
    names: list[Id] | None = None
    if key.by_ids:
        names = [name for request in requests for name in request]
    elif key.examples is None:
        vectors = requests[0] if len(requests) == 1 else np.concatenate(requests)
    with key.served.collection.snapshot(timeout=key.served.settings.limits.search_seconds, warn=False) as snapshot:
        whole = _search(snapshot, key, vectors, names)
    if key.examples is not None:
        return [whole] * len(requests)
    return _split(whole, [len(request) for request in requests])


def _search(snapshot: Snapshot, key: BatchKey, vectors: Any, names: list[Id] | None) -> SearchResult:
    options: dict[str, Any] = {"where": key.where, "scoring": key.scoring, "rerank": key.rerank, "radius": key.radius}
    options |= {"recall": key.recall, "group_by": key.group_by, "n_threads": key.served.settings.n_threads}
    if names is not None:
        matches = snapshot.search_ids(names, key.k, **options)
    elif key.examples is not None:
        matches = snapshot.search(None, key.k, like=key.examples.like, unlike=key.examples.unlike, **options)
        if (key.symbols and snapshot.layout is not None) or key.histogram or key.truth:
            vectors = snapshot.example_query(*key.examples)
    else:
        matches = snapshot.search(vectors, key.k, view=key.view, **options)
    found = SearchResult(matches, snapshot.generation)
    if key.where is not None:
        found.warnings = unknown_fields(snapshot, key.where)
    if key.group_by is not None and not snapshot.has_field(key.group_by):
        found.warnings = [*found.warnings, f"no item has the field {key.group_by}, by which results are grouped"]
    if names is not None:
        found.queries = [{"id": name} for name in names]
    found.items = _describe(snapshot, key, matches)
    if (key.symbols or key.histogram) and snapshot.layout is not None:
        _add_codes(snapshot, key, found, vectors, names)
    elif key.symbols:
        found.queries = [query | {"symbols": []} for query in found.queries or [{}] * len(matches.ids)]
    if key.truth:
        found.true = _true_neighbors(snapshot, key, vectors, names)
    return found


def unknown_fields(snapshot: Snapshot, where: str) -> list[str]:
    """A sentence for each field that a filter tests and that no item has."""
    return [f"no item has the field {name}, which the filter tests" for name in snapshot.unknown_fields(where)]


def _describe(snapshot: Snapshot, key: BatchKey, matches: Matches) -> dict[Id, dict[str, Any]]:
    """Metadata and symbols of the items found, each read once, unless the answer would be too large."""
    found = [name for name in matches.ids.ravel().tolist() if name is not None]
    layout, limit = key.served.collection.layout, key.served.settings.limits.answer_bytes
    names = list(dict.fromkeys(found))
    n_symbols = layout.n_symbols if key.symbols and layout is not None else 0
    _answer_size.check(snapshot, found, names, limit, metadata=key.metadata, symbols=n_symbols)
    if not (key.metadata or key.symbols):
        return {}
    items = snapshot.get(names, vectors=False)
    described: dict[Id, dict[str, Any]] = {name: {} for name in names}
    if key.metadata:
        for item in items:
            described[item.id]["metadata"] = item.metadata
    if key.symbols and items:
        rows = symbols_of(layout, items)
        for item, row in zip(items, rows, strict=True):
            described[item.id]["symbols"] = row
    return described


def symbols_of(layout: CodeLayout | None, items: Sequence[Item]) -> list[list[int]]:
    """The symbols of items; empty for a collection without a hasher."""
    if layout is None:
        return [[]] * len(items)
    symbols: list[list[int]] = layout.unpack(np.array([item.code for item in items])).tolist()
    return symbols


def shown_items(layout: CodeLayout | None, items: Sequence[Item]) -> list[dict[str, Any]]:
    """Items as JSON objects."""
    if not items:
        return []
    shown = []
    for item, row in zip(items, symbols_of(layout, items), strict=True):
        one: dict[str, Any] = {"id": item.id, "symbols": row, "metadata": item.metadata}
        if item.vector is not None:
            one["vector"] = item.vector.tolist()
        shown.append(one)
    return shown


def _add_codes(snapshot: Snapshot, key: BatchKey, found: SearchResult, vectors: Any, names: list[Id] | None) -> None:
    hasher, layout, n_threads = snapshot.hasher, snapshot.layout, key.served.settings.n_threads
    assert hasher is not None
    assert layout is not None
    if names is None:
        of_view = hasher if key.view is None else key.served.view_hasher(hasher, key.view)
        codes = of_view.encode(vectors, n_threads=n_threads)
    else:
        codes = np.array([item.code for item in snapshot.get(names, vectors=False)], np.uint8)
    if key.symbols:
        found.queries = found.queries or [{} for _ in codes]
        for query, row in zip(found.queries, layout.unpack(codes).tolist(), strict=True):
            query["symbols"] = row
    if key.histogram:
        found.histograms = snapshot.histogram(codes, where=key.where, n_threads=n_threads).tolist()


def _true_neighbors(snapshot: Snapshot, key: BatchKey, vectors: Any, names: list[Id] | None) -> list[set[Id]]:
    limit = key.served.settings.limits.stored
    n = (len(vectors) if names is None else len(names)) * snapshot.count(key.where)
    if n > limit:
        raise ApiError(422, "limit", f"truth would read {n} stored vectors, and at most {limit} are allowed")
    if names is not None:
        vectors = np.array([item.vector for item in snapshot.get(names)], np.float32)
    without = None if names is None else [[name] for name in names]
    if key.examples is not None:
        without = [[*key.examples.like, *key.examples.unlike]]
    best = snapshot.search_stored(vectors, key.k, where=key.where, without=without)
    return [{name for name in row if name is not None} for row in best.ids.tolist()]


def _split(whole: SearchResult, sizes: list[int]) -> list[SearchResult]:
    """The results of requests that were searched together."""
    if len(sizes) == 1:
        return [whole]
    parts, start = [], 0
    for size in sizes:
        rows = slice(start, start + size)
        part = SearchResult(Matches(whole.matches.ids[rows], whole.matches.distances[rows]), whole.generation)
        part.warnings = whole.warnings
        part.queries, part.items = whole.queries[rows], whole.items
        part.true = None if whole.true is None else whole.true[rows]
        part.histograms = None if whole.histograms is None else whole.histograms[rows]
        parts.append(part)
        start += size
    return parts
