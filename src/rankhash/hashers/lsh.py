"""Random hyperplanes: the method that needs no learning and has a theory."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._base import F64, Arrays, Hasher, Training
from ._parameters import check_flag


class LSH(Hasher):
    """Codes of bits that tell on which side of random hyperplanes a vector lies.

    Two vectors at the angle θ agree in a bit with the probability 1 - θ/π [1]_, so that the distance of codes
    estimates the angle. The length of a vector does not matter.

    Parameters
    ----------
    n_symbols
        Bits of a code, 1 to 4096.
    orthogonal
        Whether the hyperplanes are drawn at right angles to each other [2]_: each one alone is as random as
        before, and together they estimate the angle with less variance. If there are more hyperplanes than
        dimensions, they come in several blocks, each orthogonal in itself.
    center
        Whether the mean of the fitted vectors is subtracted first. The angle then is the one seen from the
        mean, which spreads the codes better if all vectors lie on one side of the origin, such as counts or
        pixels, but it is no longer the angle of the cosine similarity. Off by default, because the theory and
        what other libraries call LSH are about that.
    random_state
        An integer for the same hyperplanes in every run, a RandomState, or None.

    Attributes
    ----------
    projections_ : ndarray (n_symbols, n_features_in_)
        The unit normals of the hyperplanes.
    center_ : ndarray (n_features_in_,) or None
        The mean of the fitted vectors, if ``center``.
    layout_ : CodeLayout
        The layout of the codes: ``n_symbols`` of arity 2.
    n_features_in_ : int
        Columns of the vectors that were fitted.
    feature_names_in_ : ndarray of str
        Their names, if the vectors came as a frame with names.

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
        self, n_symbols: int = 64, *, orthogonal: bool = False, center: bool = False, random_state: Any = None
    ) -> None:
        self.n_symbols = n_symbols
        self.orthogonal = orthogonal
        self.center = center
        self.random_state = random_state

    def _check_parameters(self) -> None:
        check_flag("orthogonal", self.orthogonal)
        check_flag("center", self.center)

    def _learn(self, training: Training, rng: np.random.RandomState) -> Arrays:
        draw = _orthogonal_normals if self.orthogonal else _normals
        normals = draw(rng, self.n_symbols, training.vectors.n_features)
        arrays: Arrays = {"projections_": normals.astype(np.float32)}
        if self.center:
            arrays["center_"] = training.vectors.mean()
        else:
            training.vectors.check()
        return arrays


def _normals(rng: np.random.RandomState, n: int, d: int) -> F64:
    """``n`` independent random directions in ``d`` dimensions."""
    normals: F64 = rng.standard_normal((n, d))
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    return normals


def _orthogonal_normals(rng: np.random.RandomState, n: int, d: int) -> F64:
    """``n`` random directions in ``d`` dimensions, every block of up to ``d`` of them orthogonal."""
    return np.concatenate([_block(rng, min(d, n - start), d) for start in range(0, n, d)])


def _block(rng: np.random.RandomState, n: int, d: int) -> F64:
    """``n`` orthogonal directions; the signs make every rotation equally likely."""
    q, r = np.linalg.qr(rng.standard_normal((d, n)))
    block: F64 = np.where(np.diag(r) < 0, -q, q).T
    return block
