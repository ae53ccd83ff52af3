"""What is learned from a sample: centroids of cells, and a quantiser of what is left of vectors in their cells.

::

    x - center = centroid + residual      residual ≈ scale · Σ_s decoder[s][symbol s]
    |q - x|² ≈ |q - c|² + Σ_s (-2 scale · q·decoder + offset)      offset = 2 scale · c·decoder + scale² · length

Scales are powers of two near the deviation of the vectors in a cell, so that dense cells are described as well as
sparse ones. Lengths are those of the quantiser: what each row adds to the squared length of a decoded vector.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .. import _kernels
from .._types import F32, I32, I64, U8
from ..hashers import RankQuantizer

KMEANS_ROUNDS = 6
POINTS_PER_CELL = 48
"""Training vectors per cell for k-means; more hardly change what has to be scanned."""

QUANTIZER_POINTS = 8192
"""Training vectors of the quantiser; 20,000 lower the error on other vectors by a hundredth of it."""

SHORTEST_CODE, LONGEST_CODE, CODE_STEP, CODE_ERROR = 16, 64, 8, 0.12
"""Codes have the bytes that normal residuals would need for this mean squared error, relative to their variance."""

RANK_TOLERANCE = 1e-5
"""Directions in which a symbol's rows are shorter than this, relative to the longest direction, are left out."""

_CHUNK = 1 << 15


@dataclass(frozen=True)
class Coder:
    """Assigns vectors to cells and encodes them; ``center`` (d,) is subtracted from all vectors first.

    ``radii`` (n_cells,) are mean squared lengths of the residuals in each cell.
    """

    product: bool
    center: F32
    centroids: F32
    exponents: I32
    radii: F32
    quantizer: RankQuantizer

    @property
    def n_cells(self) -> int:
        """How many cells there are."""
        return len(self.centroids)

    @property
    def n_bytes(self) -> int:
        """Bytes of one code."""
        return self.quantizer.layout_.n_bytes

    @property
    def scales(self) -> F32:
        """The scale of residuals in each cell."""
        scales: F32 = np.exp2(self.exponents).astype(np.float32)
        return scales

    def points(self, vectors: F32) -> F32:
        """Vectors relative to the centre."""
        return vectors - self.center if self.center.any() else vectors

    def panels(self) -> tuple[F32, F32, F32, I32, F32]:
        """Centroids, their squared lengths, and axes, first axes and rows of the decoder, as a search reads them."""
        factor = np.float32(-1 if self.product else -2)
        squares = np.zeros(self.n_cells) if self.product else np.square(self.centroids, dtype=np.float64).sum(axis=1)
        axes, first_axis, decoder = by_axes(self.quantizer.decoder_)
        axes = _kernels.as_panels(factor * axes)
        return _kernels.as_panels(factor * self.centroids), squares.astype(np.float32), axes, first_axis, decoder

    def offsets(self) -> F32 | None:
        """What is added to a query's tables in each cell ``(n_cells, n_symbols, 16)``; None for inner products."""
        if self.product:
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

    def cells_of(self, vectors: F32, n_threads: int) -> I32:
        """The cell of each vector: its nearest centroid."""
        return nearest_centroids(self.points(vectors), self.centroids, n_threads)

    def encode(self, vectors: F32, cells: I32, n_threads: int) -> U8:
        """Codes ``(n, n_bytes)`` of vectors in the given cells."""
        codes = np.empty((len(vectors), self.n_bytes), np.uint8)
        for start in range(0, len(vectors), _CHUNK):
            some = slice(start, start + _CHUNK)
            residuals = (self.points(vectors[some]) - self.centroids[cells[some]]) / self.scales[cells[some], None]
            codes[some] = self.quantizer.encode(residuals, n_threads=n_threads)
        return codes

    def decode(self, codes: U8, cells: I32) -> F32:
        """The vectors ``(n, d)`` that codes in the given cells stand for."""
        decoded: F32 = self.quantizer.decode(codes).astype(np.float32)
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
    quantizer = RankQuantizer(
        2 * (n_bytes or enough_bytes(residuals[:QUANTIZER_POINTS])),
        max_points=QUANTIZER_POINTS,
        random_state=random_state,
        verbose=False,
        callback=lambda _: on_step(),
    )
    learned = quantizer.fit(_distinct(residuals[rng.permutation(len(residuals))[:QUANTIZER_POINTS]], rng))
    return Coder(product, center, centroids, exponents, radii, learned)


def by_axes(decoder: F32) -> tuple[F32, I32, F32]:
    """The directions in which the rows of each symbol lie: axes, the first axis of each symbol, and coordinates.

    A quantiser's symbols have subspaces of their own with few dimensions, so that the products of a vector with all
    rows follow from those with few axes.
    """
    blocks = decoder.astype(np.float64).reshape(-1, _kernels.PANEL, decoder.shape[1])
    left, strengths, right = np.linalg.svd(blocks, full_matrices=False)
    used = strengths > RANK_TOLERANCE * strengths[:, :1]
    used[:, 0] = True
    first_axis = np.concatenate([[0], np.cumsum(used.sum(axis=1))]).astype(np.int32)
    coordinates = np.swapaxes(left * strengths[:, None], 1, 2)[used]
    return right[used].astype(np.float32), first_axis, np.ascontiguousarray(coordinates, np.float32)


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


def kmeans(points: F32, n_cells: int, rng: np.random.Generator, n_threads: int, on_step: Callable[[], None]) -> F32:
    """Centroids ``(n_cells, d)``: means of the points nearest to them, after some rounds from random points.

    A centroid without points moves beside one of the largest cells.
    """
    centroids: F32 = points[rng.permutation(len(points))[:n_cells]].copy()
    for _ in range(KMEANS_ROUNDS):
        cells = nearest_centroids(points, centroids, n_threads)
        order = np.argsort(cells, kind="stable")
        counts = np.bincount(cells, minlength=len(centroids))
        used = counts > 0
        starts = np.concatenate([[0], np.cumsum(counts)[:-1]])
        sums = np.add.reduceat(points[order], starts[used], axis=0)
        centroids[used] = sums / counts[used, None].astype(np.float32)
        _revive(centroids, counts, points, rng)
        on_step()
    return centroids


def nearest_centroids(points: F32, centroids: F32, n_threads: int) -> I32:
    """The number of the nearest centroid of each point."""
    squares = np.square(centroids, dtype=np.float64).sum(axis=1).astype(np.float32)
    return _kernels.assign_cells(np.ascontiguousarray(points), _kernels.as_panels(-2 * centroids), squares, n_threads)[
        0
    ]


def _revive(centroids: F32, counts: I64, points: F32, rng: np.random.Generator) -> None:
    """Put centroids without points beside those of the largest cells, a hundredth of a typical deviation away."""
    empty = np.flatnonzero(counts == 0)
    if len(empty):
        largest = np.argsort(-counts, kind="stable")[: len(empty)]
        deviation = points.std(axis=0) / 100
        centroids[empty] = centroids[largest] + deviation * rng.standard_normal((len(empty), points.shape[1]))


def _distinct(residuals: F32, rng: np.random.Generator) -> F32:
    """Residuals that a quantiser can learn from: if all are (nearly) the same, some noise is added."""
    spread = float(residuals.std(axis=0).max())
    if len(residuals) > 2 and spread > 1e-6 * float(np.abs(residuals).max(initial=0)) and spread > 0:
        return residuals
    shape = (max(len(residuals), 256), residuals.shape[1])
    return rng.standard_normal(shape).astype(np.float32)
