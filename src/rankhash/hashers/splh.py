"""Sequential projection learning: each hyperplane corrects the errors of those before."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from .._checks import check_integer, check_number
from .._types import F32, F64
from ..errors import InvalidInputError
from ..similarity import similarity_matrix
from ._blocks import check_square
from .base import Arrays, Hasher
from .training import Training, center_and_scale, labelled_points, new_generator, sample_rows

UNLABELLED_POINTS = 20_000
"""Largest number of vectors that give the covariance, or that are learned from without labels."""

MIN_VARIANCE = 1e-6
"""When less than this fraction of the variance is left, deflation starts again from the whole covariance."""

MOST_DENSE = 512
"""Largest number of dimensions for which all eigenvectors are computed to find the first."""

LANCZOS_TOLERANCE = 1e-6
"""Relative to the eigenvalue; pairs are summed in float32."""

SUPERVISED_ETA, UNSUPERVISED_ETA = 0.1, 0.5
"""Default of ``eta``, supervised and unsupervised."""


class SPLH(Hasher):
    """Binary codes from hyperplanes that are learned one after another, each correcting the errors of those before.

    With classes or given pairs, a direction maximises the fit to the similarity S of labelled vectors plus the variance
    of all vectors [1]_; then the weight of misclassified pairs grows. Without labels, the last direction gives
    pseudo-pairs: vectors on both sides close to its threshold are similar; two vectors on one side, one close to the
    threshold and one far from it, are dissimilar. The variance is deflated by each direction.

    Parameters
    ----------
    n_symbols
        Bits per code, 1 to 4096; None by default. If no variance is left, deflation starts again.
    n_bits, n_bytes
        The size of a code in bits or bytes instead; None by default. Without any of the three, a code has 64 bits.
    eta
        Weight of the variance (supervised), or of the pseudo-pairs (unsupervised). None, the default, takes 0.1 and
        0.5.
    alpha
        Growth of the weight of misclassified pairs, 0.5 by default; supervised only.
    n_boundary
        Vectors close to and far from the threshold, on either side; 2000 by default, at most a quarter of those on a
        side. Unsupervised only.
    max_points
        Largest number of labelled vectors to learn from, 2000 by default; of more, a random sample.
    random_state
        An integer for the same codes in every run, a RandomState, or None (the default).

    Attributes
    ----------
    projections_ : ndarray (n_symbols, n_features_in_)
        The unit normals of the hyperplanes.
    bias_ : ndarray (n_symbols,)
        Minus the thresholds, which are medians if learned without labels, else 0.
    center_ : ndarray (n_features_in_,)
        The mean of the fitted vectors.
    layout_, n_features_in_, feature_names_in_
        As for every hasher; codes have arity 2.

    References
    ----------
    .. [1] J. Wang, S. Kumar, S.-F. Chang, Sequential projection learning for hashing with compact codes, ICML 2010.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> hasher = SPLH(16, random_state=0).fit(X, y)
    >>> hasher.transform(X).shape, hasher.encode(X).shape
    ((1797, 16), (1797, 2))
    """

    center_: F32
    bias_: F32

    _code_arrays = ("projections_", "bias_", "center_")
    _rotates = True

    def __init__(
        self,
        n_symbols: int | None = None,
        *,
        n_bits: int | None = None,
        n_bytes: int | None = None,
        eta: float | None = None,
        alpha: float = 0.5,
        n_boundary: int = 2000,
        max_points: int = 2000,
        random_state: Any = None,
    ) -> None:
        super().__init__(n_symbols, n_bits=n_bits, n_bytes=n_bytes, random_state=random_state)
        self.eta = eta
        self.alpha = alpha
        self.n_boundary = n_boundary
        self.max_points = max_points

    def _check_parameters(self) -> None:
        if self.eta is not None:
            check_number("eta", self.eta, 0, 1e9)
        check_number("alpha", self.alpha, 0, 1e9)
        check_integer("n_boundary", self.n_boundary, 1, 1_000_000)
        check_integer("max_points", self.max_points, 3, 20_000)

    def _learn(self, training: Training, rng: np.random.RandomState) -> Arrays:
        data = training.vectors
        if data.n_rows < 2:
            raise InvalidInputError("SPLH learns to tell vectors apart, but there is 1 sample: n_samples=1")
        check_square(data.n_features)
        center = data.mean()
        x, scale = center_and_scale(data, sample_rows(rng, data.n_rows, UNLABELLED_POINTS), center)
        points = x.astype(np.float64)
        if not training.is_labelled:
            boundary = Boundary(points, UNSUPERVISED_ETA if self.eta is None else self.eta, self.n_boundary)
            normals, thresholds = boundary.learn(self._n_symbols)
        else:
            labelled = labelled_points(training, "SPLH", new_generator(rng), self.max_points, 1, sample_given=True)
            similar = similarity_matrix(labelled.source).matrix()
            known = (labelled.x * (labelled.scale / scale)).astype(np.float64)
            eta = SUPERVISED_ETA if self.eta is None else self.eta
            normals = correct_pairs(known, similar, points.T @ points / len(points), self._n_symbols, eta, self.alpha)
            thresholds = np.zeros(self._n_symbols)
        lengths = np.maximum(np.linalg.norm(normals, axis=1), np.finfo(float).tiny)
        arrays: Arrays = {"projections_": (normals / lengths[:, None]).astype(np.float32), "center_": center}
        return arrays | {"bias_": (-thresholds / lengths * scale).astype(np.float32)}


def correct_pairs(x: F64, similar: F32, covariance: F64, n_bits: int, eta: float, alpha: float) -> F64:
    """The directions ``(n_bits, d)`` for labelled vectors ``(n, d)`` and their similarity, which is overwritten.

    Each is the top eigenvector of X'SX/|S| + eta C, with C the deflated covariance. Then S changes by alpha times the
    products Xww'X' of the misclassified pairs, relative to their mean size.
    """
    spread, n_known, normals = covariance, int(np.count_nonzero(similar)), np.empty((n_bits, x.shape[1]))
    for bit in range(n_bits):
        normals[bit] = top_direction(partial(_pulled, x, similar, n_known, eta, spread), x.shape[1])
        along = (x @ normals[bit]).astype(np.float32)
        along /= max(float(np.abs(along).mean()), np.finfo(np.float32).tiny)
        products = np.outer(along, along)
        similar -= np.float32(alpha) * np.where(products * similar < 0, products, np.float32(0))
        spread = deflate(spread, normals[bit], covariance)
    return normals


def _pulled(x: F64, similar: F32, n_known: int, eta: float, spread: F64, directions: F64) -> F64:
    """The product of X'SX/|S| + eta C with directions ``(d, k)``."""
    pulled: F64 = x.T @ (similar @ (x @ directions).astype(np.float32)).astype(np.float64) / n_known
    pulled += eta * (spread @ directions)
    return pulled


def deflate(spread: F64, direction: F64, whole: F64) -> F64:
    """A covariance deflated by a direction, from both sides; the whole covariance if nothing is left."""
    along = spread @ direction
    left = spread - np.outer(direction, along)
    left -= np.outer(left @ direction, direction)
    return left if np.trace(left) > MIN_VARIANCE * np.trace(whole) else whole


class Boundary:
    """Learning without labels, from pseudo-pairs at the boundary of the last bit."""

    def __init__(self, x: F64, eta: float, n_boundary: int) -> None:
        self._x, self._eta, self._n_boundary = x, eta, n_boundary

    def learn(self, n_bits: int) -> tuple[F64, F64]:
        """Directions ``(n_bits, d)`` and thresholds ``(n_bits,)``, the medians along them."""
        d = self._x.shape[1]
        normals, thresholds = np.empty((n_bits, d)), np.empty(n_bits)
        covariance, pull = self._x.T @ self._x / len(self._x), np.zeros((d, d))
        spread = covariance
        for bit in range(n_bits):
            normals[bit] = top_direction((spread + self._eta * pull).__matmul__, d)
            along = self._x @ normals[bit]
            thresholds[bit] = np.median(along)
            pull = self._eta * pull + self.boundary_pull(along - thresholds[bit])
            spread = deflate(spread, normals[bit], covariance)
        return normals, thresholds

    def boundary_pull(self, along: F64) -> F64:
        """The mean of ab' + ba' ``(d, d)`` over similar pseudo-pairs (a, b), minus that over dissimilar ones.

        Similar are the vectors closest to the threshold on both sides, dissimilar the closest and farthest of one side.
        """
        near, far = [], []
        for side in (np.flatnonzero(along <= 0), np.flatnonzero(along > 0)):
            order = side[np.argsort(np.abs(along[side]), kind="stable")]
            size = min(self._n_boundary, len(order) // 4)
            near.append(self._x[order[:size]])
            far.append(self._x[order[len(order) - size :]])
        together = np.outer(near[0].sum(axis=0), near[1].sum(axis=0)) / max(len(near[0]) * len(near[1]), 1)
        n_apart = max(sum(len(a) * len(b) for a, b in zip(near, far, strict=True)), 1)
        apart = sum(np.outer(a.sum(axis=0), b.sum(axis=0)) for a, b in zip(near, far, strict=True)) / n_apart
        pull: F64 = together - apart
        both: F64 = pull + pull.T
        return both


def top_direction(product: Callable[[F64], F64], d: int) -> F64:
    """The unit eigenvector of the largest eigenvalue; its largest entry is positive.

    The symmetric matrix is given by its ``product`` with directions ``(d, k)``. It is written out for few dimensions
    only; for more, Lanczos iterations take a small part of the time.
    """
    if d <= MOST_DENSE:
        top: F64 = np.linalg.eigh(product(np.eye(d)))[1][:, -1]
    else:
        from scipy.sparse.linalg import LinearOperator, eigsh

        operator = LinearOperator((d, d), matvec=lambda v: product(v.reshape(d, 1)).ravel(), dtype=np.float64)
        start = np.random.default_rng(0).standard_normal(d)
        top = eigsh(operator, 1, which="LA", v0=start, tol=LANCZOS_TOLERANCE)[1][:, 0]
    top *= np.sign(top[np.abs(top).argmax()])
    return top
