"""What a collection costs: opening, adding, searching beside its index alone, filters, re-ranking.

Where the goal is a time, the peer is the goal itself: ``limit`` has that many seconds.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

import answers
import measure
from case import Case, Comparison, Outcome
from rankhash import CodeLayout, Collection, FlatIndex, Matches
from rankhash.hashers import RSH

Array = NDArray[Any]


def run(case: Case) -> Outcome:
    """What the case's ``what`` names."""
    runs: dict[str, Callable[[dict[str, Any]], Outcome]] = {
        "open": _open,
        "add": _add,
        "search": _search,
        "where": _where,
        "first": _first,
        "rerank": _rerank,
    }
    return runs[case.params["what"]](case.params)


# -- data ----------------------------------------------------------------------------------------------------------


def _hasher(p: dict[str, Any]) -> RSH:
    """A hasher of random projections: how well it hashes does not matter here."""
    rng = np.random.default_rng(0)
    hasher = RSH(p["n_symbols"], p["arity"], random_state=0, n_neighbors=10)
    return hasher.fit(rng.standard_normal((200, p["n_features"])).astype(np.float32))


def _vectors(p: dict[str, Any], n: int, stream: int) -> Array:
    return np.random.default_rng(stream).standard_normal((n, p["n_features"]), dtype=np.float32)


def _metadata(p: dict[str, Any], start: int, n: int) -> list[dict[str, Any]]:
    passing = np.random.default_rng(start + 1).random(n) < p.get("share", 0.5)
    return [{"group": int(g), "name": f"item {start + i}", "price": i / 2} for i, g in enumerate(passing)]


def _fill(collection: Collection, p: dict[str, Any], *, stream: int = 1) -> None:
    batch = p.get("batch", 100_000)
    for start in range(0, p["n"], batch):
        n = min(batch, p["n"] - start)
        named = p.get("named", False)
        ids = [f"item-{i:09d}" for i in range(start, start + n)] if named else None
        described = _metadata(p, start, n) if named else None
        collection.add(_vectors(p, n, stream + start), ids, described)


@contextmanager
def _filled(p: dict[str, Any]) -> Iterator[Collection]:
    with tempfile.TemporaryDirectory() as folder:
        store = p.get("store_vectors")
        # Flat: what is measured is the collection beside its index, not one kind of index beside another.
        path = f"{folder}/bench.rankhash"
        with Collection.create(path, _hasher(p), store_vectors=store, index="flat") as collection:
            _fill(collection, p)
            yield collection


def _index_of(collection: Collection) -> FlatIndex:
    index = FlatIndex(collection.layout)
    with collection._following.now() as (_, memory, _):
        index.add(memory.index.get(memory.index.ids))
    return index


def _limited(unit: str, seconds: list[float], limit: float, **more: Any) -> Outcome:
    return Outcome(
        unit=unit,
        scale=1,
        clock="wall",
        samples={"wall": {"ours": seconds, "limit": [limit] * len(seconds)}},
        comparisons=[Comparison("limit", "goal", kind="cost")],
        **more,
    )


# -- cases ---------------------------------------------------------------------------------------------------------


def _open(p: dict[str, Any]) -> Outcome:
    """From opening the file to the first answer; the file is in the system's cache, no process is started."""
    with _filled(p) as collection:
        path, queries = collection.path, _vectors(p, 1, 9)
        expected = collection.search(queries, p["k"], n_threads=1)
        seconds, same = [], True
        for _ in range(p["repeats"]):
            started = time.perf_counter()
            with Collection.open(path) as opened:
                found = opened.search(queries, p["k"], n_threads=1)
                seconds.append(time.perf_counter() - started)
            same &= _equal(found, expected)
        extra = {"file_bytes": collection.stats().file_bytes}
    return _limited("s", seconds, p["seconds"], agree=same, checked="the first answer after each opening", extra=extra)


def _add(p: dict[str, Any]) -> Outcome:
    """Vectors in, codes on the disk: hashing, rows, and a synced commit a batch. Making the data is not counted."""
    batch, seconds, right = p["batch"], [], True
    named = p.get("named", False)
    for _ in range(p["repeats"]):
        with tempfile.TemporaryDirectory() as folder:
            hasher, spent = _hasher(p), 0.0
            with Collection.create(f"{folder}/x", hasher, store_vectors=p.get("store_vectors")) as collection:
                for start in range(0, p["n"], batch):
                    n = min(batch, p["n"] - start)
                    vectors = _vectors(p, n, start)
                    ids = [f"item-{i:09d}" for i in range(start, start + n)] if named else None
                    described = _metadata(p, start, n) if named else None
                    started = time.perf_counter()
                    collection.add(vectors, ids, described)
                    spent += time.perf_counter() - started
                right &= len(collection) == p["n"]
                file_bytes = collection.stats().file_bytes
            seconds.append(spent)
    return _limited(
        "s", seconds, p["seconds"], agree=right, checked="the number of items", extra={"file_bytes": file_bytes}
    )


def _search(p: dict[str, Any]) -> Outcome:
    """The same queries through the collection and through an index of the same codes; both hash the vectors."""
    with _filled(p) as collection:
        index, hasher = _index_of(collection), collection.hasher
        rounds = p["repeats"] + 1 if p.get("fresh") else 1
        asked = [_vectors(p, p["n_queries"], 9 + turn) for turn in range(rounds)]
        turns = {"ours": iter(asked * p["repeats"] * 2), "index": iter(asked * p["repeats"] * 2)}

        def ours() -> Matches:
            return collection.search(next(turns["ours"]), p["k"], n_threads=1)

        def alone() -> Any:
            return index.search(hasher.encode(next(turns["index"]), n_threads=1), p["k"], n_threads=1)

        samples = measure.one_thread({"ours": ours, "index": alone}, p["repeats"])
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


def _where(p: dict[str, Any]) -> Outcome:
    """A filtered search, asked before, beside the same search without a filter plus what it may take longer."""
    with _filled(p | {"named": True}) as collection:
        if p.get("delete"):
            collection.delete(collection.ids()[:: p["n"] // min(p["delete"], p["n"])])
        queries = _vectors(p, p["n_queries"], 9)
        contenders = {
            "ours": partial(collection.search, queries, p["k"], where="group = 1", n_threads=1),
            "unfiltered": partial(collection.search, queries, p["k"], n_threads=1),
        }
        samples = measure.one_thread(contenders, p["repeats"])
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


def _first(p: dict[str, Any]) -> Outcome:
    """A filter that nobody asked for before, beside a search without one."""
    with _filled(p | {"named": True}) as collection:
        if p.get("index_field"):
            collection.index_field("group")
        queries, seconds, plain = _vectors(p, p["n_queries"], 9), [], []
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


def _rerank(p: dict[str, Any]) -> Outcome:
    """Re-ranking with stored vectors beside the search by codes alone."""
    with _filled(p | {"store_vectors": "float16"}) as collection:
        queries = _vectors(p, p["n_queries"], 9)
        contenders = {
            "ours": partial(collection.search, queries, p["k"], rerank=p["rerank"], n_threads=1),
            "codes": partial(collection.search, queries, p["k"], n_threads=1),
        }
        samples = measure.one_thread(contenders, p["repeats"])
        first = collection.search(queries[:2], p["k"], rerank=p["n"])
        stored = _vectors(p, min(p.get("batch", 100_000), p["n"]), 1).astype(np.float16).astype(np.float32)
        away = np.sqrt(((queries[:2, None] - stored[None]) ** 2).sum(axis=2))
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


def _equal(found: Matches, expected: Matches) -> bool:
    return bool((found.ids == expected.ids).all() and (found.distances == expected.distances).all())


def _passes(collection: Collection, queries: Array, k: int) -> bool:
    names = collection.ids()
    items = {item.id: item for item in collection.get(names)}
    codes = np.array([items[name].code for name in names])
    passing = np.array([(items[name].metadata or {}).get("group") == 1 for name in names])
    layout: CodeLayout = collection.layout
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
