"""p-stable LSH: locality-sensitive hashing for the Euclidean distance, by slices along random directions."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._checks import check_number
from .._types import F32, F64, U8
from ..codes import CodeLayout
from ..vectors import VectorBatches
from ._blocks import PART_FLOATS, parts
from .base import Arrays, Hasher
from .training import Training

PERIOD, MIN_WIDTH = 6.0, 1.5
"""Default width in units of the spread: max(PERIOD / arity, MIN_WIDTH), the best of seven on two sets of vectors."""

SMALLEST = float(np.finfo(np.float32).tiny)
"""Smallest distance to a slice that a vector is not in: a vector on the border of two slices is in only one."""


class PStableLSH(Hasher):
    """Codes whose symbols number the slices, of equal width, that vectors lie in along random directions.

    A symbol is ⌊(w·x + b) / r⌋ modulo the arity, with w ~ N(0, I) and b uniform in [0, r) [1]_. The Gaussian
    distribution is 2-stable: w·(x - y) has the standard deviation |x - y|, so that the probability of equal symbols
    depends only on the Euclidean distance.

    Parameters
    ----------
    n_symbols
        Symbols per code, 1 to 4096; None by default.
    n_bits, n_bytes
        The size of a code in bits or bytes instead; None by default. Without any of the three, a code has 64 bits.
    arity
        Different numbers of slices, 2 to 16; 4 by default. Slices that are ``arity`` apart have the same number.
    width
        The width r of a slice, in units of the spread: the root of the mean squared distance of the fitted vectors
        from their mean. None, the default, takes 1.5, or 3 and 2 for the arities 2 and 3.
    random_state
        An integer for the same codes in every run, a RandomState, or None (the default).

    Attributes
    ----------
    projections_ : ndarray (n_symbols, n_features_in_)
        The directions w.
    bias_ : ndarray (n_symbols,)
        The offsets b.
    width_ : ndarray (1,)
        The width r in the units of the vectors.
    layout_, n_features_in_, feature_names_in_
        As for every hasher.

    Notes
    -----
    The authors keep whole numbers and hash tuples of them into tables. As a code of fixed size, a number is kept modulo
    the arity. Vectors that are r · arity apart along a direction then get equal symbols again.

    References
    ----------
    .. [1] M. Datar, N. Immorlica, P. Indyk, V. Mirrokni, Locality-sensitive hashing scheme based on p-stable
       distributions, SCG 2004.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(100, 8))
    >>> hasher = PStableLSH(32, 4, random_state=0).fit(X)
    >>> hasher.transform(X).shape, hasher.encode(X).shape
    ((100, 32), (100, 8))
    """

    bias_: F32
    width_: F32
    _code_arrays = ("projections_", "bias_", "width_")

    def __init__(
        self,
        n_symbols: int | None = None,
        arity: int = 4,
        *,
        n_bits: int | None = None,
        n_bytes: int | None = None,
        width: float | None = None,
        random_state: Any = None,
    ) -> None:
        super().__init__(n_symbols, n_bits=n_bits, n_bytes=n_bytes, random_state=random_state)
        self.arity = arity
        self.width = width

    def _check_parameters(self) -> None:
        if self.width is not None:
            check_number("width", self.width, 1e-6, 1e6)

    def _learn(self, training: Training, rng: np.random.RandomState) -> Arrays:
        directions = rng.standard_normal((self._n_symbols, training.vectors.n_features))
        widths = max(PERIOD / self.arity, MIN_WIDTH) if self.width is None else self.width
        width = widths * (spread(training.vectors) or 1.0)
        return {
            "projections_": directions.astype(np.float32),
            "bias_": (width * rng.random_sample(self._n_symbols)).astype(np.float32),
            "width_": np.array([width], np.float32),
        }

    def _positions(self, vectors: F32) -> F64:
        """(w·x + b) / r per vector and symbol. Each vector is multiplied separately, as in ``_scores`` of the base."""
        along = (self.projections_.astype(np.float64) @ vectors.astype(np.float64)[:, :, None])[:, :, 0]
        positions: F64 = (along + self.bias_) / float(self.width_[0])
        return positions

    def _encode_batch(self, batch: F32, n_threads: int) -> tuple[U8, int]:  # noqa: ARG002
        step = max(1, PART_FLOATS // max(self.layout_.n_symbols, batch.shape[1]))
        return self._encode_blocks(batch, step, lambda block: np.floor(self._positions(block)) % self.layout_.arity)

    def _scores(self, vectors: F32) -> F64:
        """Minus the distance along the direction, in widths, to the nearest slice with each number."""
        arity, positions = self.layout_.arity, self._positions(vectors)
        slices = np.floor(positions)
        inside = (positions - slices)[:, :, None]
        ahead = (np.arange(arity) - slices[:, :, None]) % arity
        away = np.minimum(ahead - inside, inside + (arity - 1 - ahead))
        return np.where(ahead == 0, 0.0, -np.maximum(away, SMALLEST))

    def _fits(self, arrays: Arrays, layout: CodeLayout, n_features: int) -> bool:
        shapes = {
            "projections_": (layout.n_symbols, n_features),
            "bias_": (layout.n_symbols,),
            "width_": (1,),
        }
        return (
            {name: array.shape for name, array in arrays.items()} == shapes
            and all(array.dtype == np.float32 and np.isfinite(array).all() for array in arrays.values())
            and bool(arrays["width_"][0] > 0)
        )


def spread(data: VectorBatches) -> float:
    """The root of the mean squared distance of the vectors from their mean; it reads and checks all vectors.

    >>> from rankhash.vectors import batches
    >>> spread(batches([[0.0, 1.0], [0.0, 5.0]]))
    2.0
    """
    center = data.mean().astype(np.float64)
    total = sum(np.square(part - center).sum() for _, part in parts(data))
    return float(np.sqrt(total / data.n_rows))
