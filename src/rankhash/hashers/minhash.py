"""MinHash: codes of sets, whose symbols agree with a probability that is linear in the Jaccard similarity."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._checks import check_number
from .._types import F32, F64, I32, U8
from ..codes import CodeLayout
from ._blocks import block_rows
from .base import Arrays, Hasher
from .training import Training


class MinHash(Hasher):
    """Codes of sets: two symbols agree with probability 1/K + (1 - 1/K) J.

    A vector is the set of the dimensions in which it is above ``threshold``. J is the Jaccard similarity of two sets,
    the size of their intersection over that of their union, and K the arity. Each symbol has a random order of the
    dimensions; the first dimension of the set in this order gives its random label, 0 to K - 1 [1]_. With K = 2^b these
    are the b bits of b-bit minwise hashing [2]_. If m of L symbols differ, J is estimated as 1 - m/L · K/(K - 1).

    Parameters
    ----------
    n_symbols
        Symbols per code, 1 to 4096; None by default.
    n_bits, n_bytes
        The size of a code in bits or bytes instead; None by default. Without any of the three, a code has 64 bits.
    arity
        Number of labels, K, 2 to 16; 4 by default.
    threshold
        A dimension is a member of the set if its value is larger than this; 0 by default.
    random_state
        An integer for the same codes in every run, a RandomState, or None (the default).

    Attributes
    ----------
    orders_ : ndarray (n_symbols, n_features_in_) of int32
        The dimensions in each symbol's order.
    labels_ : ndarray (n_symbols, n_features_in_ + 1) of uint8
        The label of the dimension at each place of the order; the last is that of the empty set.
    threshold_ : ndarray (1,)
        The threshold.
    layout_, n_features_in_, feature_names_in_
        As for every hasher.

    Notes
    -----
    Empty sets agree with each other in all symbols, and with other sets as disjoint sets do.

    References
    ----------
    .. [1] A. Z. Broder, On the resemblance and containment of documents, SEQUENCES 1997.
    .. [2] P. Li, A. C. König, b-bit minwise hashing, WWW 2010.

    Examples
    --------
    >>> X = np.random.default_rng(0).random((100, 50)) < 0.3
    >>> hasher = MinHash(64, 4, random_state=0).fit(X)
    >>> hasher.transform(X).shape, hasher.encode(X).shape
    ((100, 64), (100, 16))
    """

    orders_: I32
    labels_: U8
    threshold_: F32

    _code_arrays = ("orders_", "labels_", "threshold_")

    def __init__(
        self,
        n_symbols: int | None = None,
        arity: int = 4,
        *,
        n_bits: int | None = None,
        n_bytes: int | None = None,
        threshold: float = 0.0,
        random_state: Any = None,
    ) -> None:
        super().__init__(n_symbols, n_bits=n_bits, n_bytes=n_bytes, random_state=random_state)
        self.arity = arity
        self.threshold = threshold

    def _check_parameters(self) -> None:
        check_number("threshold", self.threshold, -3e38, 3e38)

    def _learn(self, training: Training, rng: np.random.RandomState) -> Arrays:
        training.vectors.check()
        d = training.vectors.n_features
        orders = np.stack([rng.permutation(d) for _ in range(self._n_symbols)]).astype(np.int32)
        labels = rng.randint(0, self.arity, size=(self._n_symbols, d + 1)).astype(np.uint8)
        return {"orders_": orders, "labels_": labels, "threshold_": np.array([self.threshold], np.float32)}

    def _symbols(self, vectors: F32) -> U8:
        members = vectors > self.threshold_
        empty, nothing = ~members.any(axis=1), members.shape[1]
        symbols = np.empty((len(vectors), len(self.orders_)), np.uint8)
        for symbol, (order, labels) in enumerate(zip(self.orders_, self.labels_, strict=True)):
            first = members[:, order].argmax(axis=1)
            first[empty] = nothing
            symbols[:, symbol] = labels[first]
        return symbols

    def _encode_batch(self, batch: F32, n_threads: int) -> tuple[U8, int]:  # noqa: ARG002
        return self._encode_blocks(batch, block_rows(batch.shape[1], self.layout_.n_symbols), self._symbols)

    def _scores(self, vectors: F32) -> F64:
        return np.eye(self.layout_.arity)[self._symbols(vectors)]

    def _fits(self, arrays: Arrays, layout: CodeLayout, n_features: int) -> bool:
        if arrays.keys() != {*self._code_arrays}:
            return False
        orders, labels, threshold = (arrays[name] for name in self._code_arrays)
        return (
            orders.dtype == np.int32
            and orders.shape == (layout.n_symbols, n_features)
            and bool((np.sort(orders, axis=1) == np.arange(n_features)).all())
            and labels.dtype == np.uint8
            and labels.shape == (layout.n_symbols, n_features + 1)
            and bool(labels.max() < layout.arity)
            and threshold.dtype == np.float32
            and threshold.shape == (1,)
            and bool(np.isfinite(threshold[0]))
        )
