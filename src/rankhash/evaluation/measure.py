"""Measurements of a fitted hasher on a split: every metric of the paper, times, and example neighbours."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from .. import _ranking
from .._types import F32, U8, Array
from ..hashers import Hasher
from ..index import FlatIndex
from ._perturbation import noisy, redundancy
from .counts import Counts, count_codes
from .metrics import mean
from .protocol import Split
from .store import Row

RADII = (2, 3)
NEAREST = (50, 100)
PICTURES = 6
LEARNED = ("value", "average_precision", "balance")
"""Series of the training history that are stored."""

SHOWN = 10
"""Neighbours shown per example query."""


def measure(hasher: Hasher, data: Split) -> Row:
    """Every metric of a fitted hasher on a split."""
    database = hasher.encode(data.database, n_threads=1)
    start = time.process_time()
    queries = hasher.encode(data.queries, n_threads=1)
    seconds = time.process_time() - start
    counts = count_codes(queries, database, hasher.layout_, data.truth)
    row = summary(counts)
    row["encode_us"] = round(seconds / len(queries) * 1e6, 3)
    row["redundancy"] = round(redundancy(hasher.layout_.unpack(database), hasher.layout_.arity), 5)
    row["noise"] = _with_noise(hasher, queries, database, data)
    weights = getattr(hasher, "weights_", None)
    if weights is not None and np.shape(weights) == (hasher.layout_.n_symbols,):
        row["weighted_ap"] = round(_weighted(hasher, weights, queries, database, data), 5)
    return row


def course(hasher: Hasher) -> dict[str, list[int] | list[float]] | None:
    """The training history (steps, and the series in `LEARNED`); None for a hasher that records none."""
    history = getattr(hasher, "history_", None)
    if not isinstance(history, dict) or not {"step", *LEARNED} <= history.keys():
        return None
    steps = [int(step) for step in history["step"]]
    return {"step": steps, **{name: [round(float(value), 4) for value in history[name]] for name in LEARNED}}


def summary(counts: Counts) -> Row:
    """The metrics of a run, and the pooled counts, from which every curve over the radius can be redrawn."""
    pooled = counts.pooled()
    near = [k for k in NEAREST if k <= counts.n_items]
    balls = {}
    for radius in RADII:
        inside = counts.ball_precision(radius, "leave_out")
        empty = float(np.isnan(inside).mean())
        balls[str(radius)] = {
            "zero": round(mean(counts.ball_precision(radius)), 5),
            "leave_out": round(mean(inside), 5) if empty < 1 else None,
            "empty": round(empty, 5),
        }
    return {
        "ap": round(counts.average_precision(), 5),
        "map": round(mean(counts.query_average_precision()), 5),
        "ball": balls,
        "precision_at": {str(k): round(mean(counts.precision_at(k)), 5) for k in near},
        "recall_at": {str(k): round(mean(counts.recall_at(k)), 5) for k in near},
        "ndcg": round(mean(counts.ndcg(near[-1] if near else None)), 5),
        "n_queries": len(counts.found),
        "n_database": counts.n_items,
        "no_relevant": int((counts.n_relevant == 0).sum()),
        "found": pooled.found[0].tolist(),
        "hits": pooled.hits[0].tolist(),
    }


def _with_noise(hasher: Hasher, queries: U8, database: U8, data: Split) -> Row:
    """Average precision of noisy queries by the truth of clean ones, and the fraction of symbols that noise changes."""
    codes = hasher.encode(noisy(data.queries), n_threads=1)
    changed = hasher.layout_.unpack(codes) != hasher.layout_.unpack(queries)
    found = count_codes(codes, database, hasher.layout_, data.truth)
    return {"ap": round(found.average_precision(), 5), "changed": round(float(changed.mean()), 5)}


def _weighted(hasher: Hasher, weights: F32, queries: U8, database: U8, data: Split) -> float:
    """Pooled average precision of the weighted distance: the sum of the weights of the differing symbols."""
    asked, stored = hasher.layout_.unpack(queries), hasher.layout_.unpack(database)
    relevant = data.truth.block(slice(0, len(asked)), slice(0, len(stored)))
    return _ranking.average_precision(symbol_distances(asked, stored, weights), relevant)


def symbol_distances(queries: U8, database: U8, weights: F32 | None = None) -> Array:
    """Distances ``(n_queries, n)`` of symbols ``(n_queries, n_symbols)`` to symbols ``(n, n_symbols)``.

    A distance is the number of differing symbols, int16; with ``weights`` (default None) it is the sum of the
    differing symbols' weights, float32.

    >>> symbol_distances(np.array([[0, 1]], np.uint8), np.array([[0, 1], [2, 0]], np.uint8))
    array([[0, 2]], dtype=int16)
    """
    total = np.zeros((len(queries), len(database)), np.int16 if weights is None else np.float32)
    for symbol in range(queries.shape[1]):
        differ = queries[:, symbol, None] != database[:, symbol]
        total += differ if weights is None else np.float32(weights[symbol]) * differ
    return total


def pictures(hasher: Hasher, data: Split) -> list[dict[str, Any]]:
    """Example queries, each with the rows of its nearest codes and whether each of them is relevant."""
    n = len(data.queries)
    relevant = data.truth.block(slice(0, n), slice(0, len(data.database)))
    chosen = np.argsort(relevant.sum(axis=1) < SHOWN, kind="stable")[:PICTURES]
    index = FlatIndex(hasher.layout_)
    index.add(hasher.encode(data.database, n_threads=1))
    ids = index.search(hasher.encode(data.queries[chosen], n_threads=1), k=min(SHOWN, len(data.database))).ids
    return [
        {
            "query": int(data.query_rows[query]),
            "found": data.database_rows[row].tolist(),
            "right": relevant[query, row].astype(int).tolist(),
        }
        for query, row in zip(chosen, ids, strict=True)
    ]
