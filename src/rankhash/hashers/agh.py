"""Anchor graph hashing: the smoothest functions on a graph of the vectors that is made through anchors."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from .. import _kernels
from ..codes import CodeLayout
from ..errors import InvalidInputError
from ..vectors import VectorBatches
from ._base import F32, F64, U8, Arrays, Hasher, Training
from ._kernel import block_rows, distance_scale, scaled_squares, some_rows, take_rows
from ._parameters import check_integer
from ._pca import parts

CLUSTERING_POINTS = 20_000
"""From more vectors than this, anchors are looked for in a random sample."""

LEAST = 1e-9
"""Smaller eigenvalues are taken as 0."""

CONNECTED = 1 - 1e-3
"""Functions of the graph with a larger eigenvalue only tell parts apart that are not connected."""


class AGH(Hasher):
    """Codes of bits that tell the sign of the smoothest functions on a graph of the vectors.

    Learned without labels [1]_. Vectors are neighbours if they are near the same anchors, which are cluster centres.
    The graph's functions then follow from a matrix as small as the number of anchors, and extend to new vectors by
    their nearest anchors. With two layers each function gives two bits: its sign, and on which side of a second
    threshold it lies, which is set where it cuts the graph least.

    Parameters
    ----------
    n_symbols
        Bits of a code, 1 to 4096, less than there are anchors (with two layers: than twice as many).
    n_anchors
        Cluster centres; as many as there are vectors, if these are fewer.
    n_nearest
        How many anchors a vector is joined to.
    layers
        1, or 2 to take two bits from each function.
    random_state
        An integer for the same anchors in every run, a RandomState, or None.

    Attributes
    ----------
    anchors_ : ndarray (n_anchors, n_features_in_)
        The anchors.
    scale_ : ndarray (1,)
        A vector's weight at an anchor falls like exp(-(scale · distance)²).
    projections_ : ndarray (n_functions, n_anchors)
        What each function is at the anchors.
    cuts_ : ndarray (n_functions, 2)
        The second thresholds of vectors where the function is positive, and where it is not; only with two layers.
    n_nearest_ : ndarray (1,) of int32
        How many anchors a vector is joined to.
    layout_ : CodeLayout
        The layout of the codes: ``n_symbols`` of arity 2; with two layers all first bits come first.
    n_features_in_, feature_names_in_
        Columns of the vectors that were fitted, and their names if they had any.

    References
    ----------
    .. [1] W. Liu, J. Wang, S. Kumar, S.-F. Chang, Hashing with graphs, ICML 2011.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(500, 8))
    >>> hasher = AGH(16, n_anchors=50, random_state=0).fit(X)
    >>> hasher.transform(X).shape, hasher.encode(X).shape
    ((500, 16), (500, 2))
    """

    anchors_: F32
    scale_: F32
    cuts_: F32 | None
    n_nearest_: _kernels.I32

    _code_arrays = ("projections_", "anchors_", "scale_", "cuts_", "n_nearest_")

    def __init__(
        self,
        n_symbols: int = 32,
        *,
        n_anchors: int = 300,
        n_nearest: int = 3,
        layers: int = 1,
        random_state: Any = None,
    ) -> None:
        self.n_symbols = n_symbols
        self.n_anchors = n_anchors
        self.n_nearest = n_nearest
        self.layers = layers
        self.random_state = random_state

    def _check_parameters(self) -> None:
        check_integer("n_anchors", self.n_anchors, 2, 10_000)
        check_integer("n_nearest", self.n_nearest, 1, self.n_anchors)
        check_integer("layers", self.layers, 1, 2)

    def _learn(self, training: Training, rng: np.random.RandomState) -> Arrays:
        data = training.vectors
        if data.n_rows < 3:
            raise InvalidInputError(f"a graph needs 3 vectors or more, got n_samples={data.n_rows}")
        data.check()
        sample = take_rows(data, some_rows(rng, data.n_rows, CLUSTERING_POINTS))
        unit = distance_scale(data, data.mean()[None], 1.0)
        anchors = cluster_centres(sample, self.n_anchors, unit, rng)
        n_nearest = min(self.n_nearest, len(anchors))
        joined = join(data, anchors, unit, n_nearest)
        width = np.sqrt(joined.weights[:, -1]).mean(dtype=np.float64)
        scale = (unit / width if width > 0 else unit).astype(np.float32)
        for rows in joined.blocks():
            joined.weights[rows] = anchor_weights(joined.weights[rows] * (scale / unit) ** 2)
        n_functions = -(-self.n_symbols // self.layers)
        functions = graph_functions(joined, len(anchors), n_functions)
        arrays: Arrays = {"projections_": functions.T.astype(np.float32), "anchors_": anchors, "scale_": scale}
        arrays["n_nearest_"] = np.array([n_nearest], np.int32)
        return arrays if self.layers == 1 else arrays | {"cuts_": second_cuts(joined, functions).astype(np.float32)}

    def _bit_scores(self, batch: F32, n_threads: int | None) -> F32:
        """Numbers ``(n, n_symbols)`` that are positive where the bit is 1."""
        joined = nearest(scaled_squares(batch, self.anchors_, self.scale_, n_threads), int(self.n_nearest_[0]))
        values = Joined(joined.places, anchor_weights(joined.weights)).interpolate(self.projections_.T)
        if self.cuts_ is None:
            return values
        above, below = self.cuts_.T
        second = np.where(values > 0, values - above, below - values)
        return np.concatenate([values, second], axis=1)[:, : self.layout_.n_symbols]

    def _encode_batch(self, batch: F32, n_threads: int) -> tuple[U8, int]:
        codes = np.empty((len(batch), self.layout_.n_bytes), np.uint8)
        bad = _kernels.first_nonfinite_row(batch)
        step = block_rows(batch.shape[1], len(self.anchors_), self.layout_.n_symbols)
        for start in range(0, len(batch) if bad < 0 else 0, step):
            scores = self._bit_scores(batch[start : start + step], n_threads)
            codes[start : start + step] = _kernels.pack((scores > 0).astype(np.uint8), 2)
        return codes, bad

    def _scores(self, vectors: F32) -> F64:
        scores = self._bit_scores(vectors, None).astype(np.float64)
        return np.stack([np.zeros_like(scores), scores], axis=2)

    def _fits(self, arrays: Arrays, layout: CodeLayout, n_features: int) -> bool:
        if not {*self._code_arrays} - {"cuts_"} <= arrays.keys():
            return False
        functions, anchors, scale, n_nearest = (arrays[n] for n in ("projections_", "anchors_", "scale_", "n_nearest_"))
        floats = [array for name, array in arrays.items() if name != "n_nearest_"]
        n_functions = -(-layout.n_symbols // 2) if "cuts_" in arrays else layout.n_symbols
        return (
            all(array.dtype == np.float32 and np.isfinite(array).all() for array in floats)
            and layout.arity == 2
            and anchors.ndim == 2
            and anchors.shape[1] == n_features
            and functions.shape == (n_functions, len(anchors))
            and arrays.get("cuts_", np.empty((n_functions, 2))).shape == (n_functions, 2)
            and scale.shape == (1,)
            and bool(scale[0] > 0)
            and n_nearest.dtype == np.int32
            and n_nearest.shape == (1,)
            and bool(1 <= n_nearest[0] <= len(anchors))
        )


@dataclass(frozen=True)
class Joined:
    """Vectors by their nearest anchors: which these are ``(n, s)``, and a number for each of them ``(n, s)``."""

    places: _kernels.I32
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
        """Rows that are looked at together."""
        step = block_rows(8 * self.places.shape[1])
        return [slice(start, start + step) for start in range(0, len(self.places), step)]


def cluster_centres(points: F32, most: int, unit: F32, rng: np.random.RandomState) -> F32:
    """At most ``most`` different cluster centres of the points, which ``unit`` brings to unit size."""
    origin = points.mean(axis=0, dtype=np.float64).astype(np.float32)
    scaled = (points - origin) * unit
    means = KMeans(min(most, len(points)), n_init=1, max_iter=20, random_state=rng)
    with threadpool_limits(1), warnings.catch_warnings():  # several threads would add up in any order
        warnings.simplefilter("ignore", ConvergenceWarning)
        centres = means.fit(scaled).cluster_centers_
    different: F32 = (np.unique(centres, axis=0) / unit + origin).astype(np.float32)
    return different


def nearest(squares: F32, n_nearest: int) -> Joined:
    """The anchors with the smallest squares ``(n, n_anchors)``, the nearest first."""
    places = np.argpartition(squares, n_nearest - 1, axis=1)[:, :n_nearest]
    found = np.take_along_axis(squares, places, axis=1)
    order = np.lexsort((places, found), axis=1)
    places, found = np.take_along_axis(places, order, axis=1), np.take_along_axis(found, order, axis=1)
    return Joined(places.astype(np.int32), found)


def join(data: VectorBatches, anchors: F32, scale: F32, n_nearest: int) -> Joined:
    """All vectors with the scaled squared distances to their nearest anchors."""
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
    """exp(-squares), scaled to the sum 1 a row; the nearest anchor comes first."""
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
    usable = np.flatnonzero((values > LEAST) & (values < CONNECTED))[::-1][:n_functions]
    if len(usable) < n_functions:
        raise InvalidInputError(
            f"the graph of {n_anchors} anchors has {len(usable)} functions that tell vectors apart, but {n_functions} "
            "are needed for so many bits; take fewer bits, more anchors or layers=2"
        )
    vectors = vectors[:, usable] / np.sqrt(values[usable])
    signs = np.sign(np.take_along_axis(vectors, np.abs(vectors).argmax(axis=0)[None], axis=0))
    functions: F64 = np.sqrt(len(joined.places)) * root[:, None] * vectors * signs
    return functions


def second_cuts(joined: Joined, functions: F64) -> F64:
    """The second thresholds ``(n_functions, 2)``: of vectors where a function y is positive, and of the others.

    With f = y - t on the positive side and u - y on the other, they make f'(I - A)f least among those with Σf = 0.
    """
    n, n_anchors = len(joined.places), len(functions)
    n_positive, total = np.zeros((2, functions.shape[1]))
    load, positive, sizes = np.zeros(n_anchors), np.zeros(functions.shape), np.zeros(functions.shape)
    for rows in joined.blocks():
        part = joined.matrix(rows, n_anchors)
        values = part @ functions
        above = (values > 0).astype(np.float64)
        n_positive += above.sum(axis=0)
        total += (values * above).sum(axis=0)
        load += part.sum(axis=0)
        positive += part.T @ above
        sizes += part.T @ np.abs(values)
    inverse = np.where(load > 0, 1 / np.maximum(load, np.finfo(float).tiny), 0)[:, None]
    apart = n_positive - (positive**2 * inverse).sum(axis=0)
    pull = total - (positive * sizes * inverse).sum(axis=0)
    both = np.where(apart > LEAST * n, pull / np.maximum(apart, np.finfo(float).tiny), 0)
    above = (2 * total + (n - n_positive) * both) / n
    return np.stack([above, both - above], axis=1)
