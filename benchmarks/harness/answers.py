"""Are the answers right? Against FAISS up to ties, and against a slow obvious NumPy scan, ties included."""

from __future__ import annotations

import numpy as np

from rankhash import CodeLayout, Neighbors
from rankhash._types import Array

CHUNK = 250_000
RELATIVE_ERROR = 1e-5  # float32 sums in another order


def equal_symbols_table(symbols: Array, arity: int, weights: Array | None = None) -> Array:
    """The table ``(n_symbols, arity)`` of the (weighted) number of differing symbols from one query."""
    differs = np.arange(arity)[None, :] != symbols[:, None]
    costs = np.ones(len(symbols)) if weights is None else weights
    return np.where(differs, costs[:, None], 0.0)


def scan(layout: CodeLayout, codes: Array, table: Array) -> Array:
    """Distance of every code by summing one query's table in float64."""
    out = np.zeros(len(codes))
    for start in range(0, len(codes), CHUNK):
        symbols = layout.unpack(codes[start : start + CHUNK])
        for s in range(layout.n_symbols):
            out[start : start + CHUNK] += table[s].astype(np.float64)[symbols[:, s]]
    return out


def is_exact(ids: Array, distances: Array, truth: Array) -> bool:
    """Whether one query's neighbours are the nearest by (distance, id) under ``truth``; infinity is no hit.

    Whole-numbered distances must agree exactly. Others may differ by rounding, and ids by what that swaps.
    """
    n_hits = min(len(ids), int(np.isfinite(truth).sum()))
    order = np.argsort(truth, kind="stable")[:n_hits]
    hits = ids[:n_hits]
    if (ids[n_hits:] != -1).any() or (hits < 0).any() or len(np.unique(hits)) != n_hits:
        return False
    if (truth[np.isfinite(truth)] % 1 == 0).all():
        return bool((hits == order).all() and (distances[:n_hits] == truth[order]).all())
    slack = RELATIVE_ERROR * max(1.0, float(np.abs(truth[order]).max(initial=0)))
    near = np.abs(truth[hits] - truth[order]) <= slack
    return bool((near & (np.abs(distances[:n_hits] - truth[order]) <= slack)).all())


def same_up_to_ties(ours: Neighbors, ids: Array, distances: Array, scale: int) -> bool:
    """Whether a peer found the same distances, and the same ids wherever a tie does not leave a choice.

    Only at a query's last distance may ids differ: there k cuts through equals.
    """
    if not np.array_equal(ours.distances * scale, distances):
        return False
    last = ours.distances[:, -1:]
    inner = ours.distances < last
    mine = np.sort(np.where(inner, ours.ids, -1), axis=1)
    theirs = np.sort(np.where(inner, ids, -1), axis=1)
    return bool(np.array_equal(mine, theirs))


def tables_agree(layout: CodeLayout, codes: Array, ours: Neighbors, tables: list[Array]) -> bool:
    """Whether the first queries' neighbours are exact, given the table of each of them."""
    return all(is_exact(ours.ids[q], ours.distances[q], scan(layout, codes, table)) for q, table in enumerate(tables))


def same_neighbors(one: Neighbors, other: Neighbors) -> bool:
    """Whether both answers have the same ids and distances."""
    return bool(np.array_equal(one.ids, other.ids) and np.array_equal(one.distances, other.distances))
