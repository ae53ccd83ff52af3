"""Canonical correlations of two views, rotated as in ITQ."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from .._checks import check_integer, check_number
from ._features.orthogonal import orthonormal_rows
from ._features.rotation import improve_rotation
from ._views.linear import inverse_root, view_points
from ._views.projections import ViewProjections
from ._views.training import ViewTraining
from .base import Arrays
from .views import ViewHasher


class CCAITQ(ViewHasher):
    """Binary codes of two views: their canonical components, after the rotation that brings them closest to ±1.

    Learned from paired rows, without labels [1]_. Canonical correlation analysis finds directions of both views whose
    projections correlate most. The components are scaled by their correlation, and those of both views are rotated
    together as in [`ITQ`][rankhash.ITQ].

    Parameters
    ----------
    n_symbols
        Bits per code, 1 to 4096; None by default. With more bits than canonical components the rotation has orthonormal
        rows instead of being square.
    n_bits, n_bytes
        The size of a code in bits or bytes instead; None by default. Without any of the three, a code has 64 bits.
    ridge
        Ridge of both covariances, relative to the mean variance; 0.1 by default.
    n_iterations
        Number of updates of signs and rotation, 50 by default.
    max_points
        Largest number of items to learn from, 100 000 by default; of more, a random sample.
    random_state
        An integer for the same codes in every run, a RandomState, or None (the default).

    Attributes
    ----------
    projections_, center_
        A bit is 1 if ``projections_ · (x - center_)`` is positive; the columns of all views stand side by side, as
        ``widths_`` says.
    layout_, views_, n_features_, n_features_in_
        As for every hasher of several views.

    References
    ----------
    .. [1] Y. Gong, S. Lazebnik, A. Gordo, F. Perronnin, Iterative quantization: a Procrustean approach to learning
       binary codes for large-scale image retrieval, TPAMI 35(12), 2013.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> y, pictures, texts = rng.integers(0, 3, 300), rng.normal(size=(3, 8)), rng.normal(size=(3, 5))
    >>> X, Z = pictures[y] + rng.normal(size=(300, 8)) / 2, texts[y] + rng.normal(size=(300, 5)) / 2
    >>> hasher = CCAITQ(8, random_state=0).fit((X, Z))
    >>> hasher.encode(X, view=0).shape, hasher.encode(Z, view=1).shape
    ((300, 1), (300, 1))
    """

    _max_views: ClassVar[int] = 2

    def __init__(
        self,
        n_symbols: int | None = None,
        *,
        n_bits: int | None = None,
        n_bytes: int | None = None,
        ridge: float = 0.1,
        n_iterations: int = 50,
        max_points: int = 100_000,
        random_state: Any = None,
    ) -> None:
        super().__init__(n_symbols, n_bits=n_bits, n_bytes=n_bytes, random_state=random_state)
        self.ridge = ridge
        self.n_iterations = n_iterations
        self.max_points = max_points

    def _check_parameters(self) -> None:
        check_number("ridge", self.ridge, 1e-9, 1e9)
        check_integer("n_iterations", self.n_iterations, 1, 1_000_000)
        check_integer("max_points", self.max_points, 2, 2**31 - 1)

    def _learn_views(self, training: ViewTraining, rng: np.random.RandomState) -> tuple[list[ViewProjections], Arrays]:
        training.item_pairs()  # labels are not used, but checked
        parts, _ = view_points(training, rng, self.max_points)
        x, z = (part.x for part in parts)
        roots = [inverse_root(part.T @ part / len(part), self.ridge) for part in (x, z)]
        left, correlations, right = np.linalg.svd(roots[0] @ (x.T @ z / len(x)) @ roots[1], full_matrices=False)
        kept = min(self._n_symbols, len(correlations))
        axes = [roots[0] @ left[:, :kept] * correlations[:kept], roots[1] @ right[:kept].T * correlations[:kept]]
        components = np.concatenate([x @ axes[0], z @ axes[1]]).astype(np.float32)
        start = orthonormal_rows(rng, self._n_symbols, self._n_symbols)[:kept]
        rotation, _ = improve_rotation(components, start, self.n_iterations)
        return [part.projections(rotation.T @ axis.T) for part, axis in zip(parts, axes, strict=True)], {}
