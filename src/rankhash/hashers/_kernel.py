"""Features of vectors from their distances to anchors, and the base of the hashers that hash such features.

::

    x ─▶ |x - a|² for every anchor a ─▶ exp(-gamma |x - a|² / mean |x - a|²) ─▶ minus the mean ─▶ whitened, if asked for
                                        └── kernel(X) ──┘                        └────────── transform(X) ──────────┘
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from .. import _kernels
from ..errors import InvalidInputError
from ..vectors import VectorBatches, as_vectors, batches
from ._base import F32, F64, U8, Arrays, Hasher
from ._pca import parts

if TYPE_CHECKING:
    from typing_extensions import Self

    from ..codes import CodeLayout

I64 = NDArray[np.int64]

BLOCK_FLOATS = 1 << 18
"""Numbers of a block of features: however many vectors come, no more are computed at once."""

STATISTICS_POINTS = 100_000
"""From more vectors than this, the mean and the whitening of features come from a random sample."""

RIDGE = 0.01
"""What whitening adds to the variances, as a part of their mean."""


class RBFAnchors:
    """Vectors as ``n_anchors`` features, each telling how near a random training vector is.

    A feature is exp(-gamma d² / mean d²), with d the distance to the anchor and the mean over all fitted vectors
    and anchors, less its own mean. The features of a vector do not depend on those that come along, on the
    number of threads or on the scale of the vectors.

    Parameters
    ----------
    n_anchors
        How many fitted vectors become anchors; all of them, if there are fewer.
    whiten
        Whether features are multiplied by (C + 0.01·mean variance)^-½, with C their covariance, which gives
        directions in which they hardly vary their say.
    gamma
        How fast a feature falls with the distance.
    random_state
        An integer, a RandomState, or None.

    Attributes
    ----------
    anchors_ : ndarray (n_anchors, d)
        The anchors.
    scale_ : ndarray (1,)
        Distances are multiplied by it: sqrt(gamma / mean d²).
    mean_ : ndarray (n_anchors,)
        The mean of the features before it was subtracted.
    whitening_ : ndarray (n_anchors, n_anchors) or None
        The symmetric matrix that whitens.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(500, 8))
    >>> rbf = RBFAnchors(20, whiten=True, random_state=0).fit(X)
    >>> features = rbf.transform(X)
    >>> features.shape, features.dtype, bool(np.abs(features.mean(axis=0)).max() < 1e-3)
    ((500, 20), dtype('float32'), True)
    >>> weights = np.ones((3, 20), np.float32)
    >>> folded = (rbf.kernel(X) - rbf.mean_) @ rbf.fold(weights).T
    >>> bool(np.abs(folded - features @ weights.T).max() < 1e-3)
    True
    >>> again = RBFAnchors.from_arrays(rbf.arrays())
    >>> bool((again.transform(X) == features).all())
    True
    """

    anchors_: F32
    scale_: F32
    mean_: F32
    whitening_: F32 | None

    def __init__(
        self, n_anchors: int = 300, *, whiten: bool = False, gamma: float = 2.0, random_state: Any = None
    ) -> None:
        self.n_anchors = n_anchors
        self.whiten = whiten
        self.gamma = gamma
        self.random_state = random_state

    def fit(self, X: Any) -> Self:
        """The features themselves, after anchors were drawn from ``X`` and scale, mean and whitening measured."""
        data = X if isinstance(X, VectorBatches) else batches(X)
        if data.n_rows < 2:
            raise InvalidInputError("distances need 2 vectors or more, but there is 1 sample: n_samples=1")
        data.check()
        rng = check_random_state(self.random_state)
        self.anchors_ = take_rows(data, some_rows(rng, data.n_rows, self.n_anchors))
        self.scale_ = distance_scale(data, self.anchors_, self.gamma)
        rows = some_rows(rng, data.n_rows, STATISTICS_POINTS)
        total = sum(block.sum(axis=0, dtype=np.float64) for block in self._blocks(data, rows))
        self.mean_ = (total / len(rows)).astype(np.float32)
        self.whitening_ = self._whitening(data, rows) if self.whiten else None
        return self

    def _whitening(self, data: VectorBatches, rows: I64) -> F32:
        covariance = np.zeros((len(self.anchors_),) * 2)
        for block in self._blocks(data, rows):
            block -= self.mean_
            covariance += block.T @ block
        variances, axes = np.linalg.eigh(covariance / len(rows))
        variances = np.maximum(variances, 0)
        roots = np.sqrt(variances + max(RIDGE * variances.mean(), np.finfo(np.float64).tiny))
        whitening: F64 = (axes / roots) @ axes.T
        return whitening.astype(np.float32)

    def _blocks(self, data: VectorBatches, rows: I64) -> Iterator[F32]:
        """Kernel features of some rows, a bounded number of them at a time."""
        step = block_rows(data.n_features, len(self.anchors_))
        for start in range(0, len(rows), step):
            yield self.kernel(take_rows(data, rows[start : start + step]))

    def kernel(self, X: Any, *, n_threads: int | None = None) -> F32:
        """The features ``(n, n_anchors)`` before the mean is subtracted and before whitening, 0 to 1."""
        data = X if isinstance(X, VectorBatches) else batches(X, n_features=self.anchors_.shape[1])
        features = np.empty((data.n_rows, len(self.anchors_)), np.float32)
        start = 0
        for batch in data:
            features[start : start + len(batch)] = rbf(batch, self.anchors_, self.scale_, n_threads)
            start += len(batch)
        return features

    def transform(self, X: Any, *, n_threads: int | None = None) -> F32:
        """The features ``(n, n_anchors)`` of vectors ``(n, d)``."""
        features = self.kernel(X, n_threads=n_threads)
        if self.whitening_ is None:
            features -= self.mean_
            return features
        threads, step = _kernels.resolve_threads(n_threads), block_rows(features.shape[1])
        for start in range(0, len(features), step):
            part = features[start : start + step]
            part[:] = _kernels.project(part, self.whitening_, None, self.mean_, threads)
        return features

    def fold(self, weights: NDArray[np.floating]) -> F32:
        """The weights of ``kernel(X) - mean_`` that give what ``weights`` ``(rows, n_anchors)`` of features give."""
        folded = weights if self.whitening_ is None else weights.astype(np.float64) @ self.whitening_
        return folded.astype(np.float32)

    def arrays(self) -> Arrays:
        """All that was learned, by name, to be saved; :meth:`from_arrays` makes the features again."""
        names = ("anchors_", "scale_", "mean_", "whitening_")
        return {name: getattr(self, name) for name in names if getattr(self, name) is not None}

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> Self:
        """The fitted features whose :meth:`arrays` these are."""
        features = cls(len(arrays["anchors_"]), whiten="whitening_" in arrays)
        features.anchors_, features.scale_, features.mean_ = (arrays[n] for n in ("anchors_", "scale_", "mean_"))
        features.whitening_ = arrays.get("whitening_")
        return features


class KernelHasher(Hasher):
    """A hasher whose projections are those of kernel features.

    Attributes
    ----------
    anchors_, scale_
        The anchors and the scale of distances: see :class:`RBFAnchors`.
    center_ : ndarray (n_anchors,)
        The mean of the features.
    projections_ : ndarray (n_symbols, n_anchors)
        The weights of the features.
    """

    anchors_: F32
    scale_: F32
    center_: F32

    _code_arrays: ClassVar[tuple[str, ...]] = ("projections_", "bias_", "center_", "anchors_", "scale_")

    def _features(self, batch: F32) -> F32:
        return rbf(batch, self.anchors_, self.scale_, None)

    def _encode_batch(self, batch: F32, n_threads: int) -> tuple[U8, int]:
        codes, layout = np.empty((len(batch), self.layout_.n_bytes), np.uint8), self.layout_
        bad = _kernels.first_nonfinite_row(batch)
        step = block_rows(batch.shape[1], len(self.anchors_))
        for start in range(0, len(batch) if bad < 0 else 0, step):
            features = rbf(batch[start : start + step], self.anchors_, self.scale_, n_threads)
            learned = (self.projections_, self.bias_, self.center_)
            part, _ = _kernels.encode(features, *learned, layout.n_symbols, layout.arity, n_threads)
            codes[start : start + step] = part
        return codes, bad

    def _fits(self, arrays: Arrays, layout: CodeLayout, n_features: int) -> bool:
        anchors, scale = arrays.get("anchors_", np.empty(0)), arrays.get("scale_", np.empty(0))
        return (
            anchors.ndim == 2
            and anchors.shape[1] == n_features
            and scale.shape == (1,)
            and bool(scale[0] > 0)
            and "center_" in arrays
            and len(arrays.get("projections_", ())) == layout.n_symbols
            and super()._fits(arrays, layout, len(anchors))
        )


def rbf(batch: F32, anchors: F32, scale: F32, n_threads: int | None) -> F32:
    """exp(-(scale · distance)²) ``(n, n_anchors)`` of vectors to anchors."""
    features = np.empty((len(batch), len(anchors)), np.float32)
    step = block_rows(batch.shape[1], len(anchors))
    for start in range(0, len(batch), step):
        squares = scaled_squares(batch[start : start + step], anchors, scale, n_threads)
        np.exp(-squares, out=features[start : start + step])
    return features


def scaled_squares(batch: F32, anchors: F32, scale: F32, n_threads: int | None) -> F32:
    """(scale · distance)² ``(n, n_anchors)`` of vectors to anchors, at most 1e4 and exact to about 1e-6 of |x|².

    Both are first moved to the anchors' mean and scaled. Sums have one order, so that a vector's distances do not
    depend on those that come along.
    """
    origin = anchors.mean(axis=0, dtype=np.float64).astype(np.float32)
    with np.errstate(over="ignore", invalid="ignore"):
        points, places = ((rows - origin) * scale for rows in (batch, anchors))
        lengths = np.square(points).sum(axis=1, keepdims=True)
        bias = np.square(places).sum(axis=1) / np.float32(-2)
        squares = _kernels.project(points, places, bias, None, _kernels.resolve_threads(n_threads))
        squares *= np.float32(-2)
        squares += lengths
    np.fmax(squares, 0, out=squares)
    np.fmin(squares, np.float32(1e4), out=squares)
    return squares


def distance_scale(data: VectorBatches, anchors: F32, gamma: float) -> F32:
    """sqrt(gamma / mean d²) ``(1,)``, with the mean over all vectors and anchors."""
    origin = anchors.mean(axis=0, dtype=np.float64).astype(np.float32)
    total = 0.0
    for _, part in parts(data):
        total += float(np.square(part.astype(np.float64) - origin).sum())
    places = anchors.astype(np.float64) - origin
    mean = total / data.n_rows + float(np.square(places).sum()) / len(anchors)
    if not mean > np.square(1e-6 * np.abs(origin.astype(np.float64)).max()):
        raise InvalidInputError("all vectors are the same, so that there is nothing to tell apart; is X constant?")
    with np.errstate(over="ignore", under="ignore"):
        scale = np.array([np.sqrt(gamma / mean)], np.float32)
    if not (np.isfinite(scale[0]) and scale[0] > 0):
        raise InvalidInputError(f"X spreads by {np.sqrt(mean):g}, which float32 cannot scale; scale it")
    return scale


def take_rows(data: VectorBatches, rows: I64) -> F32:
    """Some rows as vectors, checked."""
    return as_vectors(data.array[rows], name=data.name)


def some_rows(rng: np.random.RandomState, n: int, most: int) -> I64:
    """All row numbers below ``n``, or ``most`` random ones if there are more, ascending."""
    return np.arange(n) if n <= most else np.sort(rng.choice(n, most, replace=False)).astype(np.int64)


def block_rows(*widths: int) -> int:
    """How many rows of these widths to take at once."""
    return max(1, BLOCK_FLOATS // max(widths))
