"""Concomitant rank order hashing: the argmax over random directions, also by a fast transform."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._checks import check_flag
from .._types import F32, F64, I8, U8
from ..codes import CodeLayout
from ._blocks import block_rows
from .base import Arrays, Hasher
from .training import Training, data_center

TURNS = 3
"""Sign flips and Hadamard transforms in a pseudo-random rotation."""


class CRO(Hasher):
    """Codes whose symbols are the argmax over a few random directions.

    Nothing is learned [1]_. The probability that two vectors agree in a symbol depends only on their angle and falls
    as it grows; the length of a vector has no effect. With arity 2 it is that of [`LSH`][rankhash.LSH].

    Parameters
    ----------
    n_symbols
        Symbols per code, 1 to 4096; None by default.
    arity
        Directions per symbol, 2 to 16; 4 by default.
    n_bits, n_bytes
        The size of a code in bits or bytes instead; None by default. Without any of the three, a code has 64 bits.
    fast
        Whether directions are the rows of pseudo-random rotations, which take d log d additions per d directions
        instead of d² multiply-adds. False by default: independent Gaussian directions. It pays from about a thousand
        dimensions on.
    center
        Whether the mean of the fitted vectors is subtracted first, as for LSH. False by default.
    random_state
        An integer for the same codes in every run, a RandomState, or None (the default).

    Attributes
    ----------
    projections_ : ndarray (n_symbols · arity, n_features_in_) or None
        The Gaussian directions, unless ``fast``.
    signs_ : ndarray (n_rotations, 3, width) of int8 or None
        The sign flips of each rotation, if ``fast``; the width is the smallest power of 2 that holds a vector.
    center_ : ndarray (n_features_in_,) or None
        The mean of the fitted vectors, if ``center``.
    layout_, n_features_in_, feature_names_in_
        As for every hasher.

    Notes
    -----
    The authors' fast version has one sign flip and a discrete cosine transform. Three flips and Hadamard transforms are
    closer to a random rotation, and have only additions, in a fixed order: codes are the same on every machine.

    References
    ----------
    .. [1] K. Eshghi, S. Rajaram, Locality sensitive hash functions based on concomitant rank order statistics, KDD
       2008.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(100, 8))
    >>> hasher = CRO(32, 4, random_state=0).fit(X)
    >>> hasher.transform(X).shape, hasher.encode(X).shape
    ((100, 32), (100, 8))
    >>> fast = CRO(32, 4, fast=True, random_state=0).fit(X)
    >>> bool((fast.encode(2 * X) == fast.encode(X)).all())
    True
    """

    signs_: I8 | None
    _code_arrays = ("projections_", "signs_", "center_")

    def __init__(
        self,
        n_symbols: int | None = None,
        arity: int = 4,
        *,
        n_bits: int | None = None,
        n_bytes: int | None = None,
        fast: bool = False,
        center: bool = False,
        random_state: Any = None,
    ) -> None:
        super().__init__(n_symbols, n_bits=n_bits, n_bytes=n_bytes, random_state=random_state)
        self.arity = arity
        self.fast = fast
        self.center = center

    def _check_parameters(self) -> None:
        check_flag("fast", self.fast)
        check_flag("center", self.center)

    def _learn(self, training: Training, rng: np.random.RandomState) -> Arrays:
        n_features, n_directions = training.vectors.n_features, self._n_symbols * self.arity
        arrays: Arrays = {}
        if self.fast:
            width = padded_width(n_features)
            shape = (-(-n_directions // width), TURNS, width)
            arrays["signs_"] = (2 * rng.randint(0, 2, shape) - 1).astype(np.int8)
        else:
            arrays["projections_"] = rng.standard_normal((n_directions, n_features)).astype(np.float32)
        center = data_center(training.vectors, centered=self.center)
        return arrays | {"center_": center} if self.center else arrays

    def _encode_batch(self, batch: F32, n_threads: int) -> tuple[U8, int]:
        if self.signs_ is None:
            return super()._encode_batch(batch, n_threads)
        step = block_rows(self.signs_.shape[2], self.layout_.n_symbols * self.layout_.arity)
        return self._encode_blocks(batch, step, lambda block: self._fast_scores(block).argmax(axis=2))

    def _fast_scores(self, block: F32) -> F32:
        """The scores ``(n, n_symbols, arity)`` by the fast transform."""
        assert self.signs_ is not None
        points = block if self.center_ is None else block - self.center_
        layout = self.layout_
        with np.errstate(over="ignore", invalid="ignore"):
            turned = np.concatenate([rotated(points, signs) for signs in self.signs_], axis=1)
        scores: F32 = turned[:, : layout.n_symbols * layout.arity].reshape(-1, layout.n_symbols, layout.arity)
        return scores

    def _scores(self, vectors: F32) -> F64:
        return super()._scores(vectors) if self.signs_ is None else self._fast_scores(vectors).astype(np.float64)

    def _fits(self, arrays: Arrays, layout: CodeLayout, n_features: int) -> bool:
        signs, center = arrays.get("signs_"), arrays.get("center_")
        if signs is None:
            projections = arrays.get("projections_", np.empty(0))
            return len(projections) == layout.n_symbols * layout.arity and super()._fits(arrays, layout, n_features)
        width = padded_width(n_features)
        return (
            "projections_" not in arrays
            and signs.dtype == np.int8
            and signs.shape == (-(-layout.n_symbols * layout.arity // width), TURNS, width)
            and bool((np.abs(signs) == 1).all())
            and (center is None or (center.dtype == np.float32 and center.shape == (n_features,)))
            and (center is None or bool(np.isfinite(center).all()))
        )


def padded_width(n_features: int) -> int:
    """The smallest power of 2 that is at least ``n_features``."""
    return 1 << max(0, int(n_features) - 1).bit_length()


def rotated(points: F32, signs: I8) -> F32:
    """The points ``(n, d)``, padded by zeros, after sign flips and Hadamard transforms ``(n, width)``.

    Each transform is divided by the root of the width, so that lengths and angles stay.

    >>> x = np.float32([[3, 4, 0]])
    >>> turned = rotated(x, np.ones((1, 4), np.int8))
    >>> turned.tolist(), float(np.linalg.norm(turned))
    ([[3.5, -0.5, 3.5, -0.5]], 5.0)
    """
    width = signs.shape[1]
    values = np.zeros((width, len(points)), np.float32)
    values[: points.shape[1]] = points.T
    root = np.float32(1 / np.sqrt(width))
    for turn in signs:
        values *= turn[:, None] * root
        half = 1
        while half < width:
            pairs = values.reshape(-1, 2, half, len(points))
            differences = pairs[:, 0] - pairs[:, 1]
            pairs[:, 0] += pairs[:, 1]
            pairs[:, 1] = differences
            half *= 2
    turned: F32 = values.T
    return turned
