"""Searches with known answers: which settings find how much, and at what cost.

::

    exponent: the one that scans least for stored vectors
    settings: growing effort, each with fewer and fewer codes that are re-ranked
    reach:    the least with which queries unlike the stored vectors find as much as these
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from .. import _kernels
from .._types import F32, F64, I64
from ._calibration import DEPTHS, Calibration, Reach, Setting

FIRST_EFFORT, EFFORT_GROWTH = 2.0, 2.0
MOST_CANDIDATES = {10: 60.0, 100: 12.0}
"""Candidates per neighbour, by k, with which efforts are measured."""

SLACKS = (1.5, 1.2, 1.1, 1.05)
"""Slacks that are tried with all candidates of an effort."""

NARROWER = {
    10: ((30.0, (1.5, 1.2)), (15.0, (1.3, 1.2, 1.15, 1.1, 1.05, 1.02))),
    100: ((6.0, (1.5, 1.2)), (3.0, (1.3, 1.15, 1.1, 1.05))),
}
"""Fewer candidates per neighbour, and the slacks tried with these, by k. Where codes tell little, as in dense clusters,
most candidates are re-ranked, elsewhere the slack ends it sooner: a fixed number would be too small for the former or
large for the latter."""

FEWER = {10: (30.0, 15.0, 8.0, 5.0, 3.0, 1.5), 100: (6.0, 3.0, 1.5)}
"""The same for inner products, which have no slack."""

NO_SLACK = (float("inf"),)
"""All candidates are re-ranked."""

EXPONENTS, MOST_GROWTH = (0, 4, 8), 8
LEAST_RECALL, HIGH_RECALL, ENOUGH = 0.8, 0.97, 0.998
"""The range of recalls that settings are measured for, and the one at which exponents are compared."""

MOST_PER_NEIGHBOR, MORE_CANDIDATES, LITTLE, PLENTY = {10: 1000.0, 100: 200.0}, 4, 0.002, 0.992
"""Where twice the effort raises a recall below PLENTY by less than LITTLE, there are MORE_CANDIDATES times as many
candidates from the effort before on, up to MOST_PER_NEIGHBOR (by k)."""

UNLIKE_RECALLS = ((0.95, 0.96), (0.99, 0.985))
"""A search for the first recall goes so far that queries unlike the stored vectors reach the second one."""

BETWEEN_RECALLS, MOST_MORE = ((0.95, 0.93), (0.99, 0.97)), 4
"""The same for made-up queries that look like stored vectors, such as means of several: for these, the effort of all
searches is doubled, up to MOST_MORE times."""

CODE_COST, CELL_COST, SYMBOL_COST, HIT_COST, CANDIDATE_COST, ROW_BYTE_COST = 0.03, 60.0, 2.0, 8.0, 60.0, 0.07
"""Nanoseconds per byte of code, per cell, per symbol of a cell's tables, per code that is a candidate for a while, per
candidate, and per byte of its row."""

FEW = 100
"""Queries per family with which exponents and numbers of candidates are compared; fewer for many neighbours."""

CAUTION = 1.0
"""Standard errors that recalls are lowered by."""

NO_REACH = Reach()

Search = Callable[[_kernels.CellSearch], tuple[I64, F32, _kernels.CellStats]]


@dataclass(frozen=True)
class Trial:
    """Queries of known truth: searches run with given settings, and how many true neighbours they find.

    ``own`` (n,) are the queries' own ids or -1, ``truth`` (n, k) true distances of their neighbours. A neighbour counts
    as found if its distance is at most that of the k-th true one, so that ties count. Of several ``families`` (n,) of
    queries the one with the lowest recall counts. ``own_tables`` says whether each cell has tables of its own,
    ``product`` whether distances are inner products.
    """

    search: Search
    own: I64
    truth: F32
    families: I64
    n_cells: int
    n_bytes: int
    row_bytes: int
    own_tables: bool = True
    product: bool = False

    def run(self, setting: Setting, reach: Reach = NO_REACH) -> Setting:
        """The setting with the recall, one standard error below its mean, and the cost that were measured."""
        shares, cost = self.measured(setting, reach)
        return replace(setting, recall=min(map(_cautious_mean, self._by_family(shares))), cost=cost)

    def measured(self, setting: Setting, reach: Reach = NO_REACH) -> tuple[F64, float]:
        """The share of true neighbours found per query, and estimated nanoseconds per query."""
        k, how = setting.k, reach.search(setting)
        ids, distances, stats = self.search(how._replace(k=k + 1, n_candidates=how.n_candidates + 1))
        cell_cost = CELL_COST + (2 * self.n_bytes * SYMBOL_COST if self.own_tables else 0.0)
        cost = stats.codes * self.n_bytes * CODE_COST + stats.cells * cell_cost
        cost += stats.hits * HIT_COST + stats.candidates * (CANDIDATE_COST + self.row_bytes * ROW_BYTE_COST)
        return _found(ids, distances, self.own, self.truth[:, :k]), cost / max(len(ids), 1)

    def reaches(self, goals: Sequence[tuple[Setting, float]], reach: Reach) -> bool:
        """Whether each setting finds as much as it should, or as it does for stored vectors if that is less."""
        return all(self.run(setting, reach).recall >= min(setting.recall, least) for setting, least in goals)

    def _by_family(self, shares: F64) -> list[F64]:
        return [shares[self.families == family] for family in np.unique(self.families)]

    def by_effort(self, k: int, exponent: int, enough: float = ENOUGH) -> list[Setting]:
        """Settings of growing effort, up to a recall that is ``enough``.

        Where twice the effort finds little more, codes are too coarse for so few candidates: it goes on from the effort
        before with more of them.
        """
        curve, effort, n_candidates, most = [], FIRST_EFFORT, int(k * MOST_CANDIDATES[k]), int(k * MOST_PER_NEIGHBOR[k])
        while True:
            curve.append(self.run(Setting(k, effort, exponent, n_candidates, 0.0, 0.0)))
            if curve[-1].recall >= enough or effort >= self.n_cells * 2.0**exponent:
                return curve
            stuck = len(curve) > 1 and LEAST_RECALL / 2 < curve[-1].recall < min(curve[-2].recall + LITTLE, PLENTY)
            if stuck and n_candidates < most and n_candidates == curve[-2].n_candidates:
                effort, n_candidates = curve[-2].effort, min(MORE_CANDIDATES * n_candidates, most)
            else:
                effort *= EFFORT_GROWTH

    def deeper(self, farthest: Setting) -> list[Setting]:
        """The same effort with more and more candidates, as long as these find more."""
        settings, most = [farthest], MOST_PER_NEIGHBOR[farthest.k] * farthest.k
        while settings[-1].recall < ENOUGH and settings[-1].n_candidates < most / 2:
            more = self.run(replace(settings[-1], n_candidates=2 * settings[-1].n_candidates))
            if more.recall < settings[-1].recall + LITTLE:
                break
            settings.append(more)
        return settings[1:]

    def narrower(self, most: Setting, ways: Sequence[tuple[float, Sequence[float]]]) -> list[Setting]:
        """The same effort with fewer and fewer codes that are re-ranked, until a tenth of the recall is lost.

        The recall that each loses is measured query by query, which takes fewer queries than the recall itself.
        """
        all_found, _ = self.measured(most)
        settings = []
        for per_neighbor, slacks in ways:
            for slack in slacks:
                setting = replace(most, n_candidates=int(np.ceil(most.k * per_neighbor)), slack=slack)
                shares, cost = self.measured(setting)
                lost = min(map(_cautious_mean, self._by_family(shares - all_found)))
                settings.append(replace(setting, recall=most.recall + min(lost, 0.0), cost=cost))
                if settings[-1].recall < 0.9 * most.recall:
                    break
        return settings

    def ways(self, most: Setting) -> Sequence[tuple[float, Sequence[float]]]:
        """Candidates per neighbour, at most as many as there are, and slacks with which these are re-ranked."""
        per_neighbor = most.n_candidates / most.k
        if self.product:
            fewer = [n for n in (per_neighbor / 2, *FEWER[most.k]) if n < per_neighbor]
            return [(n, NO_SLACK) for n in sorted(fewer, reverse=True)]
        return [(per_neighbor, SLACKS), *NARROWER[most.k]]


def calibrate(
    stored: dict[int, Trial],
    few: dict[int, Trial],
    unlike: Trial | None,
    exponents: Sequence[int],
    reaches: Sequence[Reach],
    on_step: Callable[[], None],
    between: Trial | None = None,
    strange: Trial | None = None,
    beyond: tuple[float, float] = (0.0, 0.0),
) -> Calibration:
    """Settings for each k of ``stored``.

    ``stored`` has stored vectors as queries, ``few`` some of them, with which exponents and candidates are compared;
    ``unlike`` has others that lie far from all centroids, ``between`` those that do not, and ``strange`` those whose
    neighbours are farther away than ``beyond``. The first of ``reaches`` that is enough is taken.
    """
    exponent = exponents[0]
    if len(exponents) > 1:
        curves = [few[DEPTHS[0]].by_effort(DEPTHS[0], exponent, HIGH_RECALL) for exponent in exponents]
        exponent = min((_at(curve, HIGH_RECALL) for curve in curves), key=lambda s: s.cost).exponent
    on_step()
    settings: list[Setting] = []
    for k, trial in stored.items():
        settings += _settings(k, trial, few[k], exponent)
        on_step()
    measured = Calibration(tuple(settings), Reach())
    if not reaches:
        return measured
    goals = [measured.goals(stored, recalls) for recalls in (BETWEEN_RECALLS, UNLIKE_RECALLS)]
    if between is not None:
        efforts = [replace(reaches[0], more=2.0**i) for i in range(MOST_MORE + 1)]
        more = _first(efforts, lambda reach: between.reaches(goals[0], reach)).more
        reaches = [replace(reach, more=more) for reach in reaches]
    reach = reaches[0]
    if unlike is not None:
        reach = _first(reaches, lambda reach: unlike.reaches(goals[1], reach))
    if strange is not None and not strange.reaches(goals[1], reach):
        reach = replace(reach, beyond=beyond)
    return Calibration(measured.settings, reach)


def _first(reaches: Sequence[Reach], is_enough: Callable[[Reach], bool]) -> Reach:
    """The first of growing reaches that is enough, or the last one."""
    return reaches[bisect_left(reaches[:-1], True, key=is_enough)]


def _settings(k: int, stored: Trial, few: Trial, exponent: int) -> list[Setting]:
    """Settings of growing effort, then of more candidates, and all of these with fewer that are re-ranked."""
    curve = stored.by_effort(k, exponent)
    deeper = stored.deeper(curve[-1])
    settings = [*curve, *deeper]
    for setting, farther in pairwise([*curve, curve[-1]]):
        if farther.recall >= LEAST_RECALL or setting is curve[-1]:
            settings += few.narrower(setting, few.ways(setting))
    for setting in deeper:
        settings += few.narrower(setting, few.ways(setting)[:1])
    return settings


def _at(curve: list[Setting], recall: float) -> Setting:
    """The setting of that recall on the curve, or its last one."""
    for nearer, setting in pairwise([curve[0], *curve]):
        if setting.recall >= recall:
            return nearer.between(setting, recall)
    return curve[-1]


def _cautious_mean(shares: F64) -> float:
    """The mean less CAUTION of its standard errors: few queries, or neighbours found all or none, are less certain."""
    return float(shares.mean() - CAUTION * shares.std() / np.sqrt(len(shares)))


def _found(ids: I64, distances: F32, own: I64, truth: F32) -> F64:
    """The share of true neighbours found, per query."""
    k = truth.shape[1]
    kept = np.where((ids != own[:, None]) & (ids >= 0), distances, np.inf)
    kept.sort(axis=1)
    limit = truth[:, -1:] + 1e-5 * np.abs(truth[:, -1:]) + 1e-12
    shares: F64 = (kept[:, :k] <= limit).mean(axis=1)
    return shares
