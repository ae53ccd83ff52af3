"""What is learned from a sample: centroids of cells, and a quantiser of what is left of vectors in their cells.

::

    x - center = centroid c + residual      residual ≈ r̂ = scale · Σ_s decoder[s][symbol s]
    |q - x|² ≈ |q - c|² - 2q·r̂ + correction      a byte of the code; see ``_corrections``

Scales are powers of two near the deviation of the vectors in a cell, so that dense cells are described as well as
sparse ones. For dense clusters far from each other the correction is 2c·r̂ + |r̂|² instead, added to the tables of each
cell; |r̂|² is the sum of the quantiser's lengths.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from .. import _kernels, hashers
from .._types import F32, F64, I32, U8
from ._centroids import kmeans, nearest_centroids, squared_lengths
from ._corrections import HALF_RANGE, MOST_OFFSET, Axes, as_bytes, corrections, learn_corrections
from ._metric import storable

CELLS_PER_ROOT, CODES_PER_CELL = 3.0, 128
"""Cells are CELLS_PER_ROOT √n, but have at least CODES_PER_CELL vectors on average: four blocks of codes."""

POINTS_PER_CELL = 48
"""Training vectors per cell for k-means; more hardly change what has to be scanned."""

QUANTIZER_POINTS = 8192
"""Training vectors of the quantiser; 20,000 lower the error on other vectors by a hundredth of it."""

SHORTEST_CODE, LONGEST_CODE, CODE_STEP, CODE_ERROR = 16, 64, 8, 0.08
"""Codes have the bytes that normal residuals would need for this mean squared error, relative to their variance."""

_CHUNK = 1 << 15


@dataclass(frozen=True)
class Coder:
    """Assigns vectors to cells and encodes them; ``center`` (d,) is subtracted from all vectors first.

    ``radii`` (n_cells,) are mean squared lengths of the residuals in each cell. ``lows`` and ``steps`` (n_cells,)
    belong to the corrections; None if codes have none.
    """

    product: bool
    center: F32
    centroids: F32
    exponents: I32
    radii: F32
    quantizer: hashers.RankQuantizer
    lows: F32 | None = None
    steps: F32 | None = None

    @property
    def n_cells(self) -> int:
        """How many cells there are."""
        return len(self.centroids)

    @property
    def n_bytes(self) -> int:
        """Bytes of one code."""
        return self.quantizer.layout_.n_bytes + (self.lows is not None)

    @property
    def scales(self) -> F32:
        """The scale of residuals in each cell."""
        scales: F32 = np.exp2(self.exponents).astype(np.float32)
        return scales

    def points(self, vectors: F32) -> F32:
        """Vectors relative to the centre."""
        return vectors - self.center if self._is_centred else vectors

    @cached_property
    def _is_centred(self) -> bool:
        return bool(self.center.any())

    @cached_property
    def axes(self) -> Axes:
        """The axes of the quantiser's decoder."""
        return Axes.of(self.quantizer.decoder_)

    @cached_property
    def _centroids_along(self) -> F32:
        return self.axes.along(self.centroids, 1)

    def panels(self) -> tuple[F32, F32, F32, I32, F32]:
        """Centroids, their squared lengths, and axes, first axes and rows of the decoder, as a search reads them."""
        factor = np.float32(-1 if self.product else -2)
        squares = np.zeros(self.n_cells, np.float32) if self.product else squared_lengths(self.centroids)
        axes, centroids = (_kernels.as_panels(factor * rows) for rows in (self.axes.directions, self.centroids))
        return centroids, squares, axes, self.axes.first, self.axes.coordinates

    def offsets(self) -> F32 | None:
        """What is added to a query's tables in each cell ``(n_cells, n_symbols, 16)``, or None.

        Inner products and codes with corrections need none.
        """
        if self.product or self.lows is not None:
            return None
        decoder, lengths = self.quantizer.decoder_.astype(np.float64), self.quantizer.lengths_
        scales = np.exp2(self.exponents)[:, None]
        sums = 2 * scales * (self.centroids @ decoder.T) + scales**2 * lengths
        offsets: F32 = sums.astype(np.float32).reshape(self.n_cells, -1, _kernels.PANEL)
        return offsets

    def unlikeness(self, vectors: F32) -> F32:
        """The squared distance of vectors from their nearest centroid, relative to the squared radius of its cell."""
        points = self.points(vectors)
        cells = nearest_centroids(points, self.centroids, _kernels.default_threads())
        squares: F32 = np.square(points - self.centroids[cells]).sum(axis=1) / self.radii[cells]
        return squares

    def with_parts(self, cell: int, centroids: F32, exponents: I32, radii: F32) -> Coder:
        """The coder with several cells instead of one: the first in its place, the others behind the last cell.

        The corrections of the parts have the middle of the old cell's range, in units of the squared scale, and steps
        as all cells of their scale.
        """

        def joined(old: Any, new: Any) -> Any:
            return np.concatenate([old[:cell], new[:1], old[cell + 1 :], new[1:]])

        lows, steps = self.lows, self.steps
        if lows is not None and steps is not None:
            scales = np.exp2(exponents).astype(np.float32)
            own = steps[cell] / self.scales[cell] * scales
            middle = (lows[cell] + HALF_RANGE * steps[cell]) * np.square(scales / self.scales[cell])
            lows, steps = joined(lows, middle - HALF_RANGE * own), joined(steps, own)
        return replace(
            self,
            centroids=joined(self.centroids, centroids),
            exponents=joined(self.exponents, exponents),
            radii=joined(self.radii, radii),
            lows=lows,
            steps=steps,
        )

    def cells_of(self, vectors: F32, n_threads: int) -> I32:
        """The cell of each vector: its nearest centroid."""
        return nearest_centroids(self.points(vectors), self.centroids, n_threads)

    def encode(self, vectors: F32, cells: I32, n_threads: int) -> U8:
        """Codes ``(n, n_bytes)`` of vectors in the given cells."""
        codes = np.empty((len(vectors), self.n_bytes), np.uint8)
        for start in range(0, len(vectors), _CHUNK):
            some = slice(start, start + _CHUNK)
            points, own = self.points(vectors[some]), cells[some]
            residuals = points - self.centroids[own]
            made = self.quantizer.encode(residuals / self.scales[own, None], n_threads=n_threads)
            codes[some, : made.shape[1]] = made
            if self.lows is not None and self.steps is not None:
                values = self.corrections(points, residuals, made, own, n_threads)
                codes[some, -1] = as_bytes(values, self.lows[own], self.steps[own])
        return codes

    def corrections(self, points: F32, residuals: F32, codes: U8, cells: I32, n_threads: int) -> F64:
        """The corrections of points with the given residuals, codes of the quantiser, and cells."""
        decoded = self.scales[cells, None] * self.axes.decoded(self.quantizer.layout_.unpack(codes))
        squares = np.einsum("nd,nd->n", residuals, residuals, dtype=np.float64)
        return corrections(squares, self.axes.along(points, n_threads), self._centroids_along[cells], decoded)

    def decode(self, codes: U8, cells: I32) -> F32:
        """The vectors ``(n, d)`` that codes in the given cells stand for."""
        described = codes[:, : self.quantizer.layout_.n_bytes]
        decoded: F32 = self.quantizer.decode(described).astype(np.float32)
        decoded *= self.scales[cells, None]
        return decoded + self.centroids[cells] + self.center


def learn_coder(
    sample: F32,
    n_cells: int,
    n_bytes: int | None,
    *,
    product: bool,
    random_state: int,
    n_threads: int,
    on_step: Callable[[], None] = lambda: None,
) -> Coder:
    """A coder with ``n_cells`` cells and codes of ``n_bytes`` bytes, learned from a random sample of the vectors.

    With None the length of codes is chosen.
    """
    storable(sample)  # files may hold others
    rng = np.random.default_rng(random_state)
    center = np.zeros(sample.shape[1], np.float32)
    if not product:
        center = sample.mean(axis=0, dtype=np.float64).astype(np.float32)
    points = sample - center
    centroids = kmeans(points[: n_cells * POINTS_PER_CELL], n_cells, rng, n_threads, on_step)
    some = points[: max(QUANTIZER_POINTS, 16 * n_cells)]
    cells = nearest_centroids(some, centroids, n_threads)
    residuals = some - centroids[cells]
    exponents, radii = cell_sizes(residuals, cells, n_cells)
    residuals /= np.exp2(exponents[cells, None]).astype(np.float32)
    corrected = not product and has_corrections(some, some - centroids[cells])
    quantizer = hashers.RankQuantizer(
        2 * ((n_bytes or enough_bytes(residuals[:QUANTIZER_POINTS])) - corrected),
        max_points=QUANTIZER_POINTS,
        random_state=random_state,
        verbose=False,
        callback=lambda _: on_step(),
    )
    learned = quantizer.fit(_distinct(residuals[rng.permutation(len(residuals))[:QUANTIZER_POINTS]], rng))
    coder = Coder(product, center, centroids, exponents, radii, learned)
    if not corrected:
        return coder
    codes = learned.encode(residuals, n_threads=n_threads)
    values = coder.corrections(some, some - centroids[cells], codes, cells, n_threads)
    lows, steps = learn_corrections(values, cells, coder.scales)
    return replace(coder, lows=lows, steps=steps)


def has_corrections(points: F32, residuals: F32) -> bool:
    """Whether most points are not much farther from the centre than from their centroids."""
    lengths, rest = (np.square(rows, dtype=np.float64).sum(axis=1) for rows in (points, residuals))
    return bool(np.median(lengths / np.maximum(rest, 1e-30)) <= MOST_OFFSET)


def enough_bytes(residuals: F32) -> int:
    """Bytes of a code: the rate of normal vectors with the same covariance at CODE_ERROR, by reverse water-filling.

    Directions of variance v above the water level w take log2(v / w) / 2 bits each, the others none.
    """
    centred = residuals.astype(np.float64) - residuals.mean(axis=0)
    variances = np.sort(np.linalg.eigvalsh(centred.T @ centred))
    total, below = variances.sum(), np.cumsum(variances)
    levels = below + variances * np.arange(len(variances) - 1, -1, -1)  # errors if the level is at each variance
    place = min(int(np.searchsorted(levels, CODE_ERROR * total)), len(variances) - 1)
    level = (CODE_ERROR * total - (below[place] - variances[place])) / (len(variances) - place)
    above = variances[place:] / max(level, 1e-300) if total > 0 else np.ones(1)
    bits = np.log2(np.maximum(above, 1)).sum() / 2
    return int(np.clip(CODE_STEP * np.rint(bits / 8 / CODE_STEP), SHORTEST_CODE, LONGEST_CODE))


def cell_sizes(residuals: F32, cells: I32, n_cells: int) -> tuple[I32, F32]:
    """For each cell, log2 of the root mean square of its residuals, rounded, and their mean squared length.

    Cells without any get the common values. Exponents lie at most 30 below the largest, so that few scales occur. No
    squared length is below a ten thousandth of the common one.
    """
    squares = np.square(residuals, dtype=np.float64).mean(axis=1)
    counts = np.bincount(cells, minlength=n_cells)
    sums = np.bincount(cells, squares, minlength=n_cells)
    common = max(float(np.median(squares)), 1e-30)
    with np.errstate(divide="ignore"):
        sizes = np.where(counts > 0, sums / np.maximum(counts, 1), common)
    logs = np.rint(np.log2(np.maximum(sizes, 1e-30)) / 2)
    radii = residuals.shape[1] * np.clip(sizes, common / 1e4, 1e37)
    return np.clip(logs, logs.max() - 30, None).astype(np.int32), radii.astype(np.float32)


def _distinct(residuals: F32, rng: np.random.Generator) -> F32:
    """Residuals that a quantiser can learn from: if all are (nearly) the same, some noise is added."""
    spread = float(residuals.std(axis=0).max())
    if len(residuals) > 2 and spread > 1e-6 * float(np.abs(residuals).max(initial=0)) and spread > 0:
        return residuals
    shape = (max(len(residuals), 256), residuals.shape[1])
    return rng.standard_normal(shape).astype(np.float32)


def n_cells_for(n: int) -> int:
    """How many cells n vectors get, full panels of the kernels."""
    wanted = int(min(CELLS_PER_ROOT * np.sqrt(n), n / CODES_PER_CELL))
    return max(_kernels.PANEL, -(-wanted // _kernels.PANEL) * _kernels.PANEL)
