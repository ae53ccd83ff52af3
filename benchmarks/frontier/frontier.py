"""Recall of the ten nearest neighbours over the CPU time of a query: VectorIndex compared with graphs, FAISS and ScaNN.

All contenders of a set are searched in one process, in turn, on one thread: in batches of all queries, and one query at
a time. A row is the curve of one built index. Each is built in a process of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from frontier._builds import built
from frontier._contenders import OURS, Contender, Params, installed, named
from frontier._curves import Point, points_of, time_in_turn
from harness.prepared_sets import VectorSet, load_set
from harness.results import Facts, Row
from harness.running import Run

SETS = ("glove400k", "sentences100k", "sift1m", "trivia", "words100", "static_sentences")
QUERIES = ("batch", "single")
ROUNDS, N_SINGLE = 3, 200
LARGE = ("sift1m", "words100", "static_sentences")
"""Sets on which graphs, RaBitQ and ScaNN's second cells are left out: their builds take too long."""

NOT_ON_LARGE = ("hnswlib_graph", "faiss_hnsw", "usearch_graph", "faiss_ivf_rabitq")


def rows(run: Run) -> Iterator[Row]:
    """One row per set, contender, build, and batches or single queries; those of a set come together."""
    contenders = installed()
    for name in ("quick",) if run.quick else SETS:
        try:
            data = load_set(run.data, name)
        except SystemExit as missing:
            print(missing)
            continue
        keys = [key for key, *_ in _plan(data, contenders)]
        wanted = list(run.wanted(keys))
        if wanted:
            yield from _measured(run, data, contenders, wanted)


def _plan(data: VectorSet, contenders: dict[str, Contender]) -> Iterator[tuple[Facts, str, Params]]:
    for module, contender in contenders.items():
        if data.name in LARGE and module in NOT_ON_LARGE:
            continue
        for params in contender.builds(*data.base.shape):
            if data.name in LARGE and params.get("soar"):
                continue
            for queries in QUERIES:
                about = {"set": data.name, "contender": contender.TITLE, "build": named(params) or "as it chooses"}
                yield about | {"queries": queries}, module, params


def _measured(run: Run, data: VectorSet, contenders: dict[str, Contender], wanted: list[Facts]) -> Iterator[Row]:
    """All wanted rows of a set, timed in turn."""
    curves: dict[str, tuple[list[Point], Facts]] = {}
    for key, module, params in _plan(data, contenders):
        name = key["contender"] + key["build"]
        if key in wanted and name not in curves:
            index, facts = built(run.data, data, module, params)
            curves[name] = points_of(index, contenders[module].SEARCHES, data), _rounded(facts, index, module)
    everything = [point for points, _ in curves.values() for point in points]
    time_in_turn(everything, data, rounds=2 if run.quick else ROUNDS, n_single=10 if run.quick else N_SINGLE)
    shape = dict(zip(("n", "d"), data.base.shape, strict=True))
    for key in wanted:
        points, facts = curves[key["contender"] + key["build"]]
        yield Row(key, {**shape, "metric": data.metric, **facts, "points": [p.facts(key["queries"]) for p in points]})


def _rounded(facts: Facts, index: Any, module: str) -> Facts:
    told = {name: value if value is None else round(value, 3) for name, value in facts.items()}
    return told | {"chosen": index.index.describe()} if module == OURS else told
