"""Searches of a collection: compared with its index alone, with filters, with re-ranking."""

from __future__ import annotations

import time
from functools import partial
from typing import Any

import numpy as np

from harness import answers, timing
from harness.comparison import Comparison, Outcome
from rankhash import Collection, FlatIndex, Matches
from rankhash._types import Array
from systems._collection_data import draw_vectors, filled


def searched(p: dict[str, Any]) -> Outcome:
    """The same queries through the collection and through an index of the same codes; both hash the vectors."""
    with filled(p) as collection:
        index, hasher = _index_of(collection), collection.hasher
        assert hasher is not None
        rounds = p["repeats"] + 1 if p.get("fresh") else 1
        asked = [draw_vectors(p, p["n_queries"], 9 + turn) for turn in range(rounds)]
        turns = {"ours": iter(asked * p["repeats"] * 2), "index": iter(asked * p["repeats"] * 2)}

        def ours() -> Matches:
            return collection.search(next(turns["ours"]), p["k"], n_threads=1)

        def alone() -> Any:
            return index.search(hasher.encode(next(turns["index"]), n_threads=1), p["k"], n_threads=1)

        samples = timing.one_thread({"ours": ours, "index": alone}, p["repeats"])
        names = collection.ids()
        found, bare = collection.search(asked[0], p["k"]), index.search(hasher.encode(asked[0]), p["k"])
        same = [[names[i] for i in row] for row in bare.ids.tolist()] == found.ids.tolist()
    return Outcome(
        unit="ms per query",
        scale=1e3 / p["n_queries"],
        clock="thread",
        samples=samples,
        comparisons=[Comparison("index", "FlatIndex", kind="cost")],
        agree=same and (bare.distances == found.distances).all().item(),
        checked="ids and distances of all queries",
    )


def filtered(p: dict[str, Any]) -> Outcome:
    """A search with a cached filter, compared with the same search without a filter plus the allowed extra time."""
    with filled(p | {"named": True}) as collection:
        if p.get("delete"):
            collection.delete(collection.ids()[:: p["n"] // min(p["delete"], p["n"])])
        queries = draw_vectors(p, p["n_queries"], 9)
        contenders = {
            "ours": partial(collection.search, queries, p["k"], where="group = 1", n_threads=1),
            "unfiltered": partial(collection.search, queries, p["k"], n_threads=1),
        }
        samples = timing.one_thread(contenders, p["repeats"])
        extra_seconds = p["extra_ms"] / 1e3 * p["n_queries"]
        for clock in samples.values():
            clock["limit"] = [seconds + extra_seconds for seconds in clock["unfiltered"]]
        agree = _passes(collection, queries, p["k"])
    return Outcome(
        unit="ms per query",
        scale=1e3 / p["n_queries"],
        clock="thread",
        samples=samples,
        comparisons=[
            Comparison("limit", f"unfiltered + {p['extra_ms']} ms", kind="cost"),
            Comparison("unfiltered", "unfiltered", kind="cost"),
        ],
        agree=agree,
        checked="the answer with a NumPy scan of the items whose metadata pass, ties too",
    )


def first_filtered(p: dict[str, Any]) -> Outcome:
    """A filter that is not cached, compared with a search without one."""
    with filled(p | {"named": True}) as collection:
        if p.get("index_field"):
            collection.index_field("group")
        queries, seconds, plain = draw_vectors(p, p["n_queries"], 9), [], []
        collection.search(queries, p["k"], where="group = 7", n_threads=1)
        for turn in range(p["repeats"]):
            started = time.perf_counter()
            collection.search(queries, p["k"], where=f"group in (1, {100 + turn})", n_threads=1)
            seconds.append(time.perf_counter() - started)
            started = time.perf_counter()
            collection.search(queries, p["k"], n_threads=1)
            plain.append(time.perf_counter() - started)
        agree = _passes(collection, queries, p["k"])
    return Outcome(
        unit="ms",
        scale=1e3,
        clock="wall",
        samples={"wall": {"ours": seconds, "unfiltered": plain}},
        comparisons=[Comparison("unfiltered", "unfiltered", kind="cost")],
        agree=agree,
        checked="as above",
    )


def reranked(p: dict[str, Any]) -> Outcome:
    """Re-ranking with stored vectors, compared with the search by codes alone."""
    with filled(p | {"store_vectors": "float16"}) as collection:
        queries = draw_vectors(p, p["n_queries"], 9)
        contenders = {
            "ours": partial(collection.search, queries, p["k"], rerank=p["rerank"], n_threads=1),
            "codes": partial(collection.search, queries, p["k"], scoring="hamming", n_threads=1),
        }
        samples = timing.one_thread(contenders, p["repeats"])
        first = collection.search(queries[:2], p["k"], rerank=p["n"])
        stored = draw_vectors(p, min(p.get("batch", 100_000), p["n"]), 1).astype(np.float16).astype(np.float32)
        away = _distances(queries[:2], stored, p["metric"])
        agree = all(
            abs(away[row, name] - distance) < 1e-3
            for row in range(2)
            for name, distance in zip(first.ids[row].tolist(), first.distances[row].tolist(), strict=True)
            if name < len(stored)
        )
    return Outcome(
        unit="ms per query",
        scale=1e3 / p["n_queries"],
        clock="thread",
        samples=samples,
        comparisons=[Comparison("codes", "codes alone", kind="cost")],
        agree=agree,
        checked="distances of two queries with NumPy",
    )


def _distances(queries: Array, stored: Array, metric: str) -> Array:
    if metric == "euclidean":
        return np.asarray(np.sqrt(((queries[:, None] - stored[None]) ** 2).sum(axis=2)))
    if metric == "dot":
        return np.asarray(-(queries @ stored.T))
    lengths = np.linalg.norm(queries, axis=1)[:, None] * np.linalg.norm(stored, axis=1)
    return np.asarray(1 - queries @ stored.T / lengths)


def _index_of(collection: Collection) -> FlatIndex:
    assert collection.layout is not None
    index = FlatIndex(collection.layout)
    with collection._reader.view() as view:
        index.add(view.index.get(view.index.ids))
    return index


def _passes(collection: Collection, queries: Array, k: int) -> bool:
    names = collection.ids()
    items = {item.id: item for item in collection.get(names)}
    codes = np.array([items[name].code for name in names])
    passing = np.array([(items[name].metadata or {}).get("group") == 1 for name in names])
    layout = collection.layout
    assert layout is not None
    assert collection.hasher is not None
    symbols = layout.unpack(collection.hasher.encode(queries))
    found = collection.search(queries, k, where="group = 1")
    place = {name: i for i, name in enumerate(names)}
    for row, query in enumerate(symbols):
        truth = answers.scan(layout, codes, answers.equal_symbols_table(query, layout.arity))
        truth[~passing] = np.inf
        numbers = np.array([place.get(name, -1) for name in found.ids[row]])
        if not answers.is_exact(numbers, found.distances[row], truth):
            return False
    return True
