"""Comparison of methods on a user's vectors at equal bytes: recall of true neighbours, and times."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._checks import check_choice, check_integer
from .._types import F32, I64
from ..errors import InvalidInputError
from ..hashers import Hasher
from ..index import FlatIndex
from ..vector_index import VectorIndex
from ..vectors import as_vectors
from .held_out import hold_out
from .methods import Method, choose_methods
from .metrics import mean, neighbor_recall
from .truth import exact_neighbors

METHODS = ("RankQuantizer", "JRSH", "ITQ", "LSH")
METRICS = ("euclidean", "cosine")
INDEX = "VectorIndex"


@dataclass(frozen=True)
class Compared:
    """One method at one number of bytes per vector, measured on queries that were held out."""

    method: str
    n_bytes: int
    recall: float
    """Fraction of the true k nearest among the first k by code; for VectorIndex, the recall of its search."""
    recall_reranked: float
    """Fraction of the true k nearest among the candidates, hence after re-ranking by true distances."""
    fit_seconds: float
    encode_microseconds: float
    """CPU time per vector."""
    search_milliseconds: float
    """CPU time per query, all queries in one batch; for codes without re-ranking."""


def compare(
    vectors: Any,
    *,
    n_bytes: Sequence[int] = (8, 16, 32),
    methods: Iterable[str] = METHODS,
    metric: str = "euclidean",
    k: int = 10,
    candidates: int = 100,
    n_queries: int | None = None,
    random_state: int = 0,
    progress: Callable[[str], None] | None = None,
) -> list[Compared]:
    """Methods at equal bytes per vector, compared with a `VectorIndex`: recall and times on held-out vectors.

    Parameters
    ----------
    vectors
        Vectors ``(n, d)``; some of them become the queries and are not searched.
    n_bytes
        Bytes per code; default (8, 16, 32).
    methods
        Names of hashers; default ('RankQuantizer', 'JRSH', 'ITQ', 'LSH').
    metric
        ``"euclidean"`` (default) or ``"cosine"``, for which vectors are scaled to length 1.
    k
        Number of neighbours; default 10.
    candidates
        Number of candidates for re-ranking, at least k; default 100.
    n_queries
        Vectors to hold out; default None: a tenth, at most 1000.
    random_state
        Seed of the choice of queries and of the fits; default 0.
    progress
        Called with the name of each step when it begins; default None.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(500, 16)).astype(np.float32)
    >>> rows = compare(X, n_bytes=[4], methods=["RankQuantizer", "LSH"], random_state=0)
    >>> [(row.method, row.n_bytes) for row in rows]
    [('RankQuantizer', 4), ('LSH', 4), ('VectorIndex', 64)]
    >>> rows[0].recall_reranked > rows[1].recall_reranked
    True
    """
    check_choice("metric", metric, METRICS)
    base, queries = _parts(as_vectors(vectors, name="vectors"), metric, n_queries, random_state)
    k = check_integer("k", k, 1, len(base))
    candidates = check_integer("candidates", candidates, k)
    report = progress or (lambda _: None)
    chosen = choose_methods(list(methods))
    sizes = [check_integer("n_bytes", size) for size in n_bytes]
    report("true neighbours")
    truth = exact_neighbors(queries, base, k).ids
    rows = []
    for size in sizes:
        for method in chosen:
            report(f"{method.name}, {size} bytes")
            rows.append(_codes(method, size, base, queries, truth, min(candidates, len(base)), random_state))
    report(INDEX)
    return [*rows, _index(base, queries, truth, random_state)]


def recommend(rows: Iterable[Compared], recall: float = 0.95, n_bytes: int = 16) -> Compared | None:
    """The row with the fewest bytes whose candidates reach a recall, and the best recall among them; None if none does.

    ``recall`` (default 0.95) is that of the candidates, ``n_bytes`` (default 16) the largest number of bytes. Of rows
    whose recall is the same to two digits, the one with the fastest search.
    """
    fit = [row for row in rows if row.recall_reranked >= recall and row.n_bytes <= n_bytes and row.method != INDEX]
    return min(
        fit, key=lambda row: (row.n_bytes, -round(row.recall_reranked, 2), row.search_milliseconds), default=None
    )


def _parts(vectors: F32, metric: str, n_queries: int | None, seed: int) -> tuple[F32, F32]:
    if metric == "cosine":
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        if not lengths.all():
            raise InvalidInputError(
                f"vector {int(np.argmin(lengths))} is zero and has no direction for metric='cosine'"
            )
        vectors = vectors / lengths
    n = len(vectors)
    kept, held = hold_out(n, min(1000, max(1, n // 10)) if n_queries is None else n_queries, seed)
    return vectors[kept], vectors[held]


def _codes(method: Method, size: int, base: F32, queries: F32, truth: I64, candidates: int, seed: int) -> Compared:
    fitting, hasher = _timed(lambda: method.make(method.layout("bits", 8 * size), seed).fit(base))
    encoding, codes = _timed(lambda: hasher.encode(base))
    index = FlatIndex(hasher.layout_)
    index.add(codes)
    searching, found = _timed(lambda: _search(hasher, index, queries, candidates))
    k = truth.shape[1]
    return Compared(
        method.name,
        size,
        mean(neighbor_recall(found[:, :k], truth)),
        mean(neighbor_recall(found, truth)),
        fitting,
        1e6 * encoding / len(base),
        1e3 * searching / len(queries),
    )


def _search(hasher: Hasher, index: FlatIndex, queries: F32, n: int) -> I64:
    """Ids of the nearest codes: by score tables for codes that can be decoded, else by Hamming distance."""
    if hasattr(hasher, "decode"):
        return index.search_scores(hasher.score_tables(queries), n).ids
    return index.search(hasher.encode(queries), n).ids


def _index(base: F32, queries: F32, truth: I64, seed: int) -> Compared:
    index = VectorIndex("euclidean", random_state=seed, verbose=False)
    building, _ = _timed(lambda: index.add(base))
    searching, found = _timed(lambda: index.search(queries, truth.shape[1]).ids)
    recall = mean(neighbor_recall(found, truth))
    size = index.describe().get("bytes_per_vector", 4 * base.shape[1])  # a small set has no codes
    return Compared(INDEX, size, recall, recall, building, 0.0, 1e3 * searching / len(queries))


def _timed(call: Callable[[], Any]) -> tuple[float, Any]:
    """CPU seconds of all threads, and the answer."""
    start = time.process_time()
    answer = call()
    return time.process_time() - start, answer
