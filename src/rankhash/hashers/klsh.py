"""Kernelised LSH: random hyperplanes in the space of a kernel, without its coordinates."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._base import F64, Arrays, Training
from ._kernel import KernelHasher, RBFAnchors
from ._parameters import check_integer, check_number

LEAST = 1e-5
"""Directions of the kernel's space with a smaller eigenvalue than this part of the largest are left out: kernel values
in single precision say nothing of them."""


class KLSH(KernelHasher):
    """Codes of bits that tell on which side of random hyperplanes a vector lies in the space of a kernel.

    The kernel is exp(-gamma d² / mean d²), with d the distance of two vectors. A hyperplane's normal is the mean of
    some random anchors, seen from the mean of all and made as random as a Gaussian one by K^-½ [1]_. Two vectors at
    the angle θ in that space, seen from the anchors' mean, agree in a bit with a probability near 1 - θ/π.

    Parameters
    ----------
    n_symbols
        Bits of a code, 1 to 4096.
    n_anchors
        Random training vectors that span the space; if there are fewer vectors, all of them.
    n_chosen
        How many of the anchors make a normal; None takes 30, or a quarter of the anchors if that is less.
    gamma
        How fast the kernel falls with the distance.
    random_state
        An integer for the same hyperplanes in every run, a RandomState, or None.

    Attributes
    ----------
    projections_ : ndarray (n_symbols, n_anchors)
        The weights of the kernel values.
    center_ : ndarray (n_anchors,)
        The mean kernel value of the anchors with each anchor.
    anchors_, scale_ : ndarray (n_anchors, n_features_in_), ndarray (1,)
        The anchors, and what distances to them are multiplied with.
    layout_ : CodeLayout
        The layout of the codes: ``n_symbols`` of arity 2.
    n_features_in_, feature_names_in_
        Columns of the vectors that were fitted, and their names if they had any.

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
        n_symbols: int = 64,
        *,
        n_anchors: int = 300,
        n_chosen: int | None = None,
        gamma: float = 1.0,
        random_state: Any = None,
    ) -> None:
        self.n_symbols = n_symbols
        self.n_anchors = n_anchors
        self.n_chosen = n_chosen
        self.gamma = gamma
        self.random_state = random_state

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
        chosen = np.zeros((self.n_symbols, n))
        for row in chosen:
            row[rng.choice(n, min(n_chosen, n), replace=False)] = 1
        arrays: Arrays = {"projections_": random_normals(kernel, chosen).astype(np.float32)}
        arrays["center_"] = kernel.mean(axis=0).astype(np.float32)
        return arrays | {"anchors_": rbf.anchors_, "scale_": rbf.scale_}


def random_normals(kernel: F64, chosen: F64) -> F64:
    """Weights ``(n_symbols, m)`` of centred kernel values; ``chosen`` marks each normal's anchors by 1.

    K^-½ of the centred kernel makes the mean of t chosen anchors, times √t, nearly a standard Gaussian vector. Rows sum
    to 0, so that kernel values of a vector need no centring of their own.
    """
    n = len(kernel)
    centred = kernel - kernel.mean(axis=0) - kernel.mean(axis=1, keepdims=True) + kernel.mean()
    values, axes = np.linalg.eigh(centred)
    kept = values > LEAST * values[-1]
    root = (axes[:, kept] / np.sqrt(values[kept])) @ axes[:, kept].T
    normals: F64 = np.sqrt((n - 1) / chosen.sum(axis=1, keepdims=True)) * (chosen @ root)
    return normals
