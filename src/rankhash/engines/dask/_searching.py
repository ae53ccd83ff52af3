"""A search: batches of queries go to all shards, and the answers are merged in a tree.

::

    queries ─▶ every shard: native search ─▶ k best each ─▶ merged FAN_IN at a time ─▶ k best of all
"""

from __future__ import annotations

import sys
from collections import deque
from dataclasses import replace
from typing import Any, TypeAlias

from distributed import Future

from ...hashers.progress import FitProgress
from ._cluster import Cluster
from ._shards import ShardSearch, merge, resubmittable, search_shard

ChosenShard: TypeAlias = tuple[Future, Any, int]
"""A shard, its filter, and the offset that is added to its ids."""

FAN_IN = 8
"""Number of answers that one task merges."""

QUERY_BYTES, ANSWER_BYTES = 4 << 20, 32 << 20
"""Upper limits of the size of a batch of queries, and of one shard's answer to it."""

COPIED_BYTES = 2 << 20
"""Queries are sent along with every task if all copies together are smaller; otherwise they are a task of their own."""

RADIUS_QUERIES = 4096
"""Batch size of radius searches, whose answers have no size known in advance."""

PARTS_AT_ONCE = 3
"""Number of batches that are in progress at the same time."""


def search_all(cluster: Cluster, chosen: list[ChosenShard], search: ShardSearch, *, shown: bool) -> list[Any]:
    """The answers to the batches of queries, in order; empty without queries or without shards."""
    queries, step = search.queries, _part_size(search)
    parts = [replace(search, queries=queries[start : start + step]) for start in range(0, len(queries), step)]
    if not chosen or not parts:
        return []
    answers: list[Any] = []
    waiting: deque[_Search] = deque()
    title = "searching"
    with cluster.plain_errors(title), FitProgress(len(parts) * len(chosen), title, shown=shown) as progress:
        for part in parts:
            waiting.append(_Search(cluster, chosen, part, watched=shown and sys.stdout.isatty()))
            if len(waiting) == PARTS_AT_ONCE:
                answers.append(waiting.popleft().finish(progress))
        answers += [batch.finish(progress) for batch in waiting]
    return answers


class _Search:
    """One batch of queries on its way through all shards and merges.

    The shards' own answers are kept until the end only if the search is ``watched``, for the progress bar.
    """

    def __init__(self, cluster: Cluster, chosen: list[ChosenShard], search: ShardSearch, *, watched: bool) -> None:
        self._cluster, self._limit = cluster, search.limit
        client = cluster.client
        large = search.queries.nbytes * len(chosen) > COPIED_BYTES
        sent = client.submit(resubmittable, search, pure=False) if large else search
        futures, filters, offsets = zip(*chosen, strict=True)
        self._tops = client.map(search_shard, futures, filters, offsets, [sent] * len(chosen), pure=False)
        self._watched = self._tops if watched else []
        while len(self._tops) > FAN_IN:
            groups = [self._tops[i : i + FAN_IN] for i in range(0, len(self._tops), FAN_IN)]
            self._tops = client.map(merge, groups, k=self._limit, pure=False)

    def finish(self, progress: FitProgress) -> Any:
        """The merged answer of all shards."""
        self._cluster.watch(self._watched, "searching", progress)
        parts = self._cluster.gather(self._tops, "searching")
        return merge(parts, self._limit) if len(parts) > 1 else parts[0]


def _part_size(search: ShardSearch) -> int:
    """The number of queries per batch."""
    sent = QUERY_BYTES // max(1, search.queries[:1].nbytes)
    radius = search.method == "search_radius"
    answered = RADIUS_QUERIES if radius else ANSWER_BYTES // (12 * int(search.limit))
    return max(1, min(sent, answered))
