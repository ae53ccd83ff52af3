"""Encoding compared with the matrix product that it contains, done alone into a tile that stays in the cache."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness import timing
from harness.comparison import Case, Comparison, Outcome, Suite, at_most, case
from harness.results import Row
from harness.running import Run
from rankhash import LSH, Hasher
from rankhash.hashers.training import Training  # a method of our own needs it

TILES = (256, 1024)
CHECKED_ROWS = 2000
CLOSE = 1e-5  # scores nearer than this may change places when summed in another order
Array = NDArray[Any]
SUITE = Suite(
    defaults={"repeats": 9},
    quick={"n": 3000, "repeats": 3},
    cases=(
        case("d=40, L=32, K=4", {"sgemm": at_most(1.1)}, d=40, n=200_000, hasher="projections", n_symbols=32, arity=4),
        case("d=40, L=64, K=2, LSH", {"sgemm": at_most(1.1)}, d=40, n=200_000, hasher="LSH", n_symbols=64, arity=2),
        case("d=40, L=64, K=2", {"sgemm": at_most(1.1)}, d=40, n=200_000, hasher="projections", n_symbols=64, arity=2),
        case(
            "d=40, L=16, K=16", {"sgemm": at_most(1.1)}, d=40, n=200_000, hasher="projections", n_symbols=16, arity=16
        ),
        case(
            "d=128, L=32, K=4", {"sgemm": at_most(1.1)}, d=128, n=100_000, hasher="projections", n_symbols=32, arity=4
        ),
        case("d=128, L=64, K=2, LSH", {"sgemm": at_most(1.1)}, d=128, n=100_000, hasher="LSH", n_symbols=64, arity=2),
        case(
            "d=128, L=64, K=2", {"sgemm": at_most(1.1)}, d=128, n=100_000, hasher="projections", n_symbols=64, arity=2
        ),
        case(
            "d=128, L=16, K=16", {"sgemm": at_most(1.1)}, d=128, n=100_000, hasher="projections", n_symbols=16, arity=16
        ),
        case("d=784, L=32, K=4", {"sgemm": at_most(1.1)}, d=784, n=20_000, hasher="projections", n_symbols=32, arity=4),
        case("d=784, L=64, K=2, LSH", {"sgemm": at_most(1.1)}, d=784, n=20_000, hasher="LSH", n_symbols=64, arity=2),
        case("d=784, L=64, K=2", {"sgemm": at_most(1.1)}, d=784, n=20_000, hasher="projections", n_symbols=64, arity=2),
        case(
            "d=784, L=16, K=16", {"sgemm": at_most(1.1)}, d=784, n=20_000, hasher="projections", n_symbols=16, arity=16
        ),
    ),
)


class RandomProjections(Hasher):
    """``arity`` random projections compete for each symbol: shaped as a learned hasher, without learning."""

    def __init__(self, n_symbols: int, arity: int, *, random_state: int) -> None:
        self.n_symbols = n_symbols
        self.arity = arity
        self.random_state = random_state

    def _learn(self, training: Training, rng: np.random.RandomState) -> dict[str, Array]:
        shape = (self._n_symbols * self.arity, training.vectors.n_features)
        return {"projections_": rng.standard_normal(shape).astype(np.float32)}


def rows(run: Run) -> Iterator[Row]:
    """One row per case."""
    return SUITE.rows(run, measure)


def measure(case: Case) -> Outcome:
    """Our encoding, and the product of the same vectors with the same projections, into tiles and whole."""
    params = case.params
    vectors = np.random.default_rng(3).standard_normal((params["n"], params["d"]), dtype=np.float32)
    hasher = _hasher(params).fit(vectors[:100])
    ours = partial(hasher.encode, vectors, n_threads=1)
    contenders: dict[str, timing.Contender] = {"ours": ours, **dict(_products(vectors, hasher.projections_))}
    return Outcome(
        unit="ns per vector",
        scale=1e9 / len(vectors),
        clock="thread",
        samples=timing.one_thread(contenders, params["repeats"]),
        comparisons=[
            Comparison("sgemm", "tiled sgemm", kind="cost"),
            Comparison("whole_sgemm", "sgemm that writes every score", kind="cost", show_variant=False),
        ],
        agree=_agrees(hasher, vectors[:CHECKED_ROWS], ours()[:CHECKED_ROWS]),
        checked=f"{CHECKED_ROWS} vectors with NumPy in float64, but where two scores are all but equal",
        extra={"n_projections": len(hasher.projections_)},
    )


def _hasher(params: dict[str, Any]) -> Hasher:
    if params["hasher"] == "LSH":
        return LSH(n_symbols=params["n_symbols"], random_state=0)
    return RandomProjections(params["n_symbols"], params["arity"], random_state=0)


def _products(vectors: Array, projections: Array) -> Iterator[tuple[str, timing.Contender]]:
    """The product alone, for both sizes of tile and both orders of the matrix, and into one large array."""
    orders = {"rows": projections.T, "columns": np.ascontiguousarray(projections.T)}
    whole = np.empty((len(vectors), len(projections)), np.float32)
    for order, weights in orders.items():
        for tile in TILES:
            yield f"sgemm:{tile} vectors, by {order}", partial(_tiled_product, vectors, weights, tile)
        yield f"whole_sgemm:by {order}", partial(np.dot, vectors, weights, whole)


def _tiled_product(vectors: Array, weights: Array, tile: int) -> None:
    out = np.empty((tile, weights.shape[1]), np.float32)
    for start in range(0, len(vectors), tile):
        rows = vectors[start : start + tile]
        np.dot(rows, weights, out=out[: len(rows)])


def _agrees(hasher: Hasher, vectors: Array, codes: Array) -> bool:
    layout = hasher.layout_
    center = 0.0 if hasher.center_ is None else hasher.center_.astype(np.float64)
    bias = 0.0 if hasher.bias_ is None else hasher.bias_.astype(np.float64)
    scores = (vectors - center) @ hasher.projections_.T.astype(np.float64) + bias
    if scores.shape[1] == layout.n_symbols:  # one projection a symbol: its sign counts
        scores = np.stack([np.zeros_like(scores), scores], axis=2)
    scores = scores.reshape(len(vectors), layout.n_symbols, layout.arity)
    chosen = np.take_along_axis(scores, layout.unpack(codes)[:, :, None].astype(np.intp), axis=2)[:, :, 0]
    return bool((scores.max(axis=2) - chosen <= CLOSE * np.abs(scores).max()).all())
