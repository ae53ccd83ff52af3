"""Codes from which vectors can be decoded, for scans that look for metric neighbours.

::

    X ─▶ center, up to 256 principal axes ─▶ points ─▶ learn_quantizer ─▶ projections_, bias_: symbol = argmax w·x + b
    symbols ─▶ decoder_: x ≈ center + Σ decoder_[symbol]    lengths_: |Σ decoder_[symbol]|² ≈ Σ lengths_[symbol]
    queries ─▶ tables: |q - x|² ≈ Σ tables[symbol]

The centroids of a quantiser lie in orthogonal subspaces, so that lengths simply add up. Refined symbols have a decoder
without subspaces (:mod:`._refinement`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ..errors import InvalidInputError
from ..vectors import VectorBatches
from ._base import F32, F64, Arrays
from ._joint import balance
from ._opq import Quantizer, learn_quantizer
from ._pca import Principal, principal_axes, project_some
from ._refinement import Refinement, learn_refinement
from ._symbols import SymbolRegression, add_rows

U8 = NDArray[np.uint8]

MAX_AXES = 256
MAX_ROWS = 4096
"""Symbols times arity; regressions need an array of that many rows and columns."""

N_ROUNDS = 30
SPREADS = (0.0, 0.5, 1.0)
N_QUERIES, N_OTHERS, N_NEAREST = 500, 10_000, 10


def learn_reconstruction(
    data: VectorBatches,
    n_symbols: int,
    arity: int,
    rng: np.random.RandomState,
    *,
    max_points: int,
    refine: int = 0,
    n_rounds: int = N_ROUNDS,
    tell: Callable[[float], object] = lambda _: None,
) -> Arrays:
    """Arrays of a hasher whose codes describe the vectors as well as possible.

    ``refine`` 0 makes codes of winners, 1 or more such as :class:`Refinement` improves. At most ``max_points`` random
    vectors are learned from; the mean and the axes come from all of them. ``tell`` is called after each round with the
    mean squared error, in units of the variance.
    """
    principal = _axes(data, n_symbols * arity)
    points = project_some(data, principal, max_points, rng)
    variance = float(np.square(points, dtype=np.float64).sum(axis=1).mean())

    def relative(error: float) -> None:
        tell(error / variance)

    quantizer, _ = learn_quantizer(points, n_symbols, arity, rng, n_rounds, relative)
    symbols = quantizer.encode(points)
    decoder, penalty = quantizer.codebook(), 0.0
    crossing = quantizer.squares() - np.square(decoder).sum(axis=1)
    if refine:
        learned = learn_refinement(points, symbols, decoder, crossing, refine, relative)
        decoder, crossing, penalty = learned.decoder, learned.crossing, learned.penalty
        points, symbols = points[: len(learned.symbols)], learned.symbols
    lengths = np.square(decoder).sum(axis=1) + crossing
    lengths += _spread(points, symbols, decoder, lengths, rng)
    arrays = _folded(principal, quantizer, decoder, lengths) | {"balance_": balance(symbols, arity)}
    if refine:
        arrays["crossing_"] = crossing.astype(np.float32)
        arrays["refinement_"] = np.array([refine, penalty, _scale(principal)], np.float32)
    return arrays


def reconstruction_tables(queries: F32, arrays: Arrays, n_symbols: int, metric: str = "l2") -> F32:
    """Tables ``(n_queries, n_symbols, arity)`` whose sums over a code's symbols rank it; smaller is nearer.

    With ``"l2"`` a sum is the squared distance to the decoded vector, with ``"ip"`` the negative inner product with it.
    Every query is multiplied on its own, so that its tables do not depend on those that come along.
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
    """The vectors ``(n, d)`` that symbols stand for."""
    decoded: F64 = arrays["center_"] + add_rows(arrays["decoder_"].astype(np.float64), symbols)
    return decoded


def reconstruction_fits(arrays: Arrays, rows: int) -> bool:
    """Whether the arrays of a file that belong to the decoder fit the projections, which were checked before."""
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
        and bool(1 <= refinement[0] <= Refinement.MOST and refinement[1] >= 0 and refinement[2] > 0)
    )


def _axes(data: VectorBatches, n_rows: int) -> Principal:
    if n_rows > MAX_ROWS:
        raise InvalidInputError(
            f"with objective='reconstruction' n_symbols * arity must be at most {MAX_ROWS}, got {n_rows}; "
            "use fewer symbols"
        )
    principal = principal_axes(data, MAX_AXES)
    spread = principal.variances.max()
    if np.sqrt(spread) <= 1e-6 * float(np.abs(principal.mean).max()) or spread == 0:
        raise InvalidInputError("all vectors are the same, so that there is nothing to tell apart; is X constant?")
    kept = int((principal.variances > 1e-10 * spread).sum())
    return replace(principal, axes=principal.axes[:kept], variances=principal.variances[:kept])


def _scale(principal: Principal) -> float:
    """The unit of the points, as :func:`project_some` chooses it."""
    return float(np.sqrt(principal.variances.mean()))


def _folded(principal: Principal, quantizer: Quantizer, decoder: F64, lengths: F64) -> Arrays:
    """Arrays for the vectors themselves instead of for the points."""
    scale, largest = _scale(principal), float(np.finfo(np.float32).max)
    return {
        "projections_": (quantizer.codebook() @ principal.axes).astype(np.float32),
        "bias_": (-scale / 2 * quantizer.squares()).astype(np.float32),
        "center_": principal.mean,
        "decoder_": (scale * (decoder @ principal.axes)).astype(np.float32),
        "lengths_": np.minimum(scale**2 * lengths, largest).astype(np.float32),
    }


def _spread(points: F32, symbols: U8, decoder: F64, lengths: F64, rng: np.random.RandomState) -> F64:
    """What is added to the lengths ``(rows,)`` because some symbols leave more of a vector undescribed than others.

    Vectors that are described badly seem closer than they are. How much of their mean error is best added, differs
    from set to set: as much as finds the most nearest neighbours of some of the points.
    """
    decoded = add_rows(decoder, symbols)
    errors = np.square(points - decoded).sum(axis=1)
    spread = SymbolRegression(symbols, len(decoder) // symbols.shape[1]).solve(errors[:, None] - errors.mean())[:, 0]
    chosen = rng.permutation(len(points))[: N_QUERIES + N_OTHERS]
    queries, others = np.split(chosen, [min(N_QUERIES, len(chosen) // 4)])
    if len(others) <= N_NEAREST or not len(queries):
        return np.zeros_like(spread)
    squares = np.square(points[others], dtype=np.float64).sum(axis=1)
    adds = [add_rows((lengths + share * spread)[:, None], symbols[others])[:, 0] for share in SPREADS]
    found = np.zeros(len(SPREADS))
    for some in np.array_split(points[queries].astype(np.float64), -(-len(queries) // 50)):
        nearest = _smallest(squares - 2 * (some @ points[others].T))
        along = -2 * (some @ decoded[others].T)
        for number, added in enumerate(adds):
            ranked = _smallest(along + added)
            found[number] += sum(len(np.intersect1d(a, b)) for a, b in zip(ranked, nearest, strict=True))
    return SPREADS[int(np.argmax(found))] * spread


def _smallest(distances: F64) -> NDArray[np.intp]:
    return np.argpartition(distances, N_NEAREST - 1, axis=1)[:, :N_NEAREST]
