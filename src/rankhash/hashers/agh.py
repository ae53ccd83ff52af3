"""Anchor graph hashing: the smoothest functions on a neighbour graph that is built through anchors."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._checks import check_integer
from .._types import F32, F64
from ..codes import CodeLayout
from ._features.anchor_graph import MIN_EIGENVALUE, AnchorGraphHasher, Joined, graph_functions
from .base import Arrays
from .training import Training


class AGH(AnchorGraphHasher):
    """Binary codes: the signs of the smoothest functions on a neighbour graph of the vectors.

    Learned without labels [1]_. Vectors are connected if they are near the same anchors, which are cluster centres.
    The functions are eigenvectors of an n_anchors × n_anchors matrix; new vectors interpolate them from their nearest
    anchors. With two layers each function gives two bits: its sign, and the side of a second threshold, which is set
    where it cuts the graph least.

    Parameters
    ----------
    n_symbols
        Bits per code, 1 to 4096, None by default; less than ``n_anchors``, or than twice as many with two layers.
    n_bits, n_bytes
        The size of a code in bits or bytes instead; None by default. Without any of the three, a code has 64 bits.
    n_anchors
        Number of cluster centres, 300 by default; the number of vectors if that is smaller.
    n_nearest
        Number of anchors per vector, 3 by default.
    layers
        1 (the default), or 2 for two bits per function.
    random_state
        An integer for the same codes in every run, a RandomState, or None (the default).

    Attributes
    ----------
    anchors_ : ndarray (n_anchors, n_features_in_)
        The anchors.
    scale_ : ndarray (1,)
        A vector's weight at an anchor falls like exp(-(scale · distance)²).
    projections_ : ndarray (n_functions, n_anchors)
        The values of the functions at the anchors.
    cuts_ : ndarray (n_functions, 2)
        The second thresholds where the function is positive and where it is not; only with two layers.
    n_nearest_ : ndarray (1,) of int32
        Number of anchors per vector.
    layout_ : CodeLayout
        The layout of the codes: ``n_symbols`` of arity 2; with two layers all first bits come first.
    n_features_in_, feature_names_in_
        As for every hasher.

    References
    ----------
    .. [1] W. Liu, J. Wang, S. Kumar, S.-F. Chang, Hashing with graphs, ICML 2011.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(500, 8))
    >>> hasher = AGH(16, n_anchors=50, random_state=0).fit(X)
    >>> hasher.transform(X).shape, hasher.encode(X).shape
    ((500, 16), (500, 2))
    """

    cuts_: F32 | None

    _code_arrays = (*AnchorGraphHasher._code_arrays, "cuts_")

    def __init__(
        self,
        n_symbols: int | None = None,
        *,
        n_bits: int | None = None,
        n_bytes: int | None = None,
        n_anchors: int = 300,
        n_nearest: int = 3,
        layers: int = 1,
        random_state: Any = None,
    ) -> None:
        super().__init__(n_symbols, n_bits=n_bits, n_bytes=n_bytes, random_state=random_state)
        self.n_anchors = n_anchors
        self.n_nearest = n_nearest
        self.layers = layers

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_integer("layers", self.layers, 1, 2)

    def _learn(self, training: Training, rng: np.random.RandomState) -> Arrays:
        arrays, joined = self._join(training.vectors, rng)
        functions = graph_functions(joined, len(arrays["anchors_"]), -(-self._n_symbols // self.layers))
        arrays["projections_"] = functions.T.astype(np.float32)
        return arrays if self.layers == 1 else arrays | {"cuts_": second_cuts(joined, functions).astype(np.float32)}

    def _bit_scores(self, batch: F32, n_threads: int | None) -> F32:
        values = super()._bit_scores(batch, n_threads)
        if self.cuts_ is None:
            return values
        above, below = self.cuts_.T
        second = np.where(values > 0, values - above, below - values)
        return np.concatenate([values, second], axis=1)[:, : self.layout_.n_symbols]

    def _fits(self, arrays: Arrays, layout: CodeLayout, n_features: int) -> bool:
        n_functions = self._n_functions(arrays, layout)
        cuts = arrays.get("cuts_", np.empty((n_functions, 2)))
        return cuts.shape == (n_functions, 2) and super()._fits(arrays, layout, n_features)

    def _n_functions(self, arrays: Arrays, layout: CodeLayout) -> int:
        return -(-layout.n_symbols // 2) if "cuts_" in arrays else layout.n_symbols


def second_cuts(joined: Joined, functions: F64) -> F64:
    """The second thresholds ``(n_functions, 2)``: of vectors where a function y is positive, and of the others.

    With f = y - t on the positive side and u - y on the other, they make f'(I - A)f least among those with Σf = 0.
    """
    n, n_anchors = len(joined.places), len(functions)
    n_positive, total = np.zeros((2, functions.shape[1]))
    load, positive, sizes = np.zeros(n_anchors), np.zeros(functions.shape), np.zeros(functions.shape)
    for rows in joined.blocks():
        part = joined.matrix(rows, n_anchors)
        values = part @ functions
        above = (values > 0).astype(np.float64)
        n_positive += above.sum(axis=0)
        total += (values * above).sum(axis=0)
        load += part.sum(axis=0)
        positive += part.T @ above
        sizes += part.T @ np.abs(values)
    inverse = np.where(load > 0, 1 / np.maximum(load, np.finfo(float).tiny), 0)[:, None]
    apart = n_positive - (positive**2 * inverse).sum(axis=0)
    pull = total - (positive * sizes * inverse).sum(axis=0)
    both = np.where(apart > MIN_EIGENVALUE * n, pull / np.maximum(apart, np.finfo(float).tiny), 0)
    above = (2 * total + (n - n_positive) * both) / n
    return np.stack([above, both - above], axis=1)
