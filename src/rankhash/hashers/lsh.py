"""Random hyperplanes: locality-sensitive hashing for the angle, without learning."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._checks import check_flag
from ._features.orthogonal import orthogonal_directions, random_directions
from .base import Arrays, Hasher
from .training import Training, data_center


class LSH(Hasher):
    """Binary codes: the sides of random hyperplanes.

    Two vectors at the angle θ agree in a bit with probability 1 - θ/π [1]_, so that the distance of codes estimates
    the angle. The length of a vector has no effect.

    Parameters
    ----------
    n_symbols, n_bits, n_bytes
        The size of a code, 1 to 4096 bits, in symbols, bits or bytes; 64 bits if all are None (the default).
    orthogonal
        Whether the normals are orthogonal to each other [2]_, which lowers the variance of the estimated angle. With
        more hyperplanes than dimensions they come in orthogonal blocks. False by default.
    center
        Whether the mean of the fitted vectors is subtracted first. Codes are then better balanced if all vectors lie
        on one side of the origin, such as counts or pixels, but the angle is no longer that of the cosine similarity.
        False by default, as in the theory and in other libraries.
    random_state
        An integer for the same codes in every run, a RandomState, or None (the default).

    Attributes
    ----------
    projections_ : ndarray (n_symbols, n_features_in_)
        The unit normals of the hyperplanes.
    center_ : ndarray (n_features_in_,) or None
        The mean of the fitted vectors, if ``center``.
    layout_, n_features_in_, feature_names_in_
        As for every hasher; codes have arity 2.

    References
    ----------
    .. [1] M. Charikar, Similarity estimation techniques from rounding algorithms, STOC 2002.
    .. [2] J. Ji et al., Super-bit locality-sensitive hashing, NIPS 2012.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(100, 8))
    >>> hasher = LSH(32, random_state=0).fit(X)
    >>> hasher.transform(X).shape, hasher.encode(X).shape
    ((100, 32), (100, 4))
    >>> bool((hasher.encode(3 * X) == hasher.encode(X)).all())
    True
    """

    _code_arrays = ("projections_", "center_")

    def __init__(
        self,
        n_symbols: int | None = None,
        *,
        n_bits: int | None = None,
        n_bytes: int | None = None,
        orthogonal: bool = False,
        center: bool = False,
        random_state: Any = None,
    ) -> None:
        super().__init__(n_symbols, n_bits=n_bits, n_bytes=n_bytes, random_state=random_state)
        self.orthogonal = orthogonal
        self.center = center

    def _check_parameters(self) -> None:
        check_flag("orthogonal", self.orthogonal)
        check_flag("center", self.center)

    def _learn(self, training: Training, rng: np.random.RandomState) -> Arrays:
        draw = orthogonal_directions if self.orthogonal else random_directions
        normals = draw(rng, self._n_symbols, training.vectors.n_features)
        arrays: Arrays = {"projections_": normals.astype(np.float32)}
        center = data_center(training.vectors, centered=self.center)
        return arrays | {"center_": center} if self.center else arrays
