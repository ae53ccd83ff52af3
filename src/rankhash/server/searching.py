"""A batch of searches that ask alike: one look at one commit, one native search, an answer for each."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from ..collection import Matches, Snapshot
from ..errors import RankhashError
from .errors import ApiError
from .models import SearchOptions
from .served import Served

Id = int | str

MAX_HISTOGRAMS = 16
"""Queries with a histogram in one request: each of them looks at all items."""
TOGETHER = 256
"""Queries of different requests in one native search: more make it no faster, and let others wait"""
LARGE = 2000
"""Matches from which on an answer is written in a thread, so that others need not wait for it"""


class Ask(NamedTuple):
    """What a search is besides its queries; searches with equal ones can run as one."""

    served: Served
    by_ids: bool
    k: int
    radius: float | None
    where: str | None
    scoring: str
    rerank: int | None
    truth: bool
    histogram: bool
    metadata: bool
    symbols: bool

    @property
    def is_plain(self) -> bool:
        """Whether only the index is read, which takes a short and known time."""
        more = self.truth or self.histogram or self.metadata or self.symbols
        return not more and self.where is None and self.rerank is None

    @classmethod
    def of(cls, served: Served, options: SearchOptions, n: int, *, by_ids: bool) -> Ask:
        """The question that a request asks, if it keeps to the limits."""
        limits = served.settings.limits
        _at_most("k", options.k, limits.k)
        _at_most("the number of queries", n, limits.batch)
        _at_most("queries times k", n * options.k, limits.matches)
        if options.rerank is not None:
            _at_most("queries times rerank", n * options.rerank, limits.matches)
        if options.histogram:
            _at_most("the number of queries with histogram", n, MAX_HISTOGRAMS)
        if options.truth and served.collection.store_vectors is None:
            raise ApiError(422, "invalid", "truth needs stored vectors, and this collection has none")
        return cls(
            served,
            by_ids,
            options.k,
            options.radius,
            options.where,
            options.scoring,
            options.rerank,
            options.truth,
            options.histogram,
            options.metadata,
            options.symbols,
        )


def _at_most(what: str, value: int, limit: int) -> None:
    if value > limit:
        raise ApiError(422, "limit", f"{what} must be at most {limit}, got {value}", "ask in several requests")


@dataclass
class Found:
    """What a request found."""

    matches: Matches
    generation: int
    queries: list[dict[str, Any]] = field(default_factory=list)
    items: dict[Id, dict[str, Any]] = field(default_factory=dict)
    true: list[set[Id]] | None = None
    histograms: list[list[int]] | None = None


def search(ask: Ask, requests: Sequence[Any]) -> list[Found | Exception]:
    """An answer for each request, or what is wrong with it; a request is vectors ``(n, n_features)`` or a list of ids.

    If something is wrong with one of many, they are searched one by one.
    """
    try:
        return list(_search_together(ask, requests))
    except (RankhashError, ApiError) as error:
        if len(requests) == 1:
            return [error]
    return [answer for request in requests for answer in search(ask, [request])]


def _search_together(ask: Ask, requests: Sequence[Any]) -> list[Found]:
    vectors: Any = None
    names: list[Id] | None = None
    if ask.by_ids:
        names = [name for request in requests for name in request]
    else:
        vectors = requests[0] if len(requests) == 1 else np.concatenate(requests)
    with ask.served.collection.snapshot() as now:
        whole = _find(now, ask, vectors, names)
    return _split(whole, [len(request) for request in requests])


def _find(now: Snapshot, ask: Ask, vectors: Any, names: list[Id] | None) -> Found:
    options: dict[str, Any] = {"where": ask.where, "scoring": ask.scoring, "rerank": ask.rerank, "radius": ask.radius}
    options["n_threads"] = ask.served.settings.n_threads
    matches = now.search(vectors, ask.k, **options) if names is None else now.search_ids(names, ask.k, **options)
    found = Found(matches, now.generation)
    if names is not None:
        found.queries = [{"id": name} for name in names]
    if ask.metadata or ask.symbols:
        found.items = _describe(now, ask, matches)
    if ask.symbols or ask.histogram:
        _add_codes(now, ask, found, vectors, names)
    if ask.truth:
        found.true = _true(now, ask, vectors, names)
    return found


def _describe(now: Snapshot, ask: Ask, matches: Matches) -> dict[Id, dict[str, Any]]:
    names = [name for name in dict.fromkeys(matches.ids.ravel().tolist()) if name is not None]
    items = now.get(names, vectors=False)
    more: dict[Id, dict[str, Any]] = {name: {} for name in names}
    if ask.metadata:
        for item in items:
            more[item.id]["metadata"] = item.metadata
    if ask.symbols and items:
        layout = ask.served.collection.layout
        rows = layout.unpack(np.array([item.code for item in items]))
        for item, row in zip(items, rows.tolist(), strict=True):
            more[item.id]["symbols"] = row
    return more


def _add_codes(now: Snapshot, ask: Ask, found: Found, vectors: Any, names: list[Id] | None) -> None:
    collection, n_threads = ask.served.collection, ask.served.settings.n_threads
    if names is None:
        codes = collection.hasher.encode(vectors, n_threads=n_threads)
    else:
        codes = np.array([item.code for item in now.get(names, vectors=False)], np.uint8)
    if ask.symbols:
        found.queries = found.queries or [{} for _ in codes]
        for query, row in zip(found.queries, collection.layout.unpack(codes).tolist(), strict=True):
            query["symbols"] = row
    if ask.histogram:
        found.histograms = now.distances(codes, where=ask.where, n_threads=n_threads).tolist()


def _true(now: Snapshot, ask: Ask, vectors: Any, names: list[Id] | None) -> list[set[Id]]:
    limit = ask.served.settings.limits.stored
    n = (len(vectors) if names is None else len(names)) * now.count(ask.where)
    if n > limit:
        raise ApiError(422, "limit", f"truth would read {n} stored vectors, and at most {limit} are allowed")
    if names is not None:
        vectors = np.array([item.vector for item in now.get(names)], np.float32)
    best = now.search_stored(vectors, ask.k, where=ask.where, without=names)
    return [{name for name in row if name is not None} for row in best.ids.tolist()]


def _split(whole: Found, sizes: list[int]) -> list[Found]:
    """The answers of requests that were searched together."""
    if len(sizes) == 1:
        return [whole]
    parts, start = [], 0
    for size in sizes:
        rows = slice(start, start + size)
        part = Found(Matches(whole.matches.ids[rows], whole.matches.distances[rows]), whole.generation)
        part.queries, part.items = whole.queries[rows], whole.items
        part.true = None if whole.true is None else whole.true[rows]
        part.histograms = None if whole.histograms is None else whole.histograms[rows]
        parts.append(part)
        start += size
    return parts


def answer(ask: Ask, found: Found, since: float) -> dict[str, Any]:
    """What a client gets, as JSON holds it but for infinite distances."""
    ids, distances = found.matches.ids.tolist(), found.matches.distances.tolist()
    results = []
    for row, names in enumerate(ids):
        items = found.items
        if items:
            matches = [
                {"id": name, "distance": distance, **items[name]}
                for name, distance in zip(names, distances[row], strict=True)
                if name is not None
            ]
        else:
            matches = [
                {"id": name, "distance": distance}
                for name, distance in zip(names, distances[row], strict=True)
                if name is not None
            ]
        result: dict[str, Any] = {"query": found.queries[row] if found.queries else {}, "matches": matches}
        result["truncated"] = ask.radius is not None and len(matches) == ask.k
        if found.true is not None:
            true = found.true[row]
            for match in matches:
                match["true"] = match["id"] in true
            result["recall"] = sum(match["true"] for match in matches) / len(true) if true else None
        if found.histograms is not None:
            result["histogram"] = found.histograms[row]
        results.append(result)
    took = round((time.perf_counter() - since) * 1000, 3)
    return {"results": results, "took_ms": took, "generation": found.generation}
