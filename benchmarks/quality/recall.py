"""How many of the ten nearest neighbours a scan of codes finds, by bytes of a code.

Training vectors, database and queries all differ: 1000 random queries (500 for trivia), or for SIFT 1000 descriptors of
photographs that are left out, then two halves of the rest. The truth is the Euclidean distance of the vectors. FAISS
ranks by its own distances to decoded vectors, the hashers by score tables, ITQ by Hamming distance. All threads run.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from harness.results import Facts, Row
from harness.running import Run
from harness.sets import held_out, load, photographs
from rankhash import ITQ, FlatIndex, Hasher, RankQuantizer
from rankhash._types import F32, I64
from rankhash.evaluation import exact_neighbors, neighbor_recall

BLAS_THREADS = None
SETS = {"trivia": "trivia-text", "glove": "glove", "sift": "sift", "sentences": "sentences"}
N_BYTES = (8, 16, 32)
N_QUERIES, N_TRUE, DEPTHS = 1000, 10, (10, 100)
RABITQ_FACTORS = 8
"""Bytes of a code of RaBitQ that are no bits of components."""

HELD_OUT = 0.04
"""Share of SIFT's descriptors whose photographs are left out."""


@dataclass(frozen=True)
class Problem:
    """Three disjoint sets of vectors, and the nearest of the database to each query."""

    train: F32
    database: F32
    queries: F32
    truth: I64


def rows(run: Run) -> Iterator[Row]:
    """One row per set, number of bytes and method; a quick run has the digits only."""
    sets, sizes = (("digits",), N_BYTES[:1]) if run.quick else (tuple(SETS), N_BYTES)
    keys = (
        {"set": s, "bytes": b, "method": m}
        for s in sets
        for b in sizes
        for m in METHODS
        if m != "RaBitQ" or b > RABITQ_FACTORS
    )
    for key in run.wanted(keys):
        yield Row(key, measure(divided(run.data, key["set"]), key["method"], key["bytes"]))


@lru_cache(maxsize=1)
def divided(folder: Path, name: str) -> Problem:
    """The split of a set, always the same."""
    vectors = load(folder, SETS.get(name, name)).vectors.astype(np.float32)
    rng = np.random.default_rng(0)
    n_queries = min(N_QUERIES, len(vectors) // 20)
    if name == "sift":
        held = held_out(photographs(folder), HELD_OUT, rng)
    else:
        held = np.arange(len(vectors)) < n_queries
        rng.shuffle(held)
    queries = rng.permutation(np.flatnonzero(held))[:n_queries]
    train, database = np.array_split(rng.permutation(np.flatnonzero(~held)), 2)
    truth = exact_neighbors(vectors[queries], vectors[database], N_TRUE).ids
    return Problem(vectors[train], vectors[database], vectors[queries], truth)


def measure(problem: Problem, method: str, n_bytes: int) -> Facts:
    """Recall at both depths, and CPU seconds of fit, encoding and search."""
    start = time.process_time()
    found = METHODS[method](problem, n_bytes)
    seconds = time.process_time() - start
    recalls = {f"recall_{depth}": float(neighbor_recall(found[:, :depth], problem.truth).mean()) for depth in DEPTHS}
    return {name: round(value, 5) for name, value in recalls.items()} | {"cpu_seconds": round(seconds, 1)}


def by_score_tables(hasher: Hasher, problem: Problem) -> I64:
    """Ids that a scan by the hasher's score tables finds."""
    hasher.fit(problem.train)
    index = FlatIndex(hasher.layout_)
    index.add(hasher.encode(problem.database))
    return index.search_scores(hasher.score_tables(problem.queries), DEPTHS[-1]).ids


def reconstruction(problem: Problem, n_bytes: int) -> I64:
    """Codes whose decoded vectors are close to the vectors."""
    return by_score_tables(RankQuantizer(2 * n_bytes, random_state=0), problem)


def refined(problem: Problem, n_bytes: int) -> I64:
    """The same codes, refined in eight rounds."""
    return by_score_tables(RankQuantizer(2 * n_bytes, refine=8, random_state=0), problem)


def itq(problem: Problem, n_bytes: int) -> I64:
    """Codes of ITQ, by Hamming distance."""
    hasher = ITQ(8 * n_bytes, random_state=0).fit(problem.train)
    index = FlatIndex(hasher.layout_)
    index.add(hasher.encode(problem.database))
    return index.search(hasher.encode(problem.queries), DEPTHS[-1]).ids


def optimised_product(problem: Problem, n_bytes: int, bits: int) -> I64:
    """FAISS: a learned rotation, then a product quantiser; padded where the parts do not divide the dimensions."""
    import faiss

    n_parts, d = 8 * n_bytes // bits, problem.train.shape[1]
    width = -(-d // n_parts) * n_parts
    rotation = faiss.OPQMatrix(d, n_parts, width)
    quantizer = faiss.ProductQuantizer(width, n_parts, bits)
    rotation.pq = quantizer
    return faiss_answer(faiss.IndexPreTransform(rotation, faiss.IndexPQ(width, n_parts, bits)), problem)


def residual(problem: Problem, n_bytes: int) -> I64:
    """FAISS: a residual quantiser with a beam of 32; vectors are decoded, so that lengths cost no bytes."""
    import faiss

    index = faiss.IndexResidualQuantizer(problem.train.shape[1], n_bytes, 8)
    index.rq.max_beam_size = 32
    return faiss_answer(index, problem)


def residual_with_norm(problem: Problem, n_bytes: int) -> I64:
    """FAISS: the same, with one of the bytes for the length of the decoded vector, as a scan by tables needs it."""
    import faiss

    search = faiss.AdditiveQuantizer.ST_norm_qint8
    kind: Any = faiss.IndexResidualQuantizer  # its types leave out the last parameter
    index = kind(problem.train.shape[1], n_bytes - 1, 8, faiss.METRIC_L2, search)
    index.rq.max_beam_size = 32
    return faiss_answer(index, problem)


def local_search(problem: Problem, n_bytes: int) -> I64:
    """FAISS: local search quantisation, with one of the bytes for the length of the decoded vector."""
    import faiss

    search = faiss.AdditiveQuantizer.ST_norm_qint8
    kind: Any = faiss.IndexLocalSearchQuantizer  # its types leave out the last parameter
    return faiss_answer(kind(problem.train.shape[1], n_bytes - 1, 8, faiss.METRIC_L2, search), problem)


def signs_and_factors(problem: Problem, n_bytes: int) -> I64:
    """FAISS: RaBitQ, one bit per rotated principal component beside 8 bytes of factors; queries are not quantised."""
    import faiss

    d = problem.train.shape[1]
    kept = min(d, 8 * (n_bytes - RABITQ_FACTORS))
    index = faiss.IndexRaBitQ(kept, faiss.METRIC_L2)
    return faiss_answer(faiss.IndexPreTransform(faiss.PCAMatrix(d, kept, 0.0, True), index), problem)


def faiss_answer(index: Any, problem: Problem) -> I64:
    """Ids that an index of FAISS finds."""
    index.train(problem.train)
    index.add(problem.database)
    ids: I64 = index.search(problem.queries, DEPTHS[-1])[1]
    return ids


METHODS: dict[str, Callable[[Problem, int], I64]] = {
    "RankQuantizer": reconstruction,
    "RankQuantizer refined": refined,
    "ITQ": itq,
    "OPQ x4": lambda problem, n_bytes: optimised_product(problem, n_bytes, 4),
    "OPQ x8": lambda problem, n_bytes: optimised_product(problem, n_bytes, 8),
    "RQ x8": residual,
    "RQ x8, 1 byte length": residual_with_norm,
    "LSQ x8, 1 byte length": local_search,
    "RaBitQ": signs_and_factors,
}
