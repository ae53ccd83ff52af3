"""Iterative quantisation: principal components, rotated to be as close to ±1 as possible."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._checks import check_integer
from ._features.orthogonal import orthonormal_rows
from ._features.pca import principal_axes, sample_components
from ._features.rotation import improve_rotation
from .base import Arrays, Hasher
from .training import Training


class ITQ(Hasher):
    """Binary codes: the signs of principal components after the rotation that brings them closest to ±1.

    Learned without labels [1]_: the vectors are centred and reduced to ``n_symbols`` principal components V. Then the
    signs B = sign(VR) and the rotation R that minimises |B - VR|² are computed in turn.

    Parameters
    ----------
    n_symbols
        Bits per code, 1 to 4096; None by default. With more bits than dimensions, a case that the authors leave open,
        all dimensions are kept and padded with zeros: R then has orthonormal rows instead of being square. Several
        rotations side by side were neither better nor worse.
    n_bits, n_bytes
        The size of a code in bits or bytes instead; None by default. Without any of the three, a code has 64 bits.
    n_iterations
        Number of updates of signs and rotation, 50 by default. The loss never rises.
    max_points
        Largest number of vectors that the rotation is learned from, 100 000 by default; of more, a random sample. Mean
        and principal axes come from all vectors.
    random_state
        An integer for the same codes in every run, a RandomState, or None (the default).

    Attributes
    ----------
    projections_ : ndarray (n_symbols, n_features_in_)
        The rotated principal axes: orthonormal rows if there are at most as many bits as dimensions.
    center_ : ndarray (n_features_in_,)
        The mean of the fitted vectors.
    history_ : dict of lists
        ``step`` and ``loss``: the mean of |b - vR|² over the vectors after each iteration, for components of mean
        variance 1. It is not saved.
    layout_, n_features_in_, feature_names_in_
        As for every hasher; codes have arity 2.

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
    >>> bool(hasher.history_["loss"][-1] < hasher.history_["loss"][0])
    True
    """

    _code_arrays = ("projections_", "center_")
    _rotates = True

    def __init__(
        self,
        n_symbols: int | None = None,
        *,
        n_bits: int | None = None,
        n_bytes: int | None = None,
        n_iterations: int = 50,
        max_points: int = 100_000,
        random_state: Any = None,
    ) -> None:
        super().__init__(n_symbols, n_bits=n_bits, n_bytes=n_bytes, random_state=random_state)
        self.n_iterations = n_iterations
        self.max_points = max_points

    def _check_parameters(self) -> None:
        check_integer("n_iterations", self.n_iterations, 1, 1_000_000)
        check_integer("max_points", self.max_points, 1, 2**31 - 1)

    def _learn(self, training: Training, rng: np.random.RandomState) -> Arrays:
        principal = principal_axes(training.vectors, self._n_symbols)
        components = sample_components(training.vectors, principal, self.max_points, rng)
        start = orthonormal_rows(rng, self._n_symbols, self._n_symbols)[: components.shape[1]]
        rotation, losses = improve_rotation(components, start, self.n_iterations)
        self.history_ = {"step": list(range(self.n_iterations)), "loss": losses.tolist()}
        return {"projections_": (rotation.T @ principal.axes).astype(np.float32), "center_": principal.mean}
