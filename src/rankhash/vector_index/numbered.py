"""Vectors under ascending numbers, as a collection keeps them in memory; what it learns is given to it."""

from __future__ import annotations

import copy
from collections.abc import Callable

import numpy as np

from .. import _kernels
from .._types import F32, I64, U8, Array
from ..errors import IdError
from ..neighbors import Neighbors, RadiusNeighbors
from ._cells import Cells
from ._engine import Engine
from ._metric import METRICS, prepare, storable, true_distances
from ._options import Options
from .learned import RELEARN_GROWTH, Learned, mean_error, new_name

__all__ = ["METRICS", "NumberedVectors", "prepare", "storable"]

FIRST_HITS = 256
"""Neighbours that a search by radius asks for at first; eight times as many where all of them are within the radius"""

SAMPLE = 4096
"""Vectors on which the mean distance from centroids is measured"""


class NumberedVectors:
    """Vectors that are added with ascending numbers, searched by true distance.

    Parameters
    ----------
    metric, recall
        As in [`VectorIndex`][rankhash.VectorIndex].
    dtype
        How vectors are kept: ``"float32"`` or ``"float16"``.
    n_features
        Dimensions of the vectors.
    """

    def __init__(self, metric: str, recall: float, dtype: str, n_features: int) -> None:
        options = Options.checked(
            metric=metric,
            recall=recall,
            bytes_per_vector="auto",
            vectors=dtype,
            n_cells="auto",
            n_probes=None,
            n_candidates=None,
            random_state=0,
            verbose=False,
        )
        self.metric, self.recall = metric, recall
        self.learned: Learned | None = None
        self._engine = Engine(options, n_features)

    def __len__(self) -> int:
        return len(self._engine.ids)

    @property
    def numbers(self) -> I64:
        """The numbers of all vectors, ascending."""
        ids = self._engine.ids
        return ids.ids[ids.live] if ids.n_dead else ids.ids

    @property
    def nbytes(self) -> int:
        """Bytes of memory that vectors, numbers and codes take."""
        return self._engine.rows.nbytes + self._engine.index_bytes

    # -- changes ---------------------------------------------------------------------------------------------------

    def append(self, vectors: F32, numbers: I64) -> None:
        """Add vectors under larger numbers than those before; InvalidInputError if the metric cannot take one."""
        rows, ids = self._engine.rows, self._engine.ids
        rows.size = len(ids.ids)  # an interrupted call leaves no row behind
        rows.append(prepare(vectors, self.metric, "vectors"))
        ids.append(numbers)

    def remove(self, numbers: I64) -> None:
        """Remove vectors; IdError if one of the numbers is not there."""
        rows = self._engine.ids.rows_of(numbers)
        if (rows < 0).any():
            raise IdError(f"number {numbers[rows < 0][0]} is not there")
        self._engine.remove(rows)

    # -- learning --------------------------------------------------------------------------------------------------

    def adopt(self, learned: Learned | None) -> bool:
        """Use what was learned; returns whether the rows of all items must be placed anew."""
        engine, before = self._engine, self.learned
        self.learned = learned
        if learned is None:
            engine.cells = engine.calibration = None
            return True
        engine.calibration, engine.n_learned = learned.calibration, learned.n_learned
        if before is not None and before.name == learned.name:
            return False
        engine.cells = Cells(learned.coder)
        return True

    def place(self, numbers: I64, rows: U8) -> I64:
        """Put the rows of items, as ``Learned.encode`` makes them, into cells; returns the numbers that are there."""
        assert self.learned is not None
        assert self._engine.cells is not None
        at = self._engine.ids.rows_of(numbers)
        there = at >= 0
        if there.any():
            cells, codes = self.learned.split(rows[there])
            self._engine.cells.place(cells, codes, at[there])
        return numbers[there]

    def frozen(self) -> NumberedVectors:
        """The vectors and cells as they are now, for another thread: later changes do not reach them."""
        other, engine = copy.copy(self), copy.copy(self._engine)
        engine.rows, engine.ids = copy.copy(engine.rows), copy.copy(engine.ids)
        engine.cells = copy.deepcopy(engine.cells)
        other._engine = engine
        return other

    def learn(self, on_step: Callable[[], None], n_threads: int) -> tuple[Learned, I64, U8]:
        """New cells and codes, the numbers of all vectors, and their rows; only of a frozen object."""
        engine = self._engine
        engine.on_step, engine.n_threads = on_step, n_threads
        engine.relearn()
        assert engine.cells is not None
        assert engine.calibration is not None
        coder, n = engine.cells.coder, len(self)
        error = mean_error(coder, engine.rows.take(self._some(np.arange(n))))
        learned = Learned(self.metric, coder, engine.calibration, n, n, error, new_name())
        cells, codes, rows = engine.cells.in_order()
        assert np.array_equal(rows, np.arange(n))
        return learned, engine.ids.ids, learned.joined(cells, codes)

    def calibrate(self, on_step: Callable[[], None], n_threads: int) -> Learned:
        """The same cells and codes, with how far searches must go measured anew; only of a frozen object."""
        engine = self._engine
        engine.on_step, engine.n_threads = on_step, n_threads
        engine.calibrate()
        assert self.learned is not None
        assert engine.calibration is not None
        return self.learned.recalibrated(engine.calibration, len(self))

    def should_relearn(self) -> bool:
        """Whether nothing was learned, or there are many more vectors since, or the newest ones are unlike them."""
        learned = self.learned
        if learned is None or len(self) >= RELEARN_GROWTH * learned.n_learned:
            return True
        living = np.flatnonzero(self._engine.ids.live)
        return learned.has_drifted(self._engine.rows.take(self._some(living[learned.n_learned :])))

    def _some(self, rows: I64) -> I64:
        """A random sample of rows, in order."""
        rng = np.random.default_rng(self._engine.options.random_state)
        return np.sort(rng.permutation(rows)[:SAMPLE])

    # -- search ----------------------------------------------------------------------------------------------------

    def search(
        self,
        queries: F32,
        k: int,
        *,
        recall: float | None = None,
        bits: U8 | None = None,
        n_threads: int | None = None,
    ) -> Neighbors:
        """The k nearest vectors of each query; ``bits`` has one bit for each of ``numbers``, 1 = may be found.

        ``recall`` is the share of the true neighbours to find; None (the default) takes that of the constructor.
        """
        wanted = self.recall if recall is None else recall
        points, threads = prepare(queries, self.metric, "vectors"), _kernels.resolve_threads(n_threads)
        found, away = self._engine.search_passing(points, k, wanted, self._passing(bits), wanted == 1, threads)
        return Neighbors(found, true_distances(away, self.metric))

    def search_radius(
        self, queries: F32, radius: float, *, bits: U8 | None = None, n_threads: int | None = None
    ) -> RadiusNeighbors:
        """All vectors within ``radius`` of each query."""
        hits: dict[int, Neighbors] = {}
        waiting, k = np.arange(len(queries)), FIRST_HITS
        while len(waiting):
            found = self.search(queries[waiting], k, recall=1.0, bits=bits, n_threads=n_threads)
            n_hits = ((found.ids >= 0) & (found.distances <= radius)).sum(axis=1)
            done = (n_hits < k) | (k >= len(self))
            for row in np.flatnonzero(done):
                near = slice(0, n_hits[row])
                hits[int(waiting[row])] = Neighbors(found.ids[row, near], found.distances[row, near])
            waiting, k = waiting[~done], 8 * k
        parts = [hits[row] for row in range(len(queries))]
        offsets = np.cumsum([0, *(len(part.ids) for part in parts)]).astype(np.int64)
        ids = np.concatenate([np.empty(0, np.int64), *(part.ids for part in parts)])
        return RadiusNeighbors(offsets, ids, np.concatenate([np.empty(0, np.float32), *(p.distances for p in parts)]))

    def rank(self, queries: F32, candidates: I64, k: int, *, n_threads: int | None = None) -> Neighbors:
        """The k nearest of each query's own candidates ``(n_queries, m)``, numbers or -1."""
        engine, numbers = self._engine, self._engine.ids.ids
        rows = candidates
        if len(numbers) and (numbers[0] != 0 or numbers[-1] != len(numbers) - 1):
            rows = np.searchsorted(numbers, candidates)
            rows[candidates < 0] = -1
        found, away = _kernels.rank_rows(
            engine.rows.view(),
            numbers,
            engine.product,
            np.ascontiguousarray(rows, np.int64),
            prepare(queries, self.metric, "vectors"),
            k,
            _kernels.resolve_threads(n_threads),
        )
        return Neighbors(found, true_distances(away, self.metric))

    def _passing(self, bits: U8 | None) -> U8 | None:
        """One bit per row."""
        ids = self._engine.ids
        if bits is None or not ids.n_dead:
            return ids.passing(None) if bits is None else bits
        flags: Array = np.zeros(len(ids.ids), bool)
        flags[ids.live] = np.unpackbits(bits, count=len(ids), bitorder="little").astype(bool)
        return np.packbits(flags, bitorder="little")
