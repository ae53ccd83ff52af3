"""Codes for look-up: clustered, random, or learned from real vectors, and always fresh queries."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from harness import sets
from harness.codes import Codes, Spec, draw_codes
from rankhash import ITQ, RSH, CodeLayout, FlatIndex, Hasher, LookupIndex
from rankhash._types import F32
from rankhash.evaluation.truth import euclidean

SEED = 20261
QUERY_STREAM = 2  # the constants of look-up were chosen with queries of stream 1
N_FIT = 20_000
NOISE = 0.5  # standard deviation, in mean distances to the nearest neighbour per square root of the dimensions


@dataclass(frozen=True)
class LookupProblem:
    """Codes, queries that no index has seen, and both kinds of index."""

    layout: CodeLayout
    codes: Codes
    queries: Codes
    flat: FlatIndex
    tables: LookupIndex

    def batches(self, size: int) -> Iterator[Codes]:
        """Queries, ``size`` at a time; after the last they begin again."""
        while True:
            for start in range(0, len(self.queries) - size + 1, size):
                yield self.queries[start : start + size]


@lru_cache(maxsize=1)
def lookup_problem(spec: Spec, folder: Path) -> LookupProblem:
    """The data set and both indexes over it; the last one is kept for the next case."""
    layout = CodeLayout(spec.n_symbols, spec.arity)
    if spec.kind in sets.FILES:
        codes, queries = learned_codes(spec, folder)
    else:
        codes = draw_codes(layout, spec.n, kind=spec.kind, stream=0)
        queries = draw_codes(layout, spec.n_queries, kind=spec.kind, stream=QUERY_STREAM)
    flat, tables = FlatIndex(layout), LookupIndex(layout)
    flat.add(codes)
    tables.add(codes)
    return LookupProblem(layout, codes, queries, flat, tables)


def learned_codes(spec: Spec, folder: Path) -> tuple[Codes, Codes]:
    """Codes of real vectors, and of held-out ones as queries.

    Where the set has fewer vectors than are wanted, more are made of them by adding Gaussian noise of half the mean
    distance to the nearest neighbour. ITQ learns the codes for arity 2, RSH from metric neighbours for others.
    """
    rng = np.random.default_rng(SEED)
    X = sets.load(folder, spec.kind).vectors.astype(np.float32)
    X = X[rng.permutation(len(X))]
    queries, base = X[: spec.n_queries], X[spec.n_queries :]
    hasher: Hasher = ITQ(spec.n_symbols, random_state=0)
    if spec.arity > 2:
        hasher = RSH(spec.n_symbols, spec.arity, random_state=0)
    hasher.fit(base[:N_FIT])
    spread = NOISE * _nearest_distance(base[:2000]) / np.sqrt(base.shape[1])
    codes = [hasher.encode(part) for part in sets.noisy_copies(base, spec.n, spread, rng)]
    return np.concatenate(codes), hasher.encode(queries)


def _nearest_distance(points: F32) -> float:
    """The mean distance of a point to the nearest other one."""
    apart = euclidean(points.astype(np.float64), points.astype(np.float64))
    np.fill_diagonal(apart, np.inf)
    return float(apart.min(axis=1).mean())
