"""The decoder of RankQuantizer: learning, decoding, and score tables.

::

    X ─▶ center, up to 256 principal axes ─▶ points ─▶ learn_codebooks ─▶ projections_, bias_: symbol = argmax w·x + b
    symbols ─▶ decoder_: x ≈ center + Σ decoder_[symbol]    lengths_: |Σ decoder_[symbol]|² ≈ Σ lengths_[symbol]
    queries ─▶ score tables: |q - x|² ≈ Σ table[symbol]

The centroids of codebooks lie in orthogonal subspaces, so that squared lengths add up. Refined symbols have a decoder
without subspaces; see ``refinement``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ..._types import F32, F64, U8
from ...errors import InvalidInputError
from ...vectors import VectorBatches
from .._diagnostics import symbol_shares
from .._features.pca import Principal, component_scale, principal_axes, sample_components
from ..base import Arrays
from ..training import CONSTANT, SMALLEST_SPREAD
from .codebooks import Codebooks, learn_codebooks
from .refinement import MAX_DESCENTS, learn_refinement
from .regression import SymbolRegression, add_rows

MAX_AXES = 256
"""Largest number of principal axes."""

MIN_VARIANCE = 1e-10
"""Axes with a smaller variance, relative to the largest, are dropped."""

MAX_ROWS = 4096
"""Largest n_symbols · arity; regressions need a square matrix of that size."""

N_ROUNDS = 30
"""Rounds of learning the codebooks."""

CORRECTIONS = (0.0, 0.5, 1.0)
"""Candidates for the fraction of the expected error that is added to ``lengths_``."""

N_QUERIES, N_DATABASE, N_NEAREST = 500, 10_000, 10
"""Queries, stored vectors and neighbours of the recall by which the fraction is chosen, all of them training points."""


def learn_decoder(
    data: VectorBatches,
    n_symbols: int,
    arity: int,
    rng: np.random.RandomState,
    *,
    max_points: int,
    refine: int = 0,
    n_rounds: int = N_ROUNDS,
    on_round: Callable[[float], object] = lambda _: None,
) -> Arrays:
    """The learned arrays of a RankQuantizer.

    At most ``max_points`` random vectors are learned from; the mean and the axes come from all vectors. ``refine`` (0)
    is the number of descents per vector, ``n_rounds`` (30) that of the rounds of learning the codebooks. ``on_round``
    is called after each round with the mean squared error relative to the variance; by default nothing is called.
    """
    principal = _axes(data, n_symbols * arity)
    points = sample_components(data, principal, max_points, rng)
    variance = float(np.square(points, dtype=np.float64).sum(axis=1).mean())

    def relative(error: float) -> None:
        on_round(error / variance)

    codebooks, _ = learn_codebooks(points, n_symbols, arity, rng, n_rounds, relative)
    symbols = codebooks.encode(points)
    decoder, penalty = codebooks.codebook(), 0.0
    crossing = codebooks.squares() - np.square(decoder).sum(axis=1)
    if refine:
        learned = learn_refinement(points, symbols, decoder, crossing, refine, relative)
        decoder, crossing, penalty = learned.decoder, learned.crossing, learned.penalty
        points, symbols = points[: len(learned.symbols)], learned.symbols
    lengths = np.square(decoder).sum(axis=1) + crossing
    lengths += _length_correction(points, symbols, decoder, lengths, rng)
    arrays = _for_vectors(principal, codebooks, decoder, lengths) | {"balance_": symbol_shares(symbols, arity)}
    if refine:
        arrays["crossing_"] = crossing.astype(np.float32)
        arrays["refinement_"] = np.array([refine, penalty, component_scale(principal)], np.float32)
    return arrays


def score_tables(queries: F32, arrays: Arrays, n_symbols: int, metric: str = "l2") -> F32:
    """Score tables ``(n_queries, n_symbols, arity)``; their sum over a code's symbols is the distance to the code.

    With ``metric="l2"``, the default, it is the squared distance to the decoded vector; with ``"ip"`` the negative
    inner product with it. Each query is multiplied separately: its tables do not depend on the other queries.
    """
    center, decoder = arrays["center_"].astype(np.float64), arrays["decoder_"].astype(np.float64)
    points = queries.astype(np.float64)
    if metric == "l2":
        points = points - center
        constant = np.square(points).sum(axis=1)
        sums = arrays["lengths_"] - 2 * (decoder @ points[:, :, None])[:, :, 0]
    else:
        constant = -(points * center).sum(axis=1)
        sums = -(decoder @ points[:, :, None])[:, :, 0]
    sums += constant[:, None] / n_symbols
    limit = np.finfo(np.float32).max
    tables: F64 = np.clip(sums, -limit, limit).reshape(len(queries), n_symbols, -1)
    return tables.astype(np.float32)


def decode(symbols: U8, arrays: Arrays) -> F64:
    """The decoded vectors ``(n, d)`` of symbols ``(n, n_symbols)``."""
    decoded: F64 = arrays["center_"] + add_rows(arrays["decoder_"].astype(np.float64), symbols)
    return decoded


def decoder_fits(arrays: Arrays, rows: int) -> bool:
    """Whether the decoder's arrays of a file fit the projections, which must have been checked before."""
    refinement, shape = arrays.get("refinement_"), arrays["projections_"].shape
    shapes = len(arrays["projections_"]) == rows and arrays["lengths_"].shape == (rows,)
    shapes = shapes and arrays["decoder_"].shape == shape
    if refinement is None:
        return shapes and "crossing_" not in arrays
    return (
        shapes
        and rows <= MAX_ROWS
        and "crossing_" in arrays
        and arrays["crossing_"].shape == (rows,)
        and refinement.shape == (3,)
        and bool(1 <= refinement[0] <= MAX_DESCENTS and refinement[1] >= 0 and refinement[2] > 0)
    )


def _axes(data: VectorBatches, n_rows: int) -> Principal:
    if n_rows > MAX_ROWS:
        raise InvalidInputError(
            f"n_symbols * arity of RankQuantizer must be at most {MAX_ROWS}, got {n_rows}; use fewer symbols"
        )
    principal = principal_axes(data, MAX_AXES)
    spread = principal.variances.max()
    if np.sqrt(spread) <= SMALLEST_SPREAD * float(np.abs(principal.mean).max()) or spread == 0:
        raise InvalidInputError(CONSTANT)
    kept = int((principal.variances > MIN_VARIANCE * spread).sum())
    return replace(principal, axes=principal.axes[:kept], variances=principal.variances[:kept])


def _for_vectors(principal: Principal, codebooks: Codebooks, decoder: F64, lengths: F64) -> Arrays:
    """The arrays that apply to vectors instead of points."""
    scale, largest = component_scale(principal), float(np.finfo(np.float32).max)
    return {
        "projections_": (codebooks.codebook() @ principal.axes).astype(np.float32),
        "bias_": (-scale / 2 * codebooks.squares()).astype(np.float32),
        "center_": principal.mean,
        "decoder_": (scale * (decoder @ principal.axes)).astype(np.float32),
        "lengths_": np.minimum(scale**2 * lengths, largest).astype(np.float32),
    }


def _length_correction(points: F32, symbols: U8, decoder: F64, lengths: F64, rng: np.random.RandomState) -> F64:
    """The correction ``(rows,)`` of the lengths for symbols with a larger reconstruction error than others.

    |q - x|² is on average |q - decoded|² plus the reconstruction error of x. The expected error given the symbols is a
    regression on them. Which fraction of it is best added depends on the data: the one that finds the most nearest
    neighbours among training points.
    """
    decoded = add_rows(decoder, symbols)
    errors = np.square(points - decoded).sum(axis=1)
    expected = SymbolRegression(symbols, len(decoder) // symbols.shape[1]).solve(errors[:, None] - errors.mean())[:, 0]
    chosen = rng.permutation(len(points))[: N_QUERIES + N_DATABASE]
    queries, others = np.split(chosen, [min(N_QUERIES, len(chosen) // 4)])
    if len(others) <= N_NEAREST or not len(queries):
        return np.zeros_like(expected)
    squares = np.square(points[others], dtype=np.float64).sum(axis=1)
    adds = [add_rows((lengths + share * expected)[:, None], symbols[others])[:, 0] for share in CORRECTIONS]
    found = np.zeros(len(CORRECTIONS))
    for some in np.array_split(points[queries].astype(np.float64), -(-len(queries) // 50)):
        nearest = _smallest(squares - 2 * (some @ points[others].T))
        along = -2 * (some @ decoded[others].T)
        for number, added in enumerate(adds):
            ranked = _smallest(along + added)
            found[number] += sum(len(np.intersect1d(a, b)) for a, b in zip(ranked, nearest, strict=True))
    return CORRECTIONS[int(np.argmax(found))] * expected


def _smallest(distances: F64) -> NDArray[np.intp]:
    """The columns of the N_NEAREST smallest entries of each row."""
    return np.argpartition(distances, N_NEAREST - 1, axis=1)[:, :N_NEAREST]
