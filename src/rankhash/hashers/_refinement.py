"""Symbols that describe vectors better than the winners do, and the decoder that goes with them.

A decoder without subspaces describes vectors better, but then the best symbols depend on each other, and lengths no
longer add up: |Σ c|² = Σ |c|² + the products of all pairs of chosen rows. The products are predicted from the symbols
one by one (``crossing``), and symbols for which the prediction is wrong are avoided (``penalty``).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from .. import _kernels
from ._base import F32, F64, Arrays
from ._symbols import SymbolRegression, add_rows

U8 = NDArray[np.uint8]

N_SWEEPS = 4
N_ROUNDS, ROUND_DESCENTS, MAX_POINTS = 15, 3, 32_768
PENALTY = 1.0
"""Of a wrong length, in units of one over the mean squared error of the winners."""

CHUNK_FLOATS = 1 << 20


@dataclass(frozen=True)
class Refinement:
    """Improves symbols: sums of decoder rows come closer to the vectors.

    The first descent starts at the given symbols, ``n_descents - 1`` more at what was found with some symbols changed
    at random. In a descent one symbol after another takes its best value, until nothing changes or four times over.
    """

    weights: F32
    squares: F32
    products: F32
    crossing: F32
    penalty: float
    n_descents: int

    MOST: ClassVar[int] = 10_000

    @classmethod
    def of(cls, decoder: F64, n_symbols: int, crossing: F64, penalty: float, n_descents: int) -> Refinement:
        """For points in the decoder's own unit."""
        blocks = (2 * decoder @ decoder.T).reshape(n_symbols, len(decoder) // n_symbols, n_symbols, -1)
        blocks[np.arange(n_symbols), :, np.arange(n_symbols)] = 0
        weights, squares = (-2 * decoder).astype(np.float32), np.square(decoder).sum(axis=1).astype(np.float32)
        products = np.ascontiguousarray(blocks.reshape(len(decoder), -1), np.float32)
        return cls(weights, squares, products, crossing.astype(np.float32), penalty, n_descents)

    @classmethod
    def from_arrays(cls, arrays: Arrays, n_symbols: int) -> Refinement:
        """For vectors, by the arrays of a hasher."""
        n_descents, penalty, scale = (float(value) for value in arrays["refinement_"])
        decoder = arrays["decoder_"].astype(np.float64) / scale
        made = cls.of(decoder, n_symbols, arrays["crossing_"].astype(np.float64), penalty, int(n_descents))
        return replace(made, weights=(-2 / scale * decoder).astype(np.float32))

    def improve(self, vectors: F32, symbols: U8, n_threads: int, center: F32 | None = None) -> U8:
        """Symbols ``(n, n_symbols)`` that are at least as good as the given ones."""
        better = np.array(symbols, order="C")
        step = max(1, CHUNK_FLOATS // len(self.weights))
        for start in range(0, len(vectors), step):
            rows = slice(start, start + step)
            costs = _kernels.project(vectors[rows], self.weights, self.squares, center, n_threads)
            _kernels.refine(
                costs,
                self.products,
                self.crossing,
                self.penalty,
                better[rows],
                n_sweeps=N_SWEEPS,
                n_kicks=self.n_descents - 1,
                n_threads=n_threads,
            )
        return better


@dataclass(frozen=True)
class Learned:
    """A decoder ``(rows, k)`` of points, what its rows add to the products, and the symbols it was learned with."""

    decoder: F64
    crossing: F64
    penalty: float
    symbols: U8
    errors: F64


def learn_refinement(
    points: F32,
    symbols: U8,
    decoder: F64,
    crossing: F64,
    n_descents: int,
    tell: Callable[[float], object],
    n_rounds: int = N_ROUNDS,
) -> Learned:
    """Refine the symbols and fit the decoder to them in turn; at most 32768 points are used.

    ``errors`` holds the mean squared error after each round.
    """
    points, symbols = points[:MAX_POINTS], symbols[:MAX_POINTS]
    n_symbols, threads = symbols.shape[1], _kernels.default_threads()
    errors = np.empty(n_rounds)
    start = np.square(points - add_rows(decoder, symbols)).sum(axis=1).mean()
    penalty = PENALTY / start if start > 0 else 0.0
    for number in range(n_rounds):
        refinement = Refinement.of(decoder, n_symbols, crossing, penalty, min(n_descents, ROUND_DESCENTS))
        symbols = refinement.improve(points, symbols, threads)
        regression = SymbolRegression(symbols, len(decoder) // n_symbols)
        decoder = decoder + regression.solve(points - add_rows(decoder, symbols))
        decoded = add_rows(decoder, symbols)
        products = np.square(decoded).sum(axis=1) - add_rows(np.square(decoder).sum(axis=1)[:, None], symbols)[:, 0]
        crossing = crossing + regression.solve((products - add_rows(crossing[:, None], symbols)[:, 0])[:, None])[:, 0]
        errors[number] = np.square(points - decoded).sum(axis=1).mean()
        tell(float(errors[number]))
    return Learned(decoder, crossing, penalty, symbols, errors)
