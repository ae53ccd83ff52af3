"""Semantic correlation maximisation, bit by bit."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from .._checks import check_integer, check_number
from .._types import F64
from ._views.linear import inverse_root, view_points
from ._views.projections import ViewProjections
from ._views.training import ViewTraining, labels_across
from .base import Arrays
from .views import ViewHasher


class SCM(ViewHasher):
    """Binary codes of two views whose agreement approximates the similarity of the items, learned bit by bit.

    With S = 1 for similar and -1 for dissimilar pairs (0 if unknown), a bit [1]_ maximises the correlation
    wxᵀ Xᵀ R Z wz of both views' projections, with unit variance of each. R = b S - Σ sign(X wx) sign(Z wz)ᵀ is the
    residual of the similarity after the bits so far, for codes of b bits.

    Parameters
    ----------
    n_symbols, n_bits, n_bytes
        The size of a code, 1 to 4096 bits, in symbols, bits or bytes; 64 bits if all are None (the default).
    ridge
        Ridge of both covariances, relative to the mean variance; 0.1 by default.
    max_points
        Largest number of items to learn from, 4000 by default; of more, a random sample. Memory grows with its square.
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
    .. [1] D. Zhang, W.-J. Li, Large-scale supervised multimodal hashing with semantic correlation maximization,
       AAAI 2014.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> y, pictures, texts = rng.integers(0, 3, 300), rng.normal(size=(3, 8)), rng.normal(size=(3, 5))
    >>> X, Z = pictures[y] + rng.normal(size=(300, 8)) / 2, texts[y] + rng.normal(size=(300, 5)) / 2
    >>> hasher = SCM(8, random_state=0).fit((X, Z), y)
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
        max_points: int = 4000,
        random_state: Any = None,
    ) -> None:
        super().__init__(n_symbols, n_bits=n_bits, n_bytes=n_bytes, random_state=random_state)
        self.ridge = ridge
        self.max_points = max_points

    def _check_parameters(self) -> None:
        check_number("ridge", self.ridge, 1e-9, 1e9)
        check_integer("max_points", self.max_points, 2, 20_000)

    def _learn_views(self, training: ViewTraining, rng: np.random.RandomState) -> tuple[list[ViewProjections], Arrays]:
        source = training.item_pairs()
        parts, rows = view_points(training, rng, self.max_points)
        x, z = (part.x for part in parts)
        labels = labels_across(source, rows)
        similarity = np.select([labels == 1, labels == 0], [np.float32(1), np.float32(-1)], np.float32(0))
        residue: F64 = self._n_symbols * (x.T @ (similarity @ z.astype(np.float32)))
        roots = [inverse_root(part.T @ part / len(part), self.ridge) for part in (x, z)]
        bits: list[list[F64]] = [[], []]
        for _ in range(self._n_symbols):
            left, _, right = np.linalg.svd(roots[0] @ residue @ roots[1], full_matrices=False)
            sign = np.sign(left[np.abs(left[:, 0]).argmax(), 0])  # else LAPACK's, which differs by machine
            pair = roots[0] @ (sign * left[:, 0]), roots[1] @ (sign * right[0])
            signs = [np.where(part @ w > 0, 1.0, -1.0) for part, w in zip((x, z), pair, strict=True)]
            residue -= np.outer(x.T @ signs[0], signs[1] @ z)
            for chosen, w in zip(bits, pair, strict=True):
                chosen.append(w)
        return [part.projections(np.stack(chosen)) for part, chosen in zip(parts, bits, strict=True)], {}
