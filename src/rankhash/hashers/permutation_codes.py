"""Permutation codes: which of a few pivots, taken from the vectors themselves, is nearest."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._types import F32, F64
from ..codes import CodeLayout
from .base import Arrays, Hasher
from .training import Training, sample_rows, take_rows

MAX_PIVOT_ROWS = 65_536
"""Largest number of vectors among which pivots are drawn."""


class PermutationCodes(Hasher):
    """Codes whose symbols are the nearest of a few pivots, which are training vectors.

    Near vectors have pivots in a similar order of distance [1]_. A full order of m pivots is compared by Spearman's
    footrule and needs log2(m!) bits. As a rank code, each symbol has a few pivots of its own and keeps the nearest:
    argmax p·x - |p|²/2. Nothing is learned except the choice of random pivots.

    Parameters
    ----------
    n_symbols
        Symbols per code, 1 to 4096; None by default.
    arity
        Pivots per symbol, 2 to 16; 16 by default. If there are fewer training vectors, pivots are repeated, and
        repetitions never win.
    n_bits, n_bytes
        The size of a code in bits or bytes instead; None by default. Without any of the three, a code has 64 bits.
    random_state
        An integer for the same codes in every run, a RandomState, or None (the default).

    Attributes
    ----------
    projections_ : ndarray (n_symbols · arity, n_features_in_)
        The pivots minus ``center_``, divided by their root mean square length.
    bias_ : ndarray (n_symbols · arity,)
        -|p|²/2 per pivot, divided likewise.
    center_ : ndarray (n_features_in_,)
        The mean of the pivots.
    layout_, n_features_in_, feature_names_in_
        As for every hasher.

    References
    ----------
    .. [1] E. Chávez, K. Figueroa, G. Navarro, Effective proximity retrieval by ordering permutations, IEEE TPAMI 30,
       2008.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(100, 8))
    >>> hasher = PermutationCodes(32, 16, random_state=0).fit(X)
    >>> hasher.transform(X).shape, hasher.encode(X).shape
    ((100, 32), (100, 16))
    """

    bias_: F32
    center_: F32

    def __init__(
        self,
        n_symbols: int | None = None,
        arity: int = 16,
        *,
        n_bits: int | None = None,
        n_bytes: int | None = None,
        random_state: Any = None,
    ) -> None:
        super().__init__(n_symbols, n_bits=n_bits, n_bytes=n_bytes, random_state=random_state)
        self.arity = arity

    def _learn(self, training: Training, rng: np.random.RandomState) -> Arrays:
        data = training.vectors
        data.check()
        rows = sample_rows(rng, data.n_rows, MAX_PIVOT_ROWS)
        places = np.concatenate([np.resize(rng.permutation(len(rows)), self.arity) for _ in range(self._n_symbols)])
        used, place = np.unique(rows[places], return_inverse=True)
        pivots = take_rows(data, used).astype(np.float64)
        center = pivots.mean(axis=0).astype(np.float32)
        pivots -= center
        size = float(np.sqrt(np.square(pivots).sum() / len(pivots))) or 1.0
        bias: F64 = np.square(pivots / size).sum(axis=1) * (-size / 2)
        return {
            "projections_": (pivots / size).astype(np.float32)[place],
            "bias_": bias.astype(np.float32)[place],
            "center_": center,
        }

    def _fits(self, arrays: Arrays, layout: CodeLayout, n_features: int) -> bool:
        return (
            {*self._code_arrays} == arrays.keys()
            and len(arrays["projections_"]) == layout.n_symbols * layout.arity
            and super()._fits(arrays, layout, n_features)
        )
