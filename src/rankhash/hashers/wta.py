"""Winner-take-all: random windows of the input's dimensions, of which the largest one wins."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _kernels
from ..codes import CodeLayout
from ..errors import InvalidInputError
from ._base import F32, F64, U8, Arrays, Hasher, Training
from ._parameters import check_integer

MAX_DEGREE = 16


class WTA(Hasher):
    """Codes whose symbols tell which of a few randomly chosen dimensions of a vector is the largest.

    Only the order of the dimensions counts [1]_: codes stay the same under any transformation that keeps it,
    such as scaling, adding a constant, or a logarithm. With arity 2, the share of agreeing symbols estimates
    the share of pairs of dimensions that two vectors order alike, (1 + Kendall's τ) / 2.

    Parameters
    ----------
    n_symbols
        Windows, and so symbols of a code, 1 to 4096.
    arity
        Dimensions in a window, 2 to 16. Among equal ones the first wins. If the vectors have fewer
        dimensions, a window holds all of them in random order, and then the same again: these never win, so
        that symbols only take as many values as there are dimensions.
    degree
        With a degree p above 1, windows compare products of p dimensions, drawn independently for every
        factor: the order of the features of a polynomial kernel. Products of values of both signs do not
        rank (two large negative ones win), so that p above 1 is for vectors without negative values.
    random_state
        An integer for the same windows in every run, a RandomState, or None.

    Attributes
    ----------
    windows_ : ndarray (n_symbols, arity, degree) of int32
        The dimensions that are multiplied for each place of each window.
    layout_ : CodeLayout
        The layout of the codes.
    n_features_in_ : int
        Columns of the vectors that were fitted, 2 or more.
    feature_names_in_ : ndarray of str
        Their names, if the vectors came as a frame with names.

    Notes
    -----
    A window of equal values, such as zeros of a sparse vector, gives the symbol 0; unrelated vectors with
    many zeros therefore agree in many symbols. Products are taken in float32: scale the vectors so that none
    of them overflows.

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

    def __init__(self, n_symbols: int = 64, arity: int = 4, *, degree: int = 1, random_state: Any = None) -> None:
        self.n_symbols = n_symbols
        self.arity = arity
        self.degree = degree
        self.random_state = random_state

    def _check_parameters(self) -> None:
        check_integer("degree", self.degree, 1, MAX_DEGREE)

    def _learn(self, training: Training, rng: np.random.RandomState) -> Arrays:
        n_features = training.vectors.n_features
        if n_features < 2:
            raise InvalidInputError("WTA compares dimensions, so it needs at least 2 of them, got n_features=1")
        training.vectors.check()
        windows = np.empty((self.n_symbols, self.arity, self.degree), np.int32)
        for symbol in range(self.n_symbols):
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
