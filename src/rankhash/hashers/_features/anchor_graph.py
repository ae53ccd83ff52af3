"""The anchor graph: vectors joined to their nearest cluster centres, and the base of the hashers that use it.

::

    x ─▶ the s nearest of m anchors ─▶ weights z, Σz = 1          A = ZΛ⁻¹Z', Λ = diag(Z'1): n × n, never written out
                                          └─ functions: z · values at the anchors ─▶ bit scores
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.sparse import csr_array
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from ..._checks import check_integer
from ..._types import F32, F64, I32, U8
from ...codes import CodeLayout
from ...errors import InvalidInputError
from ...vectors import VectorBatches
from .._blocks import block_rows, parts
from ..base import Arrays, Hasher
from ..training import sample_rows, take_rows
from .anchors import distance_scale, scaled_squares

CLUSTERING_POINTS = 20_000
"""Largest number of vectors that are clustered; of more, a random sample."""

MIN_EIGENVALUE = 1e-9
"""Smaller eigenvalues count as 0."""

MAX_EIGENVALUE = 1 - 1e-3
"""Functions with a larger eigenvalue only separate components of the graph that are not connected."""


class AnchorGraphHasher(Hasher):
    """A hasher whose bits are signs of functions that vectors interpolate from their nearest anchors.

    Attributes
    ----------
    anchors_, scale_, n_nearest_
        The anchors; a vector's weight at an anchor falls like exp(-(scale · distance)²); number of anchors per vector.
    projections_ : ndarray (n_functions, n_anchors)
        The values of the functions at the anchors.
    """

    n_anchors: int
    n_nearest: int
    anchors_: F32
    scale_: F32
    n_nearest_: I32

    _code_arrays: ClassVar[tuple[str, ...]] = ("projections_", "anchors_", "scale_", "n_nearest_")

    def _check_parameters(self) -> None:
        check_integer("n_anchors", self.n_anchors, 2, 10_000)
        check_integer("n_nearest", self.n_nearest, 1, self.n_anchors)

    def _join(self, data: VectorBatches, rng: np.random.RandomState) -> tuple[Arrays, Joined]:
        """The arrays of the anchors, and the weights of all vectors at them."""
        if data.n_rows < 3:
            raise InvalidInputError(f"a graph needs 3 vectors or more, got n_samples={data.n_rows}")
        data.check()
        sample = take_rows(data, sample_rows(rng, data.n_rows, CLUSTERING_POINTS))
        unit = distance_scale(data, data.mean()[None], 1.0)
        anchors = cluster_centres(sample, self.n_anchors, unit, rng)
        n_nearest = min(self.n_nearest, len(anchors))
        joined = join(data, anchors, unit, n_nearest)
        width = np.sqrt(joined.weights[:, -1]).mean(dtype=np.float64)
        scale = (unit / width if width > 0 else unit).astype(np.float32)
        for rows in joined.blocks():
            joined.weights[rows] = anchor_weights(joined.weights[rows] * (scale / unit) ** 2)
        return {"anchors_": anchors, "scale_": scale, "n_nearest_": np.array([n_nearest], np.int32)}, joined

    def _bit_scores(self, batch: F32, n_threads: int | None) -> F32:
        """Scores ``(n, n_functions)``, positive where the bit is 1."""
        joined = nearest(scaled_squares(batch, self.anchors_, self.scale_, n_threads), int(self.n_nearest_[0]))
        return Joined(joined.places, anchor_weights(joined.weights)).interpolate(self.projections_.T)

    def _encode_batch(self, batch: F32, n_threads: int) -> tuple[U8, int]:
        step = block_rows(batch.shape[1], len(self.anchors_), self.layout_.n_symbols)
        return self._encode_blocks(batch, step, lambda block: self._bit_scores(block, n_threads) > 0)

    def _scores(self, vectors: F32) -> F64:
        scores = self._bit_scores(vectors, None).astype(np.float64)
        return np.stack([np.zeros_like(scores), scores], axis=2)

    def _fits(self, arrays: Arrays, layout: CodeLayout, n_features: int) -> bool:
        if not {*AnchorGraphHasher._code_arrays} <= arrays.keys():
            return False
        functions, anchors, scale, n_nearest = (arrays[n] for n in AnchorGraphHasher._code_arrays)
        floats = [array for name, array in arrays.items() if name != "n_nearest_"]
        return (
            all(array.dtype == np.float32 and np.isfinite(array).all() for array in floats)
            and layout.arity == 2
            and anchors.ndim == 2
            and anchors.shape[1] == n_features
            and functions.shape == (self._n_functions(arrays, layout), len(anchors))
            and scale.shape == (1,)
            and bool(scale[0] > 0)
            and n_nearest.dtype == np.int32
            and n_nearest.shape == (1,)
            and bool(1 <= n_nearest[0] <= len(anchors))
        )

    def _n_functions(self, arrays: Arrays, layout: CodeLayout) -> int:  # noqa: ARG002
        """Number of functions that a file with these arrays must have."""
        return layout.n_symbols


@dataclass(frozen=True)
class Joined:
    """The nearest anchors of vectors, ``places`` ``(n, s)``, and their weights or squared distances ``(n, s)``."""

    places: I32
    weights: F32

    def interpolate(self, table: F32) -> F32:
        """The weighted sum ``(n, k)`` of the anchors' rows of a table ``(n_anchors, k)``."""
        total = self.weights[:, :1] * table[self.places[:, 0]]
        for place in range(1, self.places.shape[1]):
            total += self.weights[:, place, None] * table[self.places[:, place]]
        values: F32 = total
        return values

    def matrix(self, rows: slice, n_anchors: int) -> csr_array:
        """The weights of some vectors at all anchors."""
        places, weights = self.places[rows], self.weights[rows].astype(np.float64)
        ends = np.arange(0, places.size + 1, places.shape[1])
        return csr_array((weights.ravel(), places.ravel(), ends), shape=(len(places), n_anchors))

    def blocks(self) -> list[slice]:
        """Slices of rows that are processed at once."""
        step = block_rows(8 * self.places.shape[1])
        return [slice(start, start + step) for start in range(0, len(self.places), step)]


def cluster_centres(points: F32, most: int, unit: F32, rng: np.random.RandomState) -> F32:
    """At most ``most`` distinct cluster centres of the points; ``unit`` scales the points to unit size."""
    origin = points.mean(axis=0, dtype=np.float64).astype(np.float32)
    with np.errstate(over="ignore", invalid="ignore"):
        scaled = (points - origin) * unit
    if not np.isfinite(scaled).all():
        raise InvalidInputError("the vectors cannot be clustered: their values are too large; scale them")
    means = KMeans(min(most, len(points)), n_init=1, max_iter=20, random_state=rng)
    with threadpool_limits(1), warnings.catch_warnings():  # several threads would add in varying order
        warnings.simplefilter("ignore", ConvergenceWarning)
        centres = means.fit(scaled).cluster_centers_
    different: F32 = (np.unique(centres, axis=0) / unit + origin).astype(np.float32)
    return different


def nearest(squares: F32, n_nearest: int) -> Joined:
    """The ``n_nearest`` anchors with the smallest squares ``(n, n_anchors)``, nearest first."""
    places = np.argpartition(squares, n_nearest - 1, axis=1)[:, :n_nearest]
    found = np.take_along_axis(squares, places, axis=1)
    order = np.lexsort((places, found), axis=1)
    places, found = np.take_along_axis(places, order, axis=1), np.take_along_axis(found, order, axis=1)
    return Joined(places.astype(np.int32), found)


def join(data: VectorBatches, anchors: F32, scale: F32, n_nearest: int) -> Joined:
    """The nearest anchors of all vectors, with scaled squared distances."""
    places = np.empty((data.n_rows, n_nearest), np.int32)
    squares = np.empty((data.n_rows, n_nearest), np.float32)
    step = block_rows(data.n_features, len(anchors))
    for first, part in parts(data):
        for start in range(0, len(part), step):
            block = part[start : start + step]
            rows = slice(first + start, first + start + len(block))
            found = nearest(scaled_squares(block, anchors, scale, None), n_nearest)
            places[rows], squares[rows] = found.places, found.weights
    return Joined(places, squares)


def anchor_weights(squares: F32) -> F32:
    """exp(-squares), normalised to the sum 1 per row; the nearest anchor comes first."""
    weights: F32 = np.exp(squares[:, :1] - squares)
    weights /= weights.sum(axis=1, keepdims=True)
    return weights


def graph_functions(joined: Joined, n_anchors: int, n_functions: int) -> F64:
    """The smoothest functions at the anchors ``(n_anchors, n_functions)``, of unit mean square over the vectors.

    The graph of the vectors is A = ZΛ^-1Z' for their weights Z and Λ = diag(Z'1); its eigenvectors ZΛ^-½vσ^-½ come from
    those of Λ^-½Z'ZΛ^-½ = vσv'. The first is constant and left out.
    """
    products, load = np.zeros((n_anchors, n_anchors)), np.zeros(n_anchors)
    for rows in joined.blocks():
        part = joined.matrix(rows, n_anchors)
        products += (part.T @ part).toarray()
        load += part.sum(axis=0)
    root = np.where(load > 0, 1 / np.sqrt(np.maximum(load, np.finfo(float).tiny)), 0)
    values, vectors = np.linalg.eigh(root[:, None] * products * root)
    usable = np.flatnonzero((values > MIN_EIGENVALUE) & (values < MAX_EIGENVALUE))[::-1][:n_functions]
    if len(usable) < n_functions:
        raise InvalidInputError(
            f"the graph of {n_anchors} anchors has {len(usable)} functions that separate vectors, but {n_functions} "
            "are needed; take fewer bits, more anchors or layers=2"
        )
    vectors = vectors[:, usable] / np.sqrt(values[usable])
    signs = np.sign(np.take_along_axis(vectors, np.abs(vectors).argmax(axis=0)[None], axis=0))
    functions: F64 = np.sqrt(len(joined.places)) * root[:, None] * vectors * signs
    return functions
