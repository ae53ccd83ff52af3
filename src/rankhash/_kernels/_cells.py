"""Search of codes in cells, and of stored vectors by true distance."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from .. import _native
from .._types import F32, I32, I64, U8, U32
from ._scan import empty_results

PANEL = 16
"""Rows per panel of a matrix: ``panel[j, r]`` is element j of row r."""

CELL_BLOCK = 32
"""Codes in one block of a cell."""

ROW_TYPES = ("float32", "float16", "int8")


@dataclass(frozen=True)
class RowsView:
    """Stored vectors: ``head``, then the first rows of ``tail``, ``size`` in total; both (n, row bytes) uint8.

    ``dtype`` is one of ROW_TYPES; int8 rows are multiplied by their entry of ``factors``.
    """

    head: U8
    tail: U8
    size: int
    factors: F32 | None
    depth: int
    dtype: str

    @cached_property
    def native(self) -> _native.RowsView:
        """The view as an object of the core; valid as long as this object lives."""
        return _native.RowsView(self.head, self.tail, self.size, self.factors, self.depth, ROW_TYPES.index(self.dtype))


@dataclass(frozen=True)
class CellsView:
    """Codes in cells.

    ``centroids`` are panels ``(n_panels, depth, PANEL)`` of -2 times (``product``: -1 times) the centroids, ``squares``
    (n_cells,) their squared lengths (zeros for ``product``), ``centers`` (n_cells, depth) the centroids themselves.
    ``axes`` are panels of directions with the same factor. Those of symbol s are ``first_axis[s]`` up to
    ``first_axis[s + 1]``, and ``decoder`` (n_axes, PANEL) has the coordinates of its PANEL rows along each of them.
    Decoded residuals are multiplied by the cell's entry of ``scales``. ``offsets`` (n_cells, n_symbols, PANEL) are
    added to a query's tables in each cell. Or codes have one more byte b: ``lows`` + ``steps`` · b, both (n_cells,), is
    added to their distance. Cells of the same scale have the same step.
    ``radii`` (n_cells,) are mean squared distances of the cell's vectors from its centroid.
    Cell c occupies the first ``sizes[c]`` positions from block ``first_block[c]`` on of ``blocks``
    (n_blocks, bytes of a code, CELL_BLOCK) and ``rows`` (n_blocks, CELL_BLOCK).
    """

    product: bool
    depth: int
    centroids: F32
    squares: F32
    axes: F32
    first_axis: I32
    decoder: F32
    centers: F32
    scales: F32
    radii: F32
    offsets: F32 | None
    lows: F32 | None
    steps: F32 | None
    first_block: I64
    sizes: I32
    blocks: U8
    rows: U32

    @cached_property
    def native(self) -> _native.CellsView:
        """The view as an object of the core; valid as long as this object lives."""
        return _native.CellsView(
            self.product,
            self.depth,
            self.centroids,
            self.squares,
            self.axes,
            self.first_axis,
            self.decoder,
            self.centers,
            self.scales,
            self.radii,
            self.offsets,
            self.lows,
            self.steps,
            self.first_block,
            self.sizes,
            self.blocks,
            self.rows,
        )


class CellSearch(NamedTuple):
    """The effort of a search.

    The cell of rank r (0 is the nearest) at the distance D_r is scanned if (r + 1) · (D_r / D_0)^exponent is at most
    ``effort``. ``n_candidates`` codes are re-ranked. ``exponent`` is even, and 0 for inner products.

    With u = D_0² / squared radius of the nearest cell and f = (min(u, ``far``) / ``usual``)^``growth``, at least 1, the
    effort is multiplied by f² and the number of candidates by f. With ``growth`` 0 (default), all queries have the same
    effort.

    Candidates are re-ranked in the order of their codes' distances, until these exceed ``slack`` (default: no limit)
    times the distance of the k-th nearest vector so far.

    An answer is incomplete if one of its first ``n_expected`` (0) places is empty, or if the last of them is farther
    away than ``beyond`` (default: no limit).
    """

    k: int
    effort: float
    exponent: int
    n_candidates: int
    usual: float = 1.0
    far: float = 1.0
    growth: int = 0
    slack: float = np.inf
    n_expected: int = 0
    beyond: float = np.inf


class CellStats(NamedTuple):
    """The work of a search, summed over its queries, and how many answers are incomplete."""

    cells: int
    codes: int
    hits: int
    candidates: int
    incomplete: int = 0


def as_panels(matrix: F32) -> F32:
    """The rows of a matrix ``(n, depth)`` as panels ``(n_panels, depth, PANEL)``, padded with rows of 0."""
    n, depth = matrix.shape
    padded = np.zeros((-(-n // PANEL) * PANEL, depth), np.float32)
    padded[:n] = matrix
    return np.ascontiguousarray(padded.reshape(-1, PANEL, depth).transpose(0, 2, 1))


def assign_cells(vectors: F32, centroids: F32, squares: F32, n_threads: int) -> tuple[I32, F32]:
    """The number of the nearest centroid of each vector, and squares + centroids·x of it.

    ``centroids`` are panels of -2 times the centroids, ``squares`` their squared lengths. Of equally near centroids the
    first is taken.
    """
    cells, scores = np.empty(len(vectors), np.int32), np.empty(len(vectors), np.float32)
    _native.assign_cells(vectors, centroids, squares, n_threads, cells, scores)
    return cells, scores


def search_cells(
    cells: CellsView,
    rows: RowsView,
    ids: I64 | None,
    passing: U8 | None,
    points: F32,
    queries: F32,
    search: CellSearch,
    n_threads: int,
) -> tuple[I64, F32, CellStats]:
    """Ids and distances ``(n_queries, k)`` of the nearest vectors found, and the work of the search.

    ``points`` are the queries relative to the centre of the cells, ``queries`` those compared with rows. ``ids`` are
    the ids of rows, or None if they equal the row numbers; ``passing`` has one bit per row, 1 = may be found. Distances
    are squared Euclidean distances or negative inner products; without rows, those of the codes.
    """
    found_ids, distances = empty_results(len(queries), search.k)
    stats = _native.search_cells(
        cells.native,
        rows.native,
        ids,
        passing,
        points,
        queries,
        *search,
        n_threads,
        found_ids,
        distances,
    )
    return found_ids, distances, CellStats(*stats)


def unit_rows(vectors: F32) -> tuple[F32, int]:
    """Vectors divided by their lengths, and the first row of length 0, behind which nothing is set, or -1."""
    units = np.empty(vectors.shape, np.float32)
    return units, _native.unit_rows(vectors, units)


def search_rows(
    rows: RowsView, ids: I64 | None, product: bool, passing: U8 | None, queries: F32, k: int, n_threads: int
) -> tuple[I64, F32]:
    """Ids and distances ``(n_queries, k)`` of the nearest of all rows that pass, exactly."""
    found_ids, distances = empty_results(len(queries), k)
    _native.search_rows(rows.native, ids, product, passing, queries, k, n_threads, found_ids, distances)
    return found_ids, distances


def rank_rows(
    rows: RowsView, ids: I64 | None, product: bool, candidates: I64, queries: F32, k: int, n_threads: int
) -> tuple[I64, F32]:
    """Ids and distances ``(n_queries, k)`` of the nearest of each query's candidates ``(n_queries, m)``.

    Candidates are row numbers; negative numbers are ignored.
    """
    found_ids, distances = empty_results(len(queries), k)
    _native.rank_rows(rows.native, ids, product, candidates, queries, k, n_threads, found_ids, distances)
    return found_ids, distances
