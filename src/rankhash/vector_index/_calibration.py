"""How far searches must go for a given recall: measured on vectors of the index itself.

Stored vectors are searched for among the others, and made-up queries unlike them, with growing effort (cells) and
numbers of candidates. The table of recalls and costs is kept; a search takes the cheapest setting whose recall is high
enough, between measured ones where that is cheaper.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby, pairwise
from typing import Any

import numpy as np

from .. import _kernels
from .._types import F64

Recalls = tuple[tuple[float, float], ...]
"""Pairs of a recall that is asked for, and the one that other queries must reach with its setting."""

DEPTHS = (10, 100)
"""Numbers of neighbours, k, that are measured; searches for other numbers take the next larger one, scaled."""

MOST_CHOSEN = 256
"""Choices of settings that are remembered."""

STATE_WIDTHS = (6, 7)
"""Columns of a calibration in files, as they were before settings had a slack of their own, and as they are."""

MARGIN = 0.2
"""Share of the missing recall that searches aim at beyond what was asked for, since queries are not stored vectors."""


@dataclass(frozen=True)
class Setting:
    """One way to search, and what it gave: the recall of the k nearest, and estimated nanoseconds per query.

    Candidates are re-ranked until their codes are farther away than ``slack`` times the last neighbour so far, in
    squared distances; infinity (default): all are.
    """

    k: int
    effort: float
    exponent: int
    n_candidates: int
    recall: float
    cost: float
    slack: float = float("inf")

    def between(self, other: Setting, recall: float) -> Setting:
        """The setting of that recall between this one and a farther one; log(1 - recall) is linear in log(effort)."""
        low, wanted, high = (np.log(max(1 - r, 1e-4)) for r in (self.recall, recall, other.recall))
        t = float(np.clip((low - wanted) / max(low - high, 1e-9), 0, 1))
        effort, cost = (a ** (1 - t) * b**t for a, b in ((self.effort, other.effort), (self.cost, other.cost)))
        return replace(other, effort=effort, cost=cost, recall=recall)


@dataclass(frozen=True)
class Reach:
    """How much farther searches go for queries unlike the stored vectors; see `_kernels.CellSearch`.

    ``beyond`` has a squared distance for each of DEPTHS. Queries whose last neighbour was found farther away are
    compared with all vectors; 0: none are. The effort of all searches is ``more`` times that of their setting.
    """

    usual: float = 1.0
    far: float = 1.0
    growth: int = 0
    beyond: tuple[float, float] = (0.0, 0.0)
    more: float = 1.0

    def search(self, setting: Setting) -> _kernels.CellSearch:
        """What the core is told."""
        s, far = setting, (self.usual, self.far, self.growth)
        return _kernels.CellSearch(s.k, self.more * s.effort, s.exponent, s.n_candidates, *far, s.slack)

    def limit(self, k: int) -> float:
        """The squared distance of the last neighbour beyond which a query is compared with all vectors."""
        limit = self.beyond[0 if k <= DEPTHS[0] else 1]
        return limit if limit and k <= DEPTHS[-1] else np.inf


@dataclass(frozen=True)
class Calibration:
    """Measured settings, by k."""

    settings: tuple[Setting, ...]
    reach: Reach
    _chosen: dict[tuple[int, float], Setting] = field(default_factory=dict, repr=False, compare=False)

    def choose(self, k: int, recall: float) -> Setting:
        """The cheapest setting that reaches the recall, or the one of the highest recall; scaled to k.

        Choices are remembered, since a choice takes longer than the search of a single query.
        """
        chosen = self._chosen.get((k, recall))
        if chosen is None:
            if len(self._chosen) >= MOST_CHOSEN:
                self._chosen.clear()
            chosen = self._chosen[k, recall] = self._choose(k, recall)
        return chosen

    def _choose(self, k: int, recall: float) -> Setting:
        depth = next((depth for depth in DEPTHS if k <= depth), DEPTHS[-1])
        known = [setting for setting in self.settings if setting.k == depth] or list(self.settings)
        wanted = recall + MARGIN * (1 - recall)
        enough = [setting for setting in known if setting.recall >= wanted] + _between(known, wanted)
        best = min(enough, key=lambda s: s.cost) if enough else max(known, key=lambda s: (s.recall, -s.cost))
        more = max(1.0, k / best.k)
        n_candidates = max(int(np.ceil(best.n_candidates * more)), k)
        effort = best.effort * (more**2 if best.exponent else more)
        return replace(best, k=k, effort=effort, n_candidates=n_candidates, cost=best.cost * more)

    def goals(self, depths: Iterable[int], recalls: Recalls) -> list[tuple[Setting, float]]:
        """The settings for the recalls that are asked for, for each of ``depths``, and what they must reach."""
        return [(self.choose(k, asked), least) for asked, least in recalls for k in depths]

    def state(self) -> F64:
        """An array ``(n_settings + 1, 7)`` for files; the first row is the reach. A slack of 0 is infinity."""
        reach = self.reach
        rows = [[reach.usual, reach.far, reach.growth, *reach.beyond, reach.more, 0.0]]
        for s in self.settings:
            slack = s.slack if np.isfinite(s.slack) else 0.0
            rows.append([s.k, s.effort, s.exponent, s.n_candidates, s.recall, s.cost, slack])
        return np.array(rows, np.float64)

    @classmethod
    def restore(cls, state: F64) -> Calibration:
        """The calibration of a file; one of six columns has a single slack, in the first row."""
        if state.shape[1] == STATE_WIDTHS[0]:
            state = np.column_stack([state, np.full(len(state), state[0, -1])])
            state[0, -2] = 1.0
        rows: list[Any] = state.tolist()
        usual, far, growth, near, deep, more, _ = rows[0]
        settings = (Setting(int(k), e, int(x), int(c), r, t, s or float("inf")) for k, e, x, c, r, t, s in rows[1:])
        return cls(tuple(settings), Reach(usual, far, int(growth), (near, deep), more or 1.0))


def _between(settings: Sequence[Setting], recall: float) -> list[Setting]:
    """Settings of the given recall between measured efforts with the same number of candidates and slack."""
    found = []
    ordered = sorted(settings, key=lambda s: (s.n_candidates, s.slack, s.effort))
    for _, curve in groupby(ordered, key=lambda s: (s.n_candidates, s.slack)):
        found += [a.between(b, recall) for a, b in pairwise(curve) if a.recall < recall <= b.recall]
    return found
