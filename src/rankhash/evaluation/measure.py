"""What is measured of a fitted hasher on a split: every metric of the paper, times, and some neighbours to look at."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _ranking
from ..hashers import Hasher
from ..index import FlatIndex
from .counts import Counts, count_codes
from .metrics import mean
from .protocol import Split
from .store import Row

F32 = NDArray[np.float32]
U8 = NDArray[np.uint8]

RADII = (2, 3)
NEAREST = (50, 100)
PICTURES = 6
LEARNED = ("value", "average_precision", "balance")
"""What is kept of the course of learning, step by step."""

SHOWN = 10


def measure(hasher: Hasher, data: Split) -> Row:
    """Every metric of a fitted hasher on a split."""
    database = hasher.encode(data.database, n_threads=1)
    start = time.process_time()
    queries = hasher.encode(data.queries, n_threads=1)
    seconds = time.process_time() - start
    counts = count_codes(queries, database, hasher.layout_, data.truth)
    row = summary(counts)
    row["encode_us"] = round(seconds / len(queries) * 1e6, 3)
    weights = getattr(hasher, "weights_", None)
    if weights is not None and np.shape(weights) == (hasher.layout_.n_symbols,):
        row["weighted_ap"] = round(_weighted(hasher, weights, queries, database, data), 5)
    return row


def course(hasher: Hasher) -> dict[str, list[int] | list[float]] | None:
    """The course of learning, of a hasher that notes it: steps, objective, precision of hard codes, values in use."""
    history = getattr(hasher, "history_", None)
    if not isinstance(history, dict) or not {"step", *LEARNED} <= history.keys():
        return None
    steps = [int(step) for step in history["step"]]
    return {"step": steps, **{name: [round(float(value), 4) for value in history[name]] for name in LEARNED}}


def summary(counts: Counts) -> Row:
    """The metrics of a run, and the pooled counts from which every curve over the radius can be drawn again."""
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


def _weighted(hasher: Hasher, weights: F32, queries: U8, database: U8, data: Split) -> float:
    """The pooled average precision of the distance that counts a differing symbol by its weight."""
    asked, stored = hasher.layout_.unpack(queries), hasher.layout_.unpack(database)
    total = np.zeros((len(asked), len(stored)), np.float32)
    for symbol, weight in enumerate(np.asarray(weights, np.float32)):
        total += weight * (asked[:, symbol, None] != stored[:, symbol])
    relevant = data.truth.block(slice(0, len(asked)), slice(0, len(stored)))
    return _ranking.average_precision(total, relevant)


def pictures(hasher: Hasher, data: Split) -> list[dict[str, Any]]:
    """Some queries, each with the rows of the data set that are found first and whether they are relevant."""
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
