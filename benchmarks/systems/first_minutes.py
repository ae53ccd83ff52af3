"""How long is it from embeddings and a CSV file to a filtered search that is saved and served, and what does it find?

The commands are those of docs/tutorial/first.md, with no option that a newcomer would not give. Queries are the
sentences of reviews that are not stored.
"""

from __future__ import annotations

import csv
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

import numpy as np

from harness.results import Facts, Row
from harness.running import Run
from harness.sets import FILES, load
from rankhash._types import F32, I64, Flags
from rankhash.client import Client
from systems._soak_servers import PROGRAM, ServerProcess

Answer = TypeVar("Answer")

SET, K, N_QUERIES = "sentences", 10, 1000
QUICK_ROWS, QUICK_FEATURES = 3000, 16
WHERE = "positive = true and length < 100"
GOAL_SECONDS, GOAL_RECALL = 600, 0.95


def rows(run: Run) -> Iterator[Row]:
    """One row: the seconds of every step, and the recall of searches with and without a filter."""
    base, queries, passing, table = small_set() if run.quick else sentences(run.data)
    key = {"set": "drawn" if run.quick else SET, "vectors": len(base), "features": base.shape[1]}
    for wanted in run.wanted([key]):
        with tempfile.TemporaryDirectory() as name:
            yield Row(wanted, steps(Path(name), base, queries, passing, table))


def sentences(folder: Path) -> tuple[F32, F32, Flags, list[list[object]]]:
    """Stored vectors, queries, which stored ones pass the filter, and the lines of the CSV file."""
    vectors: F32 = load(folder, SET).vectors.astype(np.float32)
    with np.load(folder / FILES[SET][0]) as arrays:
        review, positive = arrays["review"], arrays["positive"].astype(bool)
        lengths = np.array([len(line) for line in arrays["text"].tobytes().split(b"\n")[: len(review)]])
    order = np.random.default_rng(0).permutation(np.unique(review))
    sizes = np.cumsum(np.bincount(review)[order])
    held_out = np.isin(review, order[: int(np.searchsorted(sizes, N_QUERIES)) + 1])
    return split(vectors, held_out, review, positive, lengths)


def small_set() -> tuple[F32, F32, Flags, list[list[object]]]:
    """The same of a few clustered vectors."""
    rng = np.random.default_rng(0)
    near = rng.integers(0, 30, QUICK_ROWS)
    vectors = rng.normal(size=(30, QUICK_FEATURES))[near] + 0.3 * rng.normal(size=(QUICK_ROWS, QUICK_FEATURES))
    held_out = np.arange(QUICK_ROWS) % 30 == 0
    return split(vectors.astype(np.float32), held_out, near, near % 2 == 0, np.arange(QUICK_ROWS) % 200)


def split(
    vectors: F32, held_out: Flags, review: I64, positive: Flags, lengths: I64
) -> tuple[F32, F32, Flags, list[list[object]]]:
    """Vectors, queries, passing rows and CSV lines, with the rows of ``held_out`` as queries."""
    kept = np.flatnonzero(~held_out)
    columns = (review[kept].tolist(), positive[kept].tolist(), lengths[kept].tolist())
    table = [[f"s{i}", a, str(b).lower(), c] for i, (a, b, c) in enumerate(zip(*columns, strict=True))]
    return vectors[kept], vectors[held_out], (positive & (lengths < 100))[kept], table


def steps(folder: Path, base: F32, queries: F32, passing: Flags, table: list[list[object]]) -> Facts:
    """Seconds of every step and shares of the true neighbours; answers agree if all that is found passes the filter."""
    items, vectors, asked = folder / "items.rankhash", folder / "vectors.npy", folder / "queries.npy"
    np.save(vectors, base)
    np.save(asked, queries)
    with open(folder / "items.csv", "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([["name", "review", "positive", "length"], *table])
    seconds: dict[str, float] = {}
    seconds["create"], _ = timed(rankhash, "create", items, "--metric", "cosine")
    add = ("add", items, vectors, "--metadata-file", folder / "items.csv", "--id-column", "name")
    seconds["add"], _ = timed(rankhash, *add)
    search = ("search", items, asked, "-k", K, "--json")
    seconds["search"], plain = timed(rankhash, *search)
    seconds["search with a filter"], filtered = timed(rankhash, *search, "--where", WHERE)
    server = ServerProcess(items, folder / "log.txt")
    seconds["serve: ready"], _ = timed(server.start)
    try:
        seconds["100 searches over HTTP, with a filter"], served = timed(over_http, server.port, queries)
    finally:
        server.kill()
    seconds["all"] = sum(seconds.values())
    facts = json.loads(rankhash("info", items, "--json"))
    everything = np.ones(len(base), bool)
    recall = {
        "search": share(ids_of(plain), nearest(base, queries, everything)),
        "search with a filter": share(ids_of(filtered), nearest(base, queries, passing)),
        "100 searches over HTTP, with a filter": share(served, nearest(base, queries[: len(served)], passing)),
    }
    allowed = {f"s{i}" for i in np.flatnonzero(passing)}
    return {
        "agree": all(allowed.issuperset(ids) and len(ids) == K for ids in [*ids_of(filtered), *served]),
        "goals": {"seconds": GOAL_SECONDS, "recall": GOAL_RECALL},
        "seconds": {name: round(value, 2) for name, value in seconds.items()},
        "recall": {name: round(value, 4) for name, value in recall.items()},
        "passing": round(float(passing.mean()), 4),
        "queries": len(queries),
        "file_megabytes": round(items.stat().st_size / 1e6),
        "learned": facts["n_learned"],
    }


def rankhash(*arguments: object) -> str:
    """What the command line prints."""
    command = [sys.executable, "-c", PROGRAM, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"rankhash {arguments[0]} failed: {done.stderr}")
    return done.stdout


def over_http(port: int, queries: F32) -> list[list[str]]:
    """The ids that the server finds for the first queries, one request each."""
    with Client(f"http://127.0.0.1:{port}") as client:
        items = client.collection("items")
        answers = [items.search(query, K, where=WHERE) for query in queries[:100]]
    return [[str(match.id) for match in answer[0]] for answer in answers]


def timed(work: Callable[..., Answer], *arguments: object) -> tuple[float, Answer]:
    """Seconds, and what the work returned."""
    started = time.perf_counter()
    answer = work(*arguments)
    return time.perf_counter() - started, answer


def ids_of(lines: str) -> list[list[str]]:
    """The ids of an answer of ``rankhash search --json``."""
    return [json.loads(line)["ids"] for line in lines.splitlines()]


def nearest(base: F32, queries: F32, passing: Flags) -> list[list[str]]:
    """The names of the K nearest passing vectors by cosine, by comparing all."""
    places = np.flatnonzero(passing)
    points = base[places] / np.linalg.norm(base[places], axis=1, keepdims=True)
    order = np.argpartition(-(queries @ points.T), K - 1, axis=1)[:, :K]
    return [[f"s{i}" for i in places[row]] for row in order]


def share(found: list[list[str]], truth: list[list[str]]) -> float:
    """The share of the true neighbours that was found."""
    return float(np.mean([len({*a} & {*b}) / len(b) for a, b in zip(found, truth, strict=True)]))
