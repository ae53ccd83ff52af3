"""A search on its way: queries in parts, through all shards, and back through a tree of merges.

::

    queries ─▶ every shard: native search ─▶ k best each ─▶ merged FAN_IN at a time ─▶ k best of all
"""

from __future__ import annotations

import sys
from collections import deque
from dataclasses import replace
from typing import Any, TypeAlias

from distributed import Future, as_completed

from ...hashers._progress import FitProgress
from ._cluster import Cluster
from ._shards import Question, ask, merge, same

Asked: TypeAlias = tuple[Future, Any, int]
"""A shard, its filter, and the number of its first code among all codes."""

FAN_IN = 8
"""Answers that one task merges."""

QUERY_BYTES, ANSWER_BYTES = 4 << 20, 32 << 20
"""A batch of queries is sent in parts of this size, and so that each shard's answer has at most that size."""

COPIED_BYTES = 2 << 20
"""Queries that are smaller, counted once for every shard, go with each task; others are a task, to be fetched from."""

RADIUS_QUERIES = 4096
"""Queries of a part within a radius, where the size of an answer is not known before."""

PARTS_AT_ONCE = 3
"""Parts that are under way at once."""


def search_all(cluster: Cluster, asked: list[Asked], question: Question, *, shown: bool) -> list[Any]:
    """The answers to parts of the queries, in order; empty if there is nothing to ask or nobody to be asked."""
    queries, step = question.queries, _part_size(question)
    parts = [replace(question, queries=queries[start : start + step]) for start in range(0, len(queries), step)]
    if not asked or not parts:
        return []
    answers: list[Any] = []
    waiting: deque[_Search] = deque()
    title = "searching"
    with cluster.plain_errors(title), FitProgress(len(parts) * len(asked), title, shown=shown) as progress:
        for part in parts:
            waiting.append(_Search(cluster, asked, part, watched=shown and sys.stdout.isatty()))
            if len(waiting) == PARTS_AT_ONCE:
                answers.append(waiting.popleft().finish(progress))
        answers += [search.finish(progress) for search in waiting]
    return answers


class _Search:
    """One part of the queries on its way through all shards and merges.

    Only if it is ``watched`` are the shards' own answers kept until the end.
    """

    def __init__(self, cluster: Cluster, asked: list[Asked], question: Question, *, watched: bool) -> None:
        self._cluster, self._limit = cluster, question.limit
        client = cluster.client
        large = question.queries.nbytes * len(asked) > COPIED_BYTES
        sent = client.submit(same, question, pure=False) if large else question
        futures, filters, offsets = zip(*asked, strict=True)
        self._tops = client.map(ask, futures, filters, offsets, [sent] * len(asked), pure=False)
        self._watched = self._tops if watched else []
        while len(self._tops) > FAN_IN:
            groups = [self._tops[i : i + FAN_IN] for i in range(0, len(self._tops), FAN_IN)]
            self._tops = client.map(merge, groups, k=self._limit, pure=False)

    def finish(self, progress: FitProgress) -> Any:
        """The answer of all shards together."""
        for _ in as_completed(self._watched, loop=self._cluster.client.loop):
            progress.advance()
        parts = self._cluster.gather(self._tops, "searching")
        return merge(parts, self._limit) if len(parts) > 1 else parts[0]


def _part_size(question: Question) -> int:
    """How many queries are sent together."""
    sent = QUERY_BYTES // max(1, question.queries[:1].nbytes)
    radius = question.method == "search_radius"
    answered = RADIUS_QUERIES if radius else ANSWER_BYTES // (12 * int(question.limit))
    return max(1, min(sent, answered))
