"""What stands behind a [`VectorIndex`][rankhash.VectorIndex]: rows, ids and, once there are enough vectors, cells.

::

    few vectors ──▶ rows only: every search compares all of them
    many        ──▶ learn: coder from a sample, cells of all rows, calibration; again when there are four times as many
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from .. import _kernels
from .._types import F32, I64, U8
from ..errors import InvalidInputError
from ..hashers.progress import FitProgress
from ._calibration import DEPTHS, Calibration, Reach, Setting
from ._cells import Cells
from ._centroids import KMEANS_ROUNDS
from ._changing import whole
from ._coder import POINTS_PER_CELL, QUANTIZER_POINTS, learn_coder, n_cells_for
from ._held_out import HeldOut
from ._ids import RowIds
from ._metric import prepare
from ._options import Options, is_worth_learning
from ._rows import Rows, no_rows

RELEARN_GROWTH, RECALIBRATE_GROWTH = 4, 1.5
SPLIT_SIZE = 8
"""A cell with this many times the mean number of codes is split."""

SHORTFALL = 0.01
"""If the recall measured is lower than what a search asks for by more than this, all vectors are compared."""

FEW_PASSING = 4096
"""Filters that pass at most this many vectors are answered by comparing all of these."""


class Engine:
    """Vectors of one dimension, prepared for the metric."""

    def __init__(self, options: Options, n_features: int) -> None:
        self.options, self.n_features = options, n_features
        self.rows = Rows(n_features, options.vectors or "float32")
        self.ids = RowIds()
        self.cells: Cells | None = None
        self.calibration: Calibration | None = None
        self.n_learned = self.n_calibrated = 0
        self.microseconds: float | None = None
        self.n_threads = _kernels.default_threads()  # of changes and of learning
        self.on_step: Callable[[], None] | None = None  # called between steps of learning; what it raises ends it

    @property
    def product(self) -> bool:
        """Whether distances are negative inner products."""
        return self.options.metric == "dot"

    @property
    def keeps_rows(self) -> bool:
        """Whether vectors are stored beside their codes."""
        return self.cells is None or self.options.vectors is not None

    @property
    def index_bytes(self) -> int:
        """Bytes of codes, cells and ids."""
        return self.ids.nbytes + (0 if self.cells is None else self.cells.nbytes)

    # -- changes ---------------------------------------------------------------------------------------------------

    @whole
    def add(self, vectors: F32, ids: I64) -> None:
        """Add vectors under new ids."""
        if not len(vectors):
            return
        first = len(self.ids.ids)
        if first + len(vectors) > 2**32 - 1:
            raise InvalidInputError(f"an index holds at most {2**32 - 1} vectors; use several")
        if self.cells is not None:
            numbers = np.arange(first, first + len(vectors), dtype=np.int64)
            self.cells.add(vectors, numbers, self.n_threads)
        if self.keeps_rows:
            self.rows.append(vectors)
        self.ids.append(ids)
        if self.calibration is None:
            self._learn_from_rows()
        elif self.options.vectors is not None and len(self.ids) >= RELEARN_GROWTH * self.n_learned:
            self.relearn()
        else:
            self._split_large_cells()
            if self.options.vectors is not None and len(self.ids) >= RECALIBRATE_GROWTH * self.n_calibrated:
                self.calibrate()
        self._tidy()

    @whole
    def upsert(self, vectors: F32, ids: I64) -> None:
        """Add vectors, and remove those that have their ids."""
        rows = self.ids.rows_of(ids)
        self.ids.remove(rows[rows >= 0])
        self.add(vectors, ids)

    @whole
    def remove(self, rows: I64) -> None:
        """Remove living rows."""
        self.ids.remove(rows)
        self._tidy()

    def learn(self, sample: F32) -> None:
        """Learn cells and codes from vectors that are not added."""
        n_cells = self.options.n_cells or n_cells_for(len(sample))
        self.cells = Cells(self._coder(sample, n_cells))
        self.n_learned = len(sample)

    def _tidy(self) -> None:
        """Rewrite rows and cells without the removed ones when these are a quarter."""
        if 4 * self.ids.n_dead > max(len(self.ids.ids), 4096):
            self.compact()

    @whole
    def compact(self) -> None:
        """Rewrite rows and cells without the removed ones."""
        if not self.ids.n_dead:
            return
        kept = np.flatnonzero(self.ids.live)
        if self.cells is not None:
            self.cells.keep(kept, len(self.ids.ids))
        if self.keeps_rows:
            self.rows = self.rows.chosen(kept)
        self.ids = RowIds(self.ids.ids[kept], self.ids.next_id)

    def vectors_of(self, rows: I64) -> F32:
        """The stored vectors of rows."""
        if not self.keeps_rows:
            raise InvalidInputError("this index keeps codes only (vectors=None), so that vectors cannot be returned")
        return self.rows.take(rows)

    # -- learning --------------------------------------------------------------------------------------------------

    def _learn_from_rows(self) -> None:
        fitted = self.cells is not None
        if not fitted and not is_worth_learning(len(self.ids.ids), self.n_features):
            return
        if fitted and len(self.ids) < 1000:
            return
        if not fitted:
            self.relearn()
        elif self.options.vectors is not None:
            self.calibrate()
            self.n_learned = len(self.ids)

    def relearn(self) -> None:
        """New cells, codes and calibration for all rows."""
        self.compact()
        n, options = len(self.ids), self.options
        n_cells = options.n_cells or n_cells_for(n)
        rng = np.random.default_rng(options.random_state)
        sample = self.rows.take(np.sort(rng.permutation(n)[: max(n_cells * POINTS_PER_CELL, QUANTIZER_POINTS)]))
        sample = sample[rng.permutation(len(sample))]
        self._encode_all(self._coder(sample, n_cells))
        self.calibrate()
        self.n_learned = n
        if options.vectors is None:
            self.rows = Rows(self.n_features, "float32")

    def _coder(self, sample: F32, n_cells: int) -> Any:
        with FitProgress(KMEANS_ROUNDS + 30, "learning cells", shown=self.options.verbose) as progress:
            return learn_coder(
                sample,
                min(n_cells, len(sample)),
                self.options.bytes_per_vector,
                product=self.product,
                random_state=self.options.random_state,
                n_threads=self.n_threads,
                on_step=self._stepping(progress),
            )

    def _stepping(self, progress: FitProgress) -> Callable[[], None]:
        def step() -> None:
            progress.advance()
            if self.on_step is not None:
                self.on_step()

        return step

    def _encode_all(self, coder: Any) -> None:
        cells, step = Cells(coder), 1 << 17
        n = len(self.rows)
        with FitProgress(-(-n // step), "encoding", shown=self.options.verbose) as progress:
            step_done = self._stepping(progress)
            for start in range(0, n, step):
                numbers = np.arange(start, min(start + step, n), dtype=np.int64)
                cells.add(self.rows.take(numbers), numbers, self.n_threads)
                step_done()
        cells.tighten()
        self.cells = cells

    def calibrate(self) -> None:
        """Measure how far searches must go, and how long they take."""
        cells, living, options = self._learned(), np.flatnonzero(self.ids.live), self.options
        passing = self.ids.passing(None)
        problem = HeldOut.of(cells, self.rows, living, passing, self._prepared, options.random_state + 1)
        rows = self.rows.view() if options.vectors is not None else no_rows(self.n_features)
        with FitProgress(2 + len(DEPTHS), "measuring recall", shown=options.verbose) as progress:
            self.calibration = problem.calibration(rows, self._stepping(progress))
        self.n_calibrated = len(living)
        self.microseconds = problem.microseconds(rows, self._cell_search(self.setting(10, options.recall)))

    def _prepared(self, vectors: F32) -> F32:
        return prepare(vectors, self.options.metric, "queries")

    def _learned(self) -> Cells:
        if self.cells is None:
            raise InvalidInputError("this index has not learned cells yet")
        return self.cells

    def _split_large_cells(self) -> None:
        cells = self.cells
        if cells is None or self.options.vectors is None or self.options.n_cells is not None:
            return
        limit = max(SPLIT_SIZE * len(cells) / cells.coder.n_cells, 8 * _kernels.CELL_BLOCK)
        for cell in np.flatnonzero(cells.sizes > limit):
            rows = cells.rows_in(int(cell))
            cells.split(int(cell), self.rows.take(rows), rows, self.options.random_state, self.n_threads)

    # -- search ----------------------------------------------------------------------------------------------------

    def search(self, queries: F32, k: int, recall: float, chosen: Any, exact: bool, n_threads: int) -> tuple[I64, F32]:
        """Ids and distances of the k nearest of each query, as the core gives them."""
        return self.search_passing(queries, k, recall, self.ids.passing(chosen), exact, n_threads)

    def search_passing(
        self, queries: F32, k: int, recall: float, passing: U8 | None, exact: bool, n_threads: int
    ) -> tuple[I64, F32]:
        """``search`` among the rows whose bit of ``passing`` is set (None: all, if none were removed)."""
        ids = self.ids.ids
        if self.cells is None or exact:
            return self._search_all(queries, k, passing, n_threads)
        n_passing = len(self.ids) if passing is self.ids.passing(None) else _count_bits(passing)
        if n_passing <= FEW_PASSING and self.keeps_rows:
            return self._search_all(queries, k, passing, n_threads)
        setting = self.setting(k, recall, n_passing / max(len(self.ids), 1))
        if self.keeps_rows and self._falls_short(setting, recall):
            return self._search_all(queries, k, passing, n_threads)
        how = self._cell_search(setting)._replace(n_expected=min(k, n_passing))
        if self.calibration is not None and self.options.n_probes is None and n_passing == len(self.ids):
            how = how._replace(beyond=self.calibration.reach.limit(k))
        rows = self.rows.view() if self.keeps_rows else no_rows(self.n_features)
        points = self.cells.coder.points(queries)
        found, distances, stats = _kernels.search_cells(
            self.cells.view(), rows, ids, passing, points, queries, how, n_threads
        )
        if stats.incomplete and self.keeps_rows:  # rare: filters that pass nothing near, queries unlike all vectors
            last = how.n_expected - 1
            missing = (found[:, last] < 0) | (distances[:, last] > how.beyond)
            found[missing], distances[missing] = self._search_all(queries[missing], k, passing, n_threads)
        return found, distances

    def _search_all(self, queries: F32, k: int, passing: U8 | None, n_threads: int) -> tuple[I64, F32]:
        if not self.keeps_rows:
            raise InvalidInputError("an exact search needs the vectors, but this index keeps codes only (vectors=None)")
        return _kernels.search_rows(self.rows.view(), self.ids.ids, self.product, passing, queries, k, n_threads)

    def setting(self, k: int, recall: float, share: float = 1.0) -> Setting:
        """How to search for k neighbours among a share of the vectors.

        The k nearest of a share are about the k / share nearest of all, so that as many cells are scanned as for these.
        """
        options, n_cells = self.options, self._learned().coder.n_cells
        if self.calibration is None:
            setting = Setting(k, float(n_cells), 0, max(100, 10 * k), 0.0, 0.0)
        else:
            setting = self.calibration.choose(k, recall)
            if share < 1:
                wider = self.calibration.choose(max(k, min(int(k / share), 1 << 30)), recall)
                setting = replace(setting, effort=wider.effort, exponent=wider.exponent)
        if options.n_probes is not None:
            setting = replace(setting, effort=float(options.n_probes), exponent=0)
        if options.n_candidates is not None:
            setting = replace(setting, n_candidates=max(options.n_candidates, k))
        return setting

    def _falls_short(self, setting: Setting, recall: float) -> bool:
        """Whether no measured setting reaches the recall, so that all vectors must be compared."""
        free = self.options.n_probes is None and self.options.n_candidates is None
        return free and self.calibration is not None and setting.recall < recall - SHORTFALL

    def _cell_search(self, setting: Setting) -> _kernels.CellSearch:
        calibration = self.calibration if self.options.n_probes is None else None
        return (Reach() if calibration is None else calibration.reach).search(setting)


def _count_bits(bits: U8 | None) -> int:
    return 0 if bits is None else int(np.unpackbits(bits).sum(dtype=np.int64))
