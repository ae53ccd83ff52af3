"""Winner-take-all: the argmax over random windows of the dimensions."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _kernels
from .._checks import check_integer
from .._types import F32, F64, U8
from ..codes import CodeLayout
from ..errors import InvalidInputError
from .base import Arrays, Hasher
from .training import Training

MAX_DEGREE = 16
"""Largest degree of the products."""


class WTA(Hasher):
    """Codes whose symbols are the argmax over windows of a few random dimensions.

    Codes depend only on the order of the dimensions [1]_: any increasing transformation leaves them unchanged, such as
    scaling, adding a constant, or a logarithm. With arity 2, the fraction of equal symbols estimates the fraction of
    pairs of dimensions that two vectors order alike, (1 + Kendall's τ) / 2.

    Parameters
    ----------
    n_symbols
        Windows, that is symbols per code, 1 to 4096; None by default.
    n_bits, n_bytes
        The size of a code in bits or bytes instead; None by default. Without any of the three, a code has 64 bits.
    arity
        Dimensions per window, 2 to 16; 4 by default. The first of equal values wins. If the vectors have fewer
        dimensions, a window repeats them; repetitions never win, so that a symbol takes at most as many values as
        there are dimensions.
    degree
        With a degree p above 1, windows compare products of p dimensions, drawn independently per factor: the order of
        the features of a polynomial kernel. Use it for non-negative vectors only, since the product of two large
        negative values is large. 1 by default.
    random_state
        An integer for the same codes in every run, a RandomState, or None (the default).

    Attributes
    ----------
    windows_ : ndarray (n_symbols, arity, degree) of int32
        The dimensions that are multiplied, for each place of each window.
    layout_ : CodeLayout
        The layout of the codes.
    n_features_in_, feature_names_in_
        As for every hasher; at least 2 columns.

    Notes
    -----
    A window of equal values, such as zeros of a sparse vector, gives the symbol 0; unrelated vectors with many zeros
    therefore agree in many symbols. Products are computed in float32: scale the vectors so that none overflows.

    References
    ----------
    .. [1] J. Yagnik et al., The power of comparative reasoning, ICCV 2011.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(100, 8))
    >>> hasher = WTA(32, 4, random_state=0).fit(X)
    >>> hasher.transform(X).shape, hasher.encode(X).shape
    ((100, 32), (100, 8))
    >>> bool((hasher.encode(np.exp(X)) == hasher.encode(X)).all())
    True
    """

    windows_: NDArray[np.int32]
    _code_arrays = ("windows_",)

    def __init__(
        self,
        n_symbols: int | None = None,
        arity: int = 4,
        *,
        n_bits: int | None = None,
        n_bytes: int | None = None,
        degree: int = 1,
        random_state: Any = None,
    ) -> None:
        super().__init__(n_symbols, n_bits=n_bits, n_bytes=n_bytes, random_state=random_state)
        self.arity = arity
        self.degree = degree

    def _check_parameters(self) -> None:
        check_integer("degree", self.degree, 1, MAX_DEGREE)

    def _learn(self, training: Training, rng: np.random.RandomState) -> Arrays:
        n_features = training.vectors.n_features
        if n_features < 2:
            raise InvalidInputError("WTA compares dimensions, so it needs at least 2 of them, got n_features=1")
        training.vectors.check()
        windows = np.empty((self._n_symbols, self.arity, self.degree), np.int32)
        for symbol in range(self._n_symbols):
            for factor in range(self.degree):
                windows[symbol, :, factor] = np.resize(rng.permutation(n_features), self.arity)
        return {"windows_": windows}

    def _encode_batch(self, batch: F32, n_threads: int) -> tuple[U8, int]:
        return _kernels.encode_windows(batch, self.windows_, n_threads)

    def _scores(self, vectors: F32) -> F64:
        scores = np.ones((len(vectors), *self.windows_.shape[:2]))
        for factor in range(self.windows_.shape[2]):
            scores *= vectors[:, self.windows_[:, :, factor]]
        return scores

    def _fits(self, arrays: Arrays, layout: CodeLayout, n_features: int) -> bool:
        windows = arrays.get("windows_", np.empty(0))
        return (
            windows.dtype == np.int32
            and windows.ndim == 3
            and windows.shape[:2] == (layout.n_symbols, layout.arity)
            and 1 <= windows.shape[2] <= MAX_DEGREE
            and bool(windows.min() >= 0 and windows.max() < n_features)
        )
