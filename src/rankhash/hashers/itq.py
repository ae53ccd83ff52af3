"""Iterative quantisation: principal axes, rotated until their signs say as much as possible."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._base import F32, F64, Arrays, Hasher, Training
from ._parameters import check_integer
from ._pca import principal_axes, project_some
from .lsh import _block

ROWS = 8192
"""Vectors that are rotated at once, so that memory does not grow with their number."""


class ITQ(Hasher):
    """Codes of bits: the signs of principal components after the rotation that brings them closest to ±1.

    Learned without labels [1]_: the vectors are centred and reduced to ``n_symbols`` principal components V;
    then the signs B = sign(VR) and the rotation R that minimises |B - VR|² are found in turn.

    Parameters
    ----------
    n_symbols
        Bits of a code, 1 to 4096. If there are more bits than dimensions, all dimensions are kept and padded
        with zeros before the rotation, which the authors leave open: R then has orthonormal rows instead of
        being square. Several rotations side by side are neither better nor worse.
    n_iterations
        How often signs and rotation are improved. The loss never rises.
    max_points
        From more vectors than this, the rotation is learned on a random sample; mean and principal axes
        always come from all of them.
    random_state
        An integer for the same first rotation in every run, a RandomState, or None.

    Attributes
    ----------
    projections_ : ndarray (n_symbols, n_features_in_)
        The rotated principal axes; orthonormal rows, if there are no more bits than dimensions.
    center_ : ndarray (n_features_in_,)
        The mean of the fitted vectors.
    losses_ : ndarray (n_iterations,)
        The mean of |b - vR|² over the vectors after each iteration, in units in which the components have
        the variance 1 on average. It is not saved.
    layout_ : CodeLayout
        The layout of the codes: ``n_symbols`` of arity 2.
    n_features_in_ : int
        Columns of the vectors that were fitted.
    feature_names_in_ : ndarray of str
        Their names, if the vectors came as a frame with names.

    References
    ----------
    .. [1] Y. Gong, S. Lazebnik, A. Gordo, F. Perronnin, Iterative quantization: a Procrustean approach to
       learning binary codes for large-scale image retrieval, TPAMI 35(12), 2013.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(500, 16)) * np.linspace(2, 1, 16)
    >>> hasher = ITQ(8, random_state=0).fit(X)
    >>> hasher.transform(X).shape, hasher.encode(X).shape
    ((500, 8), (500, 1))
    >>> bool(hasher.losses_[-1] < hasher.losses_[0])
    True
    """

    _code_arrays = ("projections_", "center_")
    losses_: F64

    def __init__(
        self, n_symbols: int = 32, *, n_iterations: int = 50, max_points: int = 100_000, random_state: Any = None
    ) -> None:
        self.n_symbols = n_symbols
        self.n_iterations = n_iterations
        self.max_points = max_points
        self.random_state = random_state

    def _check_parameters(self) -> None:
        check_integer("n_iterations", self.n_iterations, 1, 1_000_000)
        check_integer("max_points", self.max_points, 1, 2**31 - 1)

    def _learn(self, training: Training, rng: np.random.RandomState) -> Arrays:
        principal = principal_axes(training.vectors, self.n_symbols)
        components = project_some(training.vectors, principal, self.max_points, rng)
        start = _block(rng, self.n_symbols, self.n_symbols)[: components.shape[1]]
        rotation, losses = improve_rotation(components, start, self.n_iterations)
        self.losses_ = losses
        return {"projections_": (rotation.T @ principal.axes).astype(np.float32), "center_": principal.mean}


def improve_rotation(components: F32, rotation: F64, n_iterations: int) -> tuple[F64, F64]:
    """The rotation ``(k, n_symbols)`` after some iterations from a first one, and the mean loss after each.

    The loss |B - VR|² = n · n_symbols + |V|² - 2 tr(BᵀVR) is least for given signs B where the trace is
    largest: at R = QPᵀ if BᵀV = PSQᵀ is the singular value decomposition; the trace then is the sum of S.
    """
    n, n_symbols = len(components), rotation.shape[1]
    square = float(np.einsum("ij,ij->", components, components, dtype=np.float64)) / n
    losses = np.empty(n_iterations)
    for iteration in range(n_iterations):
        left, strengths, right = np.linalg.svd(_signs_by_components(components, rotation) / n, full_matrices=False)
        rotation = right.T @ left.T
        losses[iteration] = n_symbols + square - 2 * strengths.sum()
    return rotation, losses


def _signs_by_components(components: F32, rotation: F64) -> F64:
    """BᵀV ``(n_symbols, k)`` for the signs B of VR; 0 counts as positive."""
    total = np.zeros(rotation.T.shape)
    turn = rotation.astype(np.float32)
    for start in range(0, len(components), ROWS):
        part = components[start : start + ROWS]
        signs = np.where(part @ turn >= 0, np.float32(1), np.float32(-1))
        total += signs.T @ part
    return total
