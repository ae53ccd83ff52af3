"""Kernelised LSH: random hyperplanes in the feature space of a kernel."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._checks import check_integer, check_number
from .._types import F64
from ._features.anchors import KernelHasher, RBFAnchors
from .base import Arrays
from .training import Training

MIN_EIGENVALUE = 1e-5
"""Directions with a smaller eigenvalue, relative to the largest, are dropped: kernel values in single precision do not
resolve them."""


class KLSH(KernelHasher):
    """Binary codes: the sides of random hyperplanes in the feature space of a kernel.

    The kernel is exp(-gamma d² / mean d²), with d the distance of two vectors. The normal of a hyperplane is the
    centred mean of some random anchors, multiplied by K^-½, which makes it nearly Gaussian [1]_. Two vectors at the
    angle θ in the centred feature space agree in a bit with a probability near 1 - θ/π.

    Parameters
    ----------
    n_symbols, n_bits, n_bytes
        The size of a code, 1 to 4096 bits, in symbols, bits or bytes; 64 bits if all are None (the default).
    n_anchors
        Random training vectors that span the space, 300 by default; all vectors if there are fewer.
    n_chosen
        Anchors per normal; None (the default) takes 30, or a quarter of the anchors if that is less.
    gamma
        Width of the kernel, 1 by default.
    random_state
        An integer for the same codes in every run, a RandomState, or None (the default).

    Attributes
    ----------
    projections_ : ndarray (n_symbols, n_anchors)
        The weights of the kernel values.
    center_ : ndarray (n_anchors,)
        The mean kernel value of the anchors with each anchor.
    anchors_, scale_ : ndarray (n_anchors, n_features_in_), ndarray (1,)
        The anchors, and the factor of distances to them.
    layout_, n_features_in_, feature_names_in_
        As for every hasher; codes have arity 2.

    References
    ----------
    .. [1] B. Kulis, K. Grauman, Kernelized locality-sensitive hashing, TPAMI 34(6), 2012.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(500, 8))
    >>> hasher = KLSH(32, random_state=0).fit(X)
    >>> hasher.transform(X).shape, hasher.encode(X).shape
    ((500, 32), (500, 4))
    """

    def __init__(
        self,
        n_symbols: int | None = None,
        *,
        n_bits: int | None = None,
        n_bytes: int | None = None,
        n_anchors: int = 300,
        n_chosen: int | None = None,
        gamma: float = 1.0,
        random_state: Any = None,
    ) -> None:
        super().__init__(n_symbols, n_bits=n_bits, n_bytes=n_bytes, random_state=random_state)
        self.n_anchors = n_anchors
        self.n_chosen = n_chosen
        self.gamma = gamma

    def _check_parameters(self) -> None:
        check_integer("n_anchors", self.n_anchors, 2, 10_000)
        if self.n_chosen is not None:
            check_integer("n_chosen", self.n_chosen, 1, self.n_anchors)
        check_number("gamma", self.gamma, 1e-6, 1e6)

    def _learn(self, training: Training, rng: np.random.RandomState) -> Arrays:
        rbf = RBFAnchors(self.n_anchors, gamma=self.gamma, random_state=rng).fit(training.vectors)
        kernel = rbf.kernel(rbf.anchors_).astype(np.float64)
        n = len(kernel)
        n_chosen = self.n_chosen if self.n_chosen is not None else max(1, min(n // 4, 30))
        chosen = np.zeros((self._n_symbols, n))
        for row in chosen:
            row[rng.choice(n, min(n_chosen, n), replace=False)] = 1
        arrays: Arrays = {"projections_": random_normals(kernel, chosen).astype(np.float32)}
        arrays["center_"] = kernel.mean(axis=0).astype(np.float32)
        return arrays | {"anchors_": rbf.anchors_, "scale_": rbf.scale_}


def random_normals(kernel: F64, chosen: F64) -> F64:
    """Weights ``(n_symbols, m)`` of centred kernel values; ``chosen`` is 1 for the anchors of each normal.

    K^-½ of the centred kernel turns √t times the mean of t anchors into a nearly standard Gaussian vector. Rows sum to
    0, so that the kernel values of a vector need not be centred over the anchors.
    """
    n = len(kernel)
    centred = kernel - kernel.mean(axis=0) - kernel.mean(axis=1, keepdims=True) + kernel.mean()
    values, axes = np.linalg.eigh(centred)
    kept = values > MIN_EIGENVALUE * values[-1]
    root = (axes[:, kept] / np.sqrt(values[kept])) @ axes[:, kept].T
    normals: F64 = np.sqrt((n - 1) / chosen.sum(axis=1, keepdims=True)) * (chosen @ root)
    return normals
