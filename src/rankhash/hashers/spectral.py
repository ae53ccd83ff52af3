"""Spectral hashing: the signs of sinusoids along the principal axes, by rising frequency."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._types import F32, F64, I32, U8
from ..codes import CodeLayout
from ..vectors import VectorBatches
from ._blocks import PART_FLOATS, parts
from ._features.pca import Principal, principal_axes
from .base import Arrays, Hasher
from .training import Training


class SpectralHashing(Hasher):
    """Binary codes: the signs of sinusoids along the principal axes.

    Learned without labels [1]_. For a uniform distribution in a box along the principal axes, the eigenfunctions are
    cos(kπ(x - low)/width) along single axes, smoother for smaller k/width. The ``n_symbols`` smoothest are the bits: a
    long axis gives several bits, a short one none.

    Parameters
    ----------
    n_symbols, n_bits, n_bytes
        The size of a code, 1 to 4096 bits, in symbols, bits or bytes; 64 bits if all are None (the default).
    random_state
        Not used, since nothing is drawn; None by default.

    Attributes
    ----------
    projections_ : ndarray (n_axes, n_features_in_)
        The principal axes, at most ``n_symbols``.
    center_ : ndarray (n_features_in_,)
        The mean of the fitted vectors.
    box_ : ndarray (2, n_axes)
        The lowest value and the width of the fitted vectors along each axis.
    modes_ : ndarray (n_symbols, 2) of int32
        The axis of each bit, and k: its number of half waves over the width.
    layout_, n_features_in_, feature_names_in_
        As for every hasher; codes have arity 2.

    References
    ----------
    .. [1] Y. Weiss, A. Torralba, R. Fergus, Spectral hashing, NIPS 2008.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).random((500, 2)) * [4, 1]
    >>> hasher = SpectralHashing(5).fit(X)
    >>> hasher.modes_.tolist()
    [[0, 1], [0, 2], [0, 3], [1, 1], [0, 4]]
    >>> hasher.transform(X).shape, hasher.encode(X).shape
    ((500, 5), (500, 1))
    """

    center_: F32
    box_: F32
    modes_: I32

    _code_arrays = ("projections_", "center_", "box_", "modes_")
    _rotates = True

    def __init__(
        self,
        n_symbols: int | None = None,
        *,
        n_bits: int | None = None,
        n_bytes: int | None = None,
        random_state: Any = None,
    ) -> None:
        super().__init__(n_symbols, n_bits=n_bits, n_bytes=n_bytes, random_state=random_state)

    def _learn(self, training: Training, rng: np.random.RandomState) -> Arrays:  # noqa: ARG002
        principal = principal_axes(training.vectors, self._n_symbols)
        low, high = _extent(training.vectors, principal)
        width = high - low
        if not width.max() > 0:
            width[:] = 1
        return {
            "projections_": principal.axes.astype(np.float32),
            "center_": principal.mean,
            "box_": np.stack([low, width]).astype(np.float32),
            "modes_": smoothest_modes(width, self._n_symbols),
        }

    def _phases(self, batch: F32) -> F64:
        """The phase ``(n, n_symbols)`` of each bit's sinusoid, in half waves from the lower side of the box.

        Each vector is multiplied separately: its code does not depend on the other vectors of the batch.
        """
        points = batch.astype(np.float64) - self.center_
        along = (self.projections_.astype(np.float64) @ points[:, :, None])[:, :, 0]
        axis, k = self.modes_.T
        low, width = self.box_.astype(np.float64)[:, axis]
        phases: F64 = (along[:, axis] - low) * (k / width)
        return phases

    def _encode_batch(self, batch: F32, n_threads: int) -> tuple[U8, int]:  # noqa: ARG002
        step = max(1, PART_FLOATS // max(self.layout_.n_symbols, batch.shape[1]))
        return self._encode_blocks(batch, step, lambda block: np.floor(self._phases(block) + 0.5) % 2 == 0)

    def _scores(self, vectors: F32) -> F64:
        waves = np.cos(np.pi * (self._phases(vectors) % 2))
        return np.stack([np.zeros_like(waves), waves], axis=2)

    def _fits(self, arrays: Arrays, layout: CodeLayout, n_features: int) -> bool:
        if arrays.keys() != {*self._code_arrays}:
            return False
        axes, box, modes = arrays["projections_"], arrays["box_"], arrays["modes_"]
        floats = (axes, box, arrays["center_"])
        return (
            all(array.dtype == np.float32 and np.isfinite(array).all() for array in floats)
            and axes.ndim == 2
            and axes.shape[1] == n_features
            and arrays["center_"].shape == (n_features,)
            and box.shape == (2, len(axes))
            and modes.dtype == np.int32
            and modes.shape == (layout.n_symbols, 2)
            and layout.arity == 2
            and bool(((modes[:, 0] >= 0) & (modes[:, 0] < len(axes)) & (modes[:, 1] > 0)).all())
            and bool((box[1, modes[:, 0]] > 0).all())
        )


def smoothest_modes(width: F64, n_modes: int) -> I32:
    """The axes and numbers of half waves ``(n_modes, 2)`` of the smoothest sinusoids in a box, smoothest first.

    >>> smoothest_modes(np.array([2.0, 1.0]), 4).tolist()
    [[0, 1], [0, 2], [1, 1], [0, 3]]
    """
    most = np.ceil((n_modes + 1) * width / width.max()).astype(int)
    axis = np.repeat(np.arange(len(width)), np.maximum(most - 1, 0))
    k = np.concatenate([np.arange(1, n) for n in most])
    order = np.argsort(k / width[axis], kind="stable")[:n_modes]
    return np.stack([axis[order], k[order]], axis=1).astype(np.int32)


def _extent(data: VectorBatches, principal: Principal) -> tuple[F64, F64]:
    """The lowest and the highest value along each axis."""
    low, high = np.full(len(principal.axes), np.inf), np.full(len(principal.axes), -np.inf)
    for _, part in parts(data):
        along = principal.project(part)
        low, high = np.minimum(low, along.min(axis=0)), np.maximum(high, along.max(axis=0))
    return low, high
