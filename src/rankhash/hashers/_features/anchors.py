"""RBF features: kernel values of vectors with anchors, and the base of the hashers that project such features.

::

    x ─▶ |x - a|² per anchor a ─▶ exp(-gamma |x - a|² / mean |x - a|²) ─▶ minus the mean ─▶ whitened if ``whiten``
                                  └── kernel(X) ──┘                       └─────────── transform(X) ──────────┘
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from ... import _kernels
from ..._types import F32, F64, I64, U8
from ...errors import InvalidInputError
from ...vectors import VectorBatches, batches
from .._blocks import block_rows, parts
from ..base import Arrays, Hasher
from ..training import CONSTANT, sample_rows, take_rows

if TYPE_CHECKING:
    from typing_extensions import Self

    from ...codes import CodeLayout


STATISTICS_POINTS = 100_000
"""Size of the random sample that gives the mean and the whitening of the features of larger training sets."""

RIDGE = 0.01
"""Default ridge of the whitening, relative to the mean variance of the features."""

GAMMA = 2.0
"""Default width of the kernel."""

MAX_SQUARE = np.float32(1e4)
"""Scaled squared distances are clipped here; exp(-1e4) is 0."""


class RBFAnchors:
    """Centred RBF kernel values of vectors with ``n_anchors`` random training vectors.

    A feature is exp(-gamma d² / mean d²) minus its mean, with d the distance to the anchor and mean d² over all
    fitted vectors and anchors. The features of a vector do not depend on the other vectors of a call, on the
    number of threads or on the scale of the vectors.

    Parameters
    ----------
    n_anchors
        Number of anchors, 300 by default; all fitted vectors if there are fewer.
    whiten
        Whether features are multiplied by (C + ridge · mean variance)^-½, with C their covariance. False by default.
    ridge
        Ridge of the whitening, 0.01 by default.
    gamma
        Width of the kernel, 2 by default.
    random_state
        An integer, a RandomState, or None (the default).

    Attributes
    ----------
    anchors_ : ndarray (n_anchors, d)
        The anchors.
    scale_ : ndarray (1,)
        Distances are multiplied by it: sqrt(gamma / mean d²).
    mean_ : ndarray (n_anchors,)
        The mean kernel values, which are subtracted.
    whitening_ : ndarray (n_anchors, n_anchors) or None
        The symmetric whitening matrix.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(500, 8))
    >>> rbf = RBFAnchors(20, whiten=True, random_state=0).fit(X)
    >>> features = rbf.transform(X)
    >>> features.shape, features.dtype, bool(np.abs(features.mean(axis=0)).max() < 1e-3)
    ((500, 20), dtype('float32'), True)
    >>> weights = np.ones((3, 20), np.float32)
    >>> projected = (rbf.kernel(X) - rbf.mean_) @ rbf.kernel_weights(weights).T
    >>> bool(np.abs(projected - features @ weights.T).max() < 1e-3)
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
        self,
        n_anchors: int = 300,
        *,
        whiten: bool = False,
        ridge: float = RIDGE,
        gamma: float = GAMMA,
        random_state: Any = None,
    ) -> None:
        self.n_anchors = n_anchors
        self.whiten = whiten
        self.ridge = ridge
        self.gamma = gamma
        self.random_state = random_state

    def fit(self, X: Any) -> Self:
        """This object, after it has drawn anchors from ``X`` and measured scale, mean and whitening."""
        data = X if isinstance(X, VectorBatches) else batches(X)
        if data.n_rows < 2:
            raise InvalidInputError("distances need 2 vectors or more, but there is 1 sample: n_samples=1")
        data.check()
        rng = check_random_state(self.random_state)
        self.anchors_ = take_rows(data, sample_rows(rng, data.n_rows, self.n_anchors)) + np.float32(0)  # no -0
        self.scale_ = distance_scale(data, self.anchors_, self.gamma)
        rows = sample_rows(rng, data.n_rows, STATISTICS_POINTS)
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
        roots = np.sqrt(variances + max(self.ridge * variances.mean(), np.finfo(np.float64).tiny))
        whitening: F64 = (axes / roots) @ axes.T
        return whitening.astype(np.float32)

    def _blocks(self, data: VectorBatches, rows: I64) -> Iterator[F32]:
        """Kernel values of some rows, in blocks."""
        step = block_rows(data.n_features, len(self.anchors_))
        for start in range(0, len(rows), step):
            yield self.kernel(take_rows(data, rows[start : start + step]))

    def kernel(self, X: Any, *, n_threads: int | None = None) -> F32:
        """The kernel values ``(n, n_anchors)``, 0 to 1: features before centring and whitening."""
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

    def kernel_weights(self, weights: NDArray[np.floating]) -> F32:
        """Weights of ``kernel(X) - mean_`` that equal the weights ``(rows, n_anchors)`` of ``transform(X)``."""
        unwhitened = weights if self.whitening_ is None else weights.astype(np.float64) @ self.whitening_
        return unwhitened.astype(np.float32)

    def arrays(self) -> Arrays:
        """The learned arrays by name, from which ``from_arrays`` restores the features."""
        names = ("anchors_", "scale_", "mean_", "whitening_")
        return {name: getattr(self, name) for name in names if getattr(self, name) is not None}

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> Self:
        """The fitted features that these arrays describe."""
        features = cls(len(arrays["anchors_"]), whiten="whitening_" in arrays)
        features.anchors_, features.scale_, features.mean_ = (arrays[n] for n in ("anchors_", "scale_", "mean_"))
        features.whitening_ = arrays.get("whitening_")
        return features


class KernelHasher(Hasher):
    """A hasher that projects kernel values; without anchors it projects the vectors themselves.

    Attributes
    ----------
    anchors_, scale_
        The anchors and the scale of distances, as of ``RBFAnchors``; None if vectors are projected themselves.
    center_ : ndarray (n_anchors,)
        The mean kernel values.
    projections_ : ndarray (rows, n_anchors)
        The weights of the kernel values.
    """

    anchors_: F32 | None
    scale_: F32 | None

    _code_arrays: ClassVar[tuple[str, ...]] = ("projections_", "bias_", "center_", "anchors_", "scale_")

    _needs_anchors: ClassVar[bool] = True
    """Whether a file without anchors is refused."""

    def _features(self, batch: F32) -> F32:
        if self.anchors_ is None or self.scale_ is None:
            return batch
        return rbf(batch, self.anchors_, self.scale_, None)

    def _encode_batch(self, batch: F32, n_threads: int) -> tuple[U8, int]:
        if self.anchors_ is None or self.scale_ is None:
            return super()._encode_batch(batch, n_threads)
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
        n_rows = layout.n_symbols * (1 if layout.arity == 2 else layout.arity)
        if "center_" not in arrays or len(arrays.get("projections_", ())) != n_rows:
            return False
        if not self._needs_anchors and not {"anchors_", "scale_"} & arrays.keys():
            return super()._fits(arrays, layout, n_features)
        anchors, scale = arrays.get("anchors_", np.empty(0)), arrays.get("scale_", np.empty(0))
        return (
            anchors.ndim == 2
            and anchors.shape[1] == n_features
            and scale.shape == (1,)
            and bool(scale[0] > 0)
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
    """(scale · distance)² ``(n, n_anchors)`` of vectors to anchors, at most 1e4, exact to about 1e-6 of |x|².

    Vectors and anchors are first moved by the anchors' mean and scaled. Sums have a fixed order: the distances of a
    vector do not depend on the other vectors of the batch.
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
    np.fmin(squares, MAX_SQUARE, out=squares)
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
        raise InvalidInputError(CONSTANT)
    with np.errstate(over="ignore", under="ignore"):
        scale = np.array([np.sqrt(gamma / mean)], np.float32)
    if not (np.isfinite(scale[0]) and scale[0] > 0):
        raise InvalidInputError(f"X spreads by {np.sqrt(mean):g}, which float32 cannot scale; scale it")
    return scale
