"""How many of the ten most similar embeddings are found, by bytes per embedding: sign bits and `rankhash.quantize`.

1000 random embeddings (500 for trivia) are queries, the others the corpus, from which codes are learned. The truth is
the cosine. Sign bits are one bit per dimension, and their candidates are the nearest by Hamming distance.
``recall_codes`` uses only what is stored; for sign bits the 40 nearest are ordered by the product of the query and the
signs, as sentence-transformers does it. ``recall_4`` and ``recall_10`` order the best 40 and 100 by the embeddings
themselves. All threads run.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

import numpy as np

from harness.results import Facts, Row
from harness.running import Run
from harness.sets import load
from rankhash import CodeLayout, FlatIndex, quantize, semantic_search
from rankhash._types import F32, I64
from rankhash.embeddings import Hit
from rankhash.evaluation import neighbor_recall

BLAS_THREADS = None
SETS = {"sentences": (6, 8, 12, 16, 24, 48), "trivia-text": (8, 16, 24, 48)}
"""Bytes of the codes that are compared with sign bits, by set"""
N_QUERIES, N_TRUE = 1000, 10
MULTIPLIERS = (4, 10)
SIGNS, CODES = "sign bits", "quantize"


def rows(run: Run) -> Iterator[Row]:
    """One row per set, method and number of bytes; a quick run has the digits only."""
    sets = {"digits": (4,)} if run.quick else SETS
    keys = [{"set": name, "method": CODES, "bytes": size} for name, sizes in sets.items() for size in sizes]
    for key in run.wanted([{"set": name, "method": SIGNS, "bytes": 0} for name in sets] + keys):
        yield Row(key, measure(*divided(run.data, key["set"]), key["method"], key["bytes"]))


@lru_cache(maxsize=1)
def divided(folder: Path, name: str) -> tuple[F32, F32, I64]:
    """Corpus and queries of unit length, and the most similar rows of the corpus to each query."""
    vectors = load(folder, name).vectors.astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    order = np.random.default_rng(0).permutation(len(vectors))
    n_queries = min(N_QUERIES, len(vectors) // 20)
    queries, corpus = vectors[order[:n_queries]], vectors[order[n_queries:]]
    return corpus, queries, _ids(semantic_search(queries, corpus, N_TRUE))


def measure(corpus: F32, queries: F32, truth: I64, method: str, n_bytes: int) -> Facts:
    """Recall by codes alone and with both numbers of candidates, bytes per embedding, and CPU seconds."""
    start = time.process_time()
    found = by_signs(corpus, queries) if method == SIGNS else by_codes(corpus, queries, n_bytes)
    seconds = time.process_time() - start
    facts: Facts = {name: round(float(neighbor_recall(ids, truth).mean()), 5) for name, ids in found.items()}
    stored = corpus.shape[1] / 8 if method == SIGNS else n_bytes
    return facts | {"bytes_per_embedding": stored, "cpu_seconds": round(seconds, 1)}


def by_codes(corpus: F32, queries: F32, n_bytes: int) -> dict[str, I64]:
    """What `semantic_search` finds in quantised embeddings."""
    codes = quantize(corpus, n_bytes, verbose=False)
    found = {"recall_codes": _ids(semantic_search(queries, codes, N_TRUE))}
    for factor in MULTIPLIERS:
        hits = semantic_search(queries, codes, N_TRUE, rescore=corpus, rescore_multiplier=factor)
        found[f"recall_{factor}"] = _ids(hits)
    return found


def by_signs(corpus: F32, queries: F32) -> dict[str, I64]:
    """What sign bits find: by products with signs, and by the embeddings themselves."""
    layout = CodeLayout(corpus.shape[1], 2)
    index = FlatIndex(layout)
    index.add(layout.pack((corpus > 0).astype(np.uint8)))
    near = index.search(layout.pack((queries > 0).astype(np.uint8)), N_TRUE * MULTIPLIERS[-1]).ids
    signs = np.where(corpus > 0, np.float32(1), np.float32(-1))
    found = {"recall_codes": _ordered(near[:, : N_TRUE * MULTIPLIERS[0]], signs, queries)}
    return found | {f"recall_{factor}": _ordered(near[:, : N_TRUE * factor], corpus, queries) for factor in MULTIPLIERS}


def _ordered(candidates: I64, rows_: F32, queries: F32) -> I64:
    """The best of each query's candidates by inner product."""
    products = np.einsum("qcd,qd->qc", rows_[candidates], queries)
    best = np.argsort(-products, axis=1, kind="stable")[:, :N_TRUE]
    return np.take_along_axis(candidates, best, axis=1)


def _ids(hits: list[list[Hit]]) -> I64:
    return np.array([[hit["corpus_id"] for hit in row] for row in hits], np.int64)
