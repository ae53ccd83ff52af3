"""Codes for look-up: clustered, random, or learned from real vectors, and always fresh queries."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

import sets
from data import CHUNK, Codes, draw_codes
from rankhash import ITQ, RSH, CodeLayout, FlatIndex, TableIndex

SEED = 20261
QUERY_STREAM = 2  # the constants of look-up were chosen with queries of stream 1
N_FIT = 20_000
NOISE = 0.5  # standard deviation, in mean distances to the nearest neighbour per square root of the dimensions


@dataclass(frozen=True)
class LookupSpec:
    """Names a data set; equal specs give equal codes."""

    n_symbols: int
    arity: int
    n: int
    n_queries: int
    kind: str

    @classmethod
    def of(cls, params: dict[str, Any]) -> LookupSpec:
        """The data set that a case asks for."""
        return cls(params["n_symbols"], params["arity"], params["n"], params["n_queries"], params["data"])


@dataclass(frozen=True)
class LookupProblem:
    """Codes, queries that no index has seen, and both kinds of index."""

    layout: CodeLayout
    codes: Codes
    queries: Codes
    flat: FlatIndex
    tables: TableIndex

    def batches(self, size: int) -> Iterator[Codes]:
        """Queries, ``size`` at a time; after the last they begin again."""
        while True:
            for start in range(0, len(self.queries) - size + 1, size):
                yield self.queries[start : start + size]


@lru_cache(maxsize=1)
def lookup_problem(spec: LookupSpec, folder: Path) -> LookupProblem:
    """The data set and both indexes over it; the last one is kept for the next case."""
    layout = CodeLayout(spec.n_symbols, spec.arity)
    if spec.kind in sets.FILES:
        codes, queries = learned_codes(spec, folder)
    else:
        codes = draw_codes(layout, spec.n, kind=spec.kind, stream=0)
        queries = draw_codes(layout, spec.n_queries, kind=spec.kind, stream=QUERY_STREAM)
    flat, tables = FlatIndex(layout), TableIndex(layout)
    flat.add(codes)
    tables.add(codes)
    return LookupProblem(layout, codes, queries, flat, tables)


def learned_codes(spec: LookupSpec, folder: Path) -> tuple[Codes, Codes]:
    """Codes of real vectors, and of held-out ones as queries.

    Where the set has fewer vectors than are wanted, more are made of them by adding Gaussian noise of half the mean
    distance to the nearest neighbour. ITQ learns the codes for arity 2, RSH from metric neighbours for others.
    """
    rng = np.random.default_rng(SEED)
    X = sets.load(folder, spec.kind)[0].astype(np.float32)
    X = X[rng.permutation(len(X))]
    queries, base = X[: spec.n_queries], X[spec.n_queries :]
    hasher = ITQ(spec.n_symbols, random_state=0) if spec.arity == 2 else RSH(spec.n_symbols, spec.arity, random_state=0)
    hasher.fit(base[:N_FIT])
    spread = NOISE * _nearest_distance(base[:2000]) / np.sqrt(base.shape[1])
    out = np.empty((spec.n, hasher.layout_.n_bytes), np.uint8)
    for start in range(0, spec.n, CHUNK):
        stop = min(start + CHUNK, spec.n)
        rows = np.arange(start, stop)
        part = base[rows % len(base)]
        noisy = rows >= len(base)
        part[noisy] += spread * rng.standard_normal((int(noisy.sum()), base.shape[1]), dtype=np.float32)
        out[start:stop] = hasher.encode(part)
    return out, hasher.encode(queries)


def _nearest_distance(points: Any) -> float:
    squares = (points.astype(np.float64) ** 2).sum(axis=1)
    apart = squares[:, None] + squares - 2 * points.astype(np.float64) @ points.T.astype(np.float64)
    np.fill_diagonal(apart, np.inf)
    return float(np.sqrt(np.maximum(apart.min(axis=1), 0)).mean())
