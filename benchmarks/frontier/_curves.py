"""Curves of recall over time: which configurations of an index are worth timing, and their times in turn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from statistics import median
from time import process_time
from typing import Any

from frontier._contenders import Index, Params, named
from harness.prepared_sets import VectorSet, recall
from harness.results import Facts
from harness.timing import interleave
from rankhash._types import F32, I64

K = 10
LOWEST = 0.8
"""Recalls below this are not shown."""

SLACK = 1.25
"""A configuration is timed unless another one of its index finds as much in a SLACK-th of the time."""

Search = Callable[[F32], I64]


@dataclass
class Point:
    """One configuration: its recall and, once timed, µs of CPU time per query."""

    search: Params
    call: Search
    recall: float
    rough: float
    samples: dict[str, list[float]] = field(default_factory=dict)

    def facts(self, queries: str) -> Facts:
        """What is kept of it."""
        samples = [round(sample, 3) for sample in self.samples[queries]]
        reached, us = round(self.recall, 5), round(median(samples), 3)
        return {"search": named(self.search), "recall": reached, "us": us, "samples": samples}


def points_of(index: Index, searches: list[Params], data: VectorSet) -> list[Point]:
    """The configurations that no other one beats clearly, by recall and a rough time of one batch."""
    tried = [_tried(partial(index.search, k=K, **search), search, data) for search in searches]
    good = [point for point in tried if point.recall >= LOWEST]
    return [point for point in good if not any(_beats(other, point) for other in good)]


def _tried(call: Any, search: Params, data: VectorSet) -> Point:
    call(data.queries[:50])
    start = process_time()
    ids = call(data.queries)
    return Point(search, call, recall(data, ids, K), process_time() - start)


def _beats(other: Point, point: Point) -> bool:
    return other.recall >= point.recall and SLACK * other.rough < point.rough


def time_in_turn(points: list[Point], data: VectorSet, *, rounds: int, n_single: int) -> None:
    """Fill in the samples of all points: whole batches, then one query at a time; contenders take turns."""
    Q = data.queries
    alone = [Q[row : row + 1] for row in range(min(n_single, len(Q)))]
    batch = {str(i): partial(point.call, Q) for i, point in enumerate(points)}
    single = {str(i): partial(_one_by_one, point.call, alone) for i, point in enumerate(points)}
    for queries, calls, n in (("batch", batch, len(Q)), ("single", single, len(alone))):
        seconds = interleave(calls, rounds)["process"]
        for i, point in enumerate(points):
            point.samples[queries] = [1e6 * sample / n for sample in seconds[str(i)]]


def _one_by_one(call: Search, queries: list[F32]) -> None:
    for query in queries:
        call(query)
