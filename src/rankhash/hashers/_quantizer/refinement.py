"""Refined symbols, which reconstruct vectors better than nearest centroids, and the decoder that is fitted to them.

A decoder without orthogonal subspaces has a lower error, but its best symbols depend on each other, and squared lengths
no longer add up: |Σ c|² = Σ |c|² + Σ Σ c·c' over the selected rows. The cross terms are approximated by a sum of one
number per symbol (``crossing``). The error of this approximation is penalised:

loss = |x - Σ c|² + penalty · (Σ Σ c·c' - Σ crossing)²
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from ... import _kernels
from ..._types import F32, F64, U8
from ..base import Arrays
from .regression import SymbolRegression, add_rows

N_SWEEPS = 4
"""Largest number of sweeps over all symbols per descent."""

N_ROUNDS, ROUND_DESCENTS = 15, 3
"""Rounds of refining the symbols and refitting the decoder, and the largest number of descents per round."""

MAX_POINTS = 32_768
"""Largest number of points that the decoder is refitted to."""

MAX_DESCENTS = 10_000
"""Largest number of descents per vector, the parameter ``refine``."""

PENALTY = 1.0
"""The penalty is PENALTY · the mean squared error of the nearest centroids."""

CHUNK_FLOATS = 1 << 20
"""Entries of the array of costs per chunk of vectors."""


@dataclass(frozen=True)
class Refinement:
    """Coordinate descent on the symbols of each vector.

    The first descent starts at the given symbols; each of ``n_descents - 1`` more starts at the best symbols so far, of
    which some are changed at random. A descent sets one symbol after another to its best value, until nothing changes
    or for 4 sweeps.
    """

    weights: F32
    squares: F32
    products: F32
    crossing: F32
    penalty: float
    n_descents: int

    @classmethod
    def of(cls, decoder: F64, n_symbols: int, crossing: F64, penalty: float, n_descents: int) -> Refinement:
        """The refinement for points in the unit of the decoder."""
        blocks = (2 * decoder @ decoder.T).reshape(n_symbols, len(decoder) // n_symbols, n_symbols, -1)
        blocks[np.arange(n_symbols), :, np.arange(n_symbols)] = 0
        weights, squares = (-2 * decoder).astype(np.float32), np.square(decoder).sum(axis=1).astype(np.float32)
        products = np.ascontiguousarray(blocks.reshape(len(decoder), -1), np.float32)
        return cls(weights, squares, products, crossing.astype(np.float32), penalty, n_descents)

    @classmethod
    def from_arrays(cls, arrays: Arrays, n_symbols: int) -> Refinement:
        """The refinement for vectors, from the arrays of a hasher."""
        n_descents, penalty, scale = (float(value) for value in arrays["refinement_"])
        decoder = arrays["decoder_"].astype(np.float64) / scale
        made = cls.of(decoder, n_symbols, arrays["crossing_"].astype(np.float64), penalty, int(n_descents))
        return replace(made, weights=(-2 / scale * decoder).astype(np.float32))

    def improve(self, vectors: F32, symbols: U8, n_threads: int, center: F32 | None = None) -> U8:
        """Symbols ``(n, n_symbols)`` whose loss is at most that of the given ones."""
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
class RefinedDecoder:
    """A decoder ``(rows, k)`` of points, its cross terms ``crossing`` ``(rows,)``, and the symbols it was fitted to."""

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
    on_round: Callable[[float], object],
    n_rounds: int = N_ROUNDS,
) -> RefinedDecoder:
    """The decoder after ``n_rounds`` (15) rounds of refining symbols and refitting the decoder to them.

    At most 32768 points are used. ``errors`` holds the mean squared error after each round.
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
        on_round(float(errors[number]))
    return RefinedDecoder(decoder, crossing, penalty, symbols, errors)
