"""Complete linkage over near pairs: groups whose members are all within the radius of each other."""

from __future__ import annotations

import heapq

from .._types import F32, I64


class CompleteLinkage:
    """Agglomerative clustering: merges the two groups whose largest distance is smallest, while within the radius.

    Groups are named by their smallest member. Of equal distances the smaller names come first. ``links[a][b]`` has the
    largest distance between the groups a and b, for groups all of whose members are near each other.
    """

    def __init__(self, first: I64, second: I64, distances: F32) -> None:
        self.links: dict[int, dict[int, float]] = {}
        self.parents: dict[int, int] = {}
        for a, b, distance in zip(first.tolist(), second.tolist(), distances.tolist(), strict=True):
            self.links.setdefault(a, {})[b] = distance
            self.links.setdefault(b, {})[a] = distance
        self._queue = [(d, a, b) for a, near in self.links.items() for b, d in near.items() if a < b]
        heapq.heapify(self._queue)

    def run(self) -> dict[int, int]:
        """The group into which each merged group was merged."""
        while self._queue:
            distance, a, b = heapq.heappop(self._queue)
            if self.links.get(a, {}).get(b) == distance:
                self._merge(a, b)
        return self.parents

    def _merge(self, a: int, b: int) -> None:
        """Merge b into a; only groups near both stay linked."""
        ours, theirs = self.links.pop(a), self.links.pop(b)
        self.parents[b] = a
        for other in {*ours, *theirs} - {a, b}:
            near = self.links[other]
            near.pop(b, None)
            if other in ours and other in theirs:
                near[a] = ours[other] = max(ours[other], theirs[other])
                heapq.heappush(self._queue, (near[a], min(a, other), max(a, other)))
            else:
                near.pop(a, None)
                ours.pop(other, None)
        ours.pop(b)
        self.links[a] = ours
