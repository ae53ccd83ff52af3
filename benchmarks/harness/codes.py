"""The codes that are searched: random or clustered, from fixed seeds, and the index over them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankhash import CodeLayout, FlatIndex

Codes = NDArray[np.uint8]
CHUNK = 250_000
N_CENTRES = 2000
SEED = 20260


@dataclass(frozen=True)
class Spec:
    """Names a data set; equal specs give equal codes."""

    n_symbols: int
    arity: int
    n: int
    n_queries: int
    kind: str = "random"

    @classmethod
    def of(cls, params: dict[str, Any]) -> Spec:
        """The data set that a case asks for."""
        return cls(params["n_symbols"], params["arity"], params["n"], params["n_queries"], params["data"])


@dataclass(frozen=True)
class Problem:
    """Codes, queries and our index, ready to search."""

    layout: CodeLayout
    codes: Codes
    queries: Codes
    index: FlatIndex


@lru_cache(maxsize=1)
def problem(spec: Spec) -> Problem:
    """The data set and our index over it; the last one is kept for the next case."""
    layout = CodeLayout(spec.n_symbols, spec.arity)
    codes = draw_codes(layout, spec.n, kind=spec.kind, stream=0)
    queries = draw_codes(layout, spec.n_queries, kind=spec.kind, stream=1)
    index = FlatIndex(layout)
    index.add(codes)
    return Problem(layout, codes, queries, index)


def draw_codes(layout: CodeLayout, n: int, *, kind: str, stream: int) -> Codes:
    """``n`` codes; streams differ in the draw, not in the centres."""
    rng = np.random.default_rng([SEED, stream])
    draw = {"random": _random_symbols, "clustered": _clustered_symbols}[kind]
    out = np.empty((n, layout.n_bytes), dtype=np.uint8)
    for start in range(0, n, CHUNK):
        stop = min(start + CHUNK, n)
        out[start:stop] = layout.pack(draw(rng, layout, stop - start))
    return out


def embed(layout: CodeLayout, codes: Codes) -> tuple[Codes, int]:
    """Bits whose Hamming distance is ``scale`` times ours, and ``scale``: one-hot, or for K=2 the code."""
    if layout.arity == 2:
        return codes, 1
    parts = [layout.one_hot(layout.unpack(codes[i : i + CHUNK])) for i in range(0, len(codes), CHUNK)]
    return np.concatenate([bits for bits, _ in parts]), parts[0][1]


def _random_symbols(rng: np.random.Generator, layout: CodeLayout, n: int) -> Codes:
    return rng.integers(0, layout.arity, (n, layout.n_symbols), dtype=np.uint8)


def _clustered_symbols(rng: np.random.Generator, layout: CodeLayout, n: int) -> Codes:
    """Zipf-sized clusters; in each code a share of the symbols, drawn from Beta(2, 6), is replaced."""
    centres = _random_symbols(np.random.default_rng(SEED), layout, N_CENTRES)
    sizes = 1 / np.arange(1, N_CENTRES + 1)
    symbols = centres[rng.choice(N_CENTRES, n, p=sizes / sizes.sum())]
    noisy = rng.random(symbols.shape, dtype=np.float32) < rng.beta(2, 6, (n, 1))
    symbols[noisy] = rng.integers(0, layout.arity, int(noisy.sum()), dtype=np.uint8)
    return symbols
