"""Queries with known neighbours: stored vectors, searched for among the others, and made-up ones unlike them.

Where stored vectors have copies, neither they nor their copies can be found, as if they had not been added.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from .. import _kernels
from .._types import F32, I64, U8, Flags
from ._calibration import DEPTHS, Calibration, Reach
from ._cells import Cells
from ._rows import Rows
from ._trial import EXPONENTS, FEW, MOST_GROWTH, Trial, calibrate

FEWEST_LONELY, MOST_LONELY, HIDDEN_SHARE = 100, 400, 0.05
"""Numbers of stored vectors that are searched for without their near-copies, which are hidden: as many as possible, but
at most the share HIDDEN_SHARE of all vectors is hidden."""

GAP, AFTER, WITH_GAP, MOST_COPIES = 1.2, 5, 0.25, 0.9
"""Stored vectors have near-copies if, for a share WITH_GAP of them, a neighbour behind the first AFTER is GAP times as
far away as the one before. As many are hidden as the share MOST_COPIES of these has."""

COPIES_STEP, MOST_NEIGHBORS = 4, 1024
"""Every how many stored vectors are asked for so many neighbours, to find near-copies."""

N_STORED, N_MADE_UP, STRANGE = 400, 300, 2.0
"""A query is strange if its neighbours have STRANGE times the squared distance of the share FAR of stored ones."""

STEPS = {10: 1, 100: 2}
"""Every how many queries are searched with for so many neighbours: a recall of more neighbours varies less."""

USUAL, FAR, BEYOND, FEWEST_FAR = 0.9, 0.98, 1.2, 20
"""Searches go farther for queries more unlike than the share USUAL of the stored vectors, and as far as they ever go
from BEYOND times what the share FAR has. Those are measured if FEWEST_FAR of the made-up queries are so far away."""

LONELY = -1

UNLIKE_PRODUCTS = (1, 3)
"""Families of made-up queries that must be found by inner product: means of two vectors, and normal numbers."""


@dataclass(frozen=True)
class HeldOut:
    """Queries, the numbers of their own rows or -1, and true distances ``(n, k)`` of their neighbours.

    ``families`` (n,) are 0 for stored vectors, and LONELY for those whose near-copies are hidden.
    """

    cells: Cells
    passing: U8 | None
    queries: F32
    own: I64
    truth: F32
    families: I64
    row_bytes: int

    @classmethod
    def of(
        cls,
        cells: Cells,
        rows: Rows,
        living: I64,
        passing: U8 | None,
        prepare: Callable[[F32], F32],
        random_state: int,
    ) -> HeldOut:
        """A random sample of the ``living`` rows and made-up queries, compared with all rows that pass."""
        rng = np.random.default_rng(random_state)
        own = np.sort(rng.permutation(living)[: min(N_STORED, max(20, len(living) // 20))])
        queries, families = rows.take(own), np.zeros(len(own), np.int64)
        others, kinds = made_up(rows, living, rng)
        if cells.coder.product:  # with distances, unlike queries are recognised and go farther; here all do
            others, kinds = others[np.isin(kinds, UNLIKE_PRODUCTS)], kinds[np.isin(kinds, UNLIKE_PRODUCTS)]
        queries = np.concatenate([queries, prepare(others)])
        families, own = np.concatenate([families, kinds]), np.concatenate([own, np.full(len(kinds), -1)])
        depth = min(DEPTHS[-1] + 1, len(living))
        found, distances = _nearest(cells, rows, passing, queries, depth)
        copies = (found[families == 0] != own[families == 0, None]) & (distances[families == 0] == 0)
        if not cells.coder.product and copies.any():
            # copies of a query are found with ease, but other queries have none: they may not be found
            hidden = np.union1d(own, found[families == 0][copies])
            passing, own = _without(passing, hidden[hidden >= 0], len(rows)), np.full_like(own, -1)
            found, distances = _nearest(cells, rows, passing, queries, depth)
        some = queries[families == 0][::COPIES_STEP]
        farther = min(MOST_NEIGHBORS, len(living) // 2)
        n_copies = 0 if cells.coder.product else _n_near_copies(_nearest(cells, rows, passing, some, farther)[1])
        if n_copies:  # near-copies of a query are found with ease as well, but other queries have none
            hidden, lonely = _lonely(cells, rows, passing, living, n_copies, rng)
            passing = _without(passing, hidden, len(rows))
            queries = np.concatenate([rows.take(lonely), queries])
            families = np.concatenate([np.full(len(lonely), LONELY), families])
            own = np.concatenate([np.full(len(lonely), -1), own])
            found, distances = _nearest(cells, rows, passing, queries, depth)
        return cls(cells, passing, queries, own, _without_own(found, distances, own), families, rows.row_bytes)

    def calibration(self, rows: _kernels.RowsView, on_step: Callable[[], None]) -> Calibration:
        """Settings and the recall that they reach, with candidates re-ranked by ``rows``."""
        near = self.families <= 0 if not self.cells.coder.product else np.ones(len(self.families), bool)
        steps = {k: step for k, step in STEPS.items() if k <= self.truth.shape[1]}
        stored = {k: self._trial(rows, _every(near, near.sum() // step)) for k, step in steps.items()}
        n_few = FEW * len(np.unique(self.families[near]))
        few = {k: self._trial(rows, _every(near, n_few // step)) for k, step in steps.items()}
        if self.cells.coder.product:
            return calibrate(stored, few, None, (0,), (), on_step)
        unlikeness = self.cells.coder.unlikeness(self.queries)
        usual, far = np.quantile(unlikeness[self.families == 0], (USUAL, FAR))
        far = max(BEYOND * float(far), 1e-30)
        reaches = [Reach(max(float(usual), far / 1e6), far, growth) for growth in range(MOST_GROWTH + 1)]
        others = (self.families > 0) & (unlikeness > far)
        alike = (self.families > 0) & (unlikeness <= far)
        unlike, between = (self._trial(rows, some) if some.sum() >= FEWEST_FAR else None for some in (others, alike))
        between = between and replace(between, families=np.zeros_like(between.families))
        kind = LONELY if (self.families == LONELY).any() else 0
        beyond = [STRANGE * float(np.quantile(self.truth[self.families == kind, at], FAR)) for at in self._depths()]
        strangers = (self.families > 0) & (self.truth[:, self._depths()[0]] > beyond[0])
        strange = self._trial(rows, strangers) if strangers.sum() >= FEWEST_FAR and min(beyond) > 0 else None
        limits = (beyond[0], beyond[1])
        return calibrate(stored, few, unlike, EXPONENTS, reaches, on_step, between, strange, limits)

    def _depths(self) -> list[int]:
        """The columns of the distances of the neighbours of DEPTHS, or the last ones that there are."""
        return [min(depth, self.truth.shape[1]) - 1 for depth in DEPTHS]

    def _trial(self, rows: _kernels.RowsView, chosen: np.ndarray) -> Trial:
        coder, view, threads = self.cells.coder, self.cells.view(), _kernels.default_threads()
        queries = self.queries[chosen]
        points = coder.points(queries)

        def search(how: _kernels.CellSearch) -> tuple[I64, F32, _kernels.CellStats]:
            return _kernels.search_cells(view, rows, None, self.passing, points, queries, how, threads)

        own, truth, families = self.own[chosen], self.truth[chosen], self.families[chosen]
        return Trial(
            search,
            own,
            truth,
            families,
            coder.n_cells,
            coder.n_bytes,
            self.row_bytes,
            view.offsets is not None,
            coder.product,
        )

    def microseconds(self, rows: _kernels.RowsView, how: _kernels.CellSearch) -> float:
        """CPU time per stored vector as a query in a batch on one thread; the median of three runs."""
        queries = self.queries[self.families == 0]
        view, points, times = self.cells.view(), self.cells.coder.points(queries), []
        for _ in range(3):
            start = time.process_time()
            _kernels.search_cells(view, rows, None, self.passing, points, queries, how, 1)
            times.append(time.process_time() - start)
        return float(np.median(times)) / max(len(queries), 1) * 1e6


def made_up(rows: Rows, living: I64, rng: np.random.Generator) -> tuple[F32, I64]:
    """Queries between and outside of stored vectors, and the number of their family, from 1 on; none is zero.

    Means of two vectors; a + b - c of three; normal numbers around the mean, with up to three times the deviation that
    coordinates have on average; vectors that are moved by that much; and means of eight vectors.
    """
    n = N_MADE_UP // 5
    a, b, c = (rows.take(living[rng.integers(0, len(living), n)]) for _ in range(3))
    center = a.mean(axis=0)
    deviation = np.sqrt(np.square(a - center).mean())
    noise = deviation * rng.uniform(0, 3, (n, 1)) * rng.standard_normal(a.shape)
    moved = b + 3 * deviation * rng.standard_normal(a.shape)
    means = np.mean([rows.take(living[rng.integers(0, len(living), n)]) for _ in range(8)], axis=0)
    queries: F32 = np.concatenate([(a + b) / 2, a + b - c, center + noise, moved, means]).astype(np.float32)
    usable = np.abs(queries).max(axis=1) > 0
    return queries[usable], np.repeat(np.arange(1, 6), n)[usable]


def _every(flags: Flags, n: int) -> Flags:
    """Which of the flagged places to take, so that about n of them remain, spread evenly."""
    step = max(1, int(flags.sum()) // max(n, 1))
    chosen: Flags = flags & (np.cumsum(flags) % step == 0)
    return chosen


def _n_near_copies(distances: F32) -> int:
    """How many near-copies vectors have, by squared distances ``(n, k)`` of their neighbours; 0 if few have any.

    Most of those that have some, have at most that many: neighbours up to a gap.
    """
    if distances.shape[1] < AFTER + 2:
        return 0
    before, behind = distances[:, AFTER:-1], distances[:, AFTER + 1 :]
    gaps = np.isfinite(behind) & (behind > GAP**2 * np.maximum(before, 1e-30))
    with_gap = gaps.any(axis=1)
    if with_gap.mean() <= WITH_GAP:
        return 0
    return AFTER + 1 + int(np.quantile(gaps[with_gap].argmax(axis=1), MOST_COPIES))


def _lonely(
    cells: Cells, rows: Rows, passing: U8 | None, living: I64, n_copies: int, rng: np.random.Generator
) -> tuple[I64, I64]:
    """Rows to hide, and the stored vectors among them whose near-copies the others are."""
    most_hidden = int(HIDDEN_SHARE * len(living))
    n_hidden = min(n_copies + 1, most_hidden // FEWEST_LONELY)
    if n_hidden < 2:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    lonely = np.sort(rng.permutation(living)[: min(most_hidden // n_hidden, MOST_LONELY)])
    found, _ = _nearest(cells, rows, passing, rows.take(lonely), n_hidden)
    hidden = np.union1d(found, lonely)
    return hidden[hidden >= 0], lonely


def _nearest(cells: Cells, rows: Rows, passing: U8 | None, queries: F32, k: int) -> tuple[I64, F32]:
    product, threads = cells.coder.product, _kernels.default_threads()
    return _kernels.search_rows(rows.view(), None, product, passing, queries, k, threads)


def _without(passing: U8 | None, hidden: I64, n: int) -> U8:
    """The bits of rows that pass, with those of hidden ones cleared."""
    bits = np.ones(n, np.uint8) if passing is None else np.unpackbits(passing, count=n, bitorder="little")
    bits[hidden] = 0
    return np.packbits(bits, bitorder="little")


def _without_own(found: I64, distances: F32, own: I64) -> F32:
    """Distances ``(n, k - 1)`` of neighbours other than the query itself, which may be missing among ties."""
    others = np.where(found == own[:, None], np.inf, distances)
    others.sort(axis=1)
    return others[:, :-1].astype(np.float32)
