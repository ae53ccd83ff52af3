"""FAISS as a peer: one thread, its better mode, and for the scan an embedding that gives the same answers."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache, partial
from typing import Any

import faiss
import numpy as np
from numpy.typing import NDArray

from harness.codes import Codes, Spec, embed, problem
from harness.timing import Contender

faiss.omp_set_num_threads(1)

PQ_DIMENSIONS_PER_NIBBLE = 2
PQ_MODES = {"heap": 12, "reservoir": 13}  # IndexFastScan::implem; its automatic choice is one of the two
CHUNK = 250_000


class BinaryFlat:
    """``IndexBinaryFlat`` over given bits, with queries of the same kind."""

    def __init__(self, bits: Codes, queries: Codes, scale: int) -> None:
        self.scale = scale
        self._queries = queries
        self._index: Any = faiss.IndexBinaryFlat(8 * bits.shape[1])
        self._index.add(bits)

    def search(self, k: int, *, use_heap: bool) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """Distances and ids; ``use_heap=False`` is FAISS's counting mode."""
        self._index.use_heap = use_heap
        distances, ids = self._index.search(self._queries, k)
        return distances, ids

    def contenders(self, peer: str, k: int) -> Iterator[tuple[str, Contender]]:
        """Both modes, named as variants of ``peer``."""
        yield f"{peer}:heap", partial(self.search, k, use_heap=True)
        yield f"{peer}:counting", partial(self.search, k, use_heap=False)


@lru_cache(maxsize=1)
def same_answer(spec: Spec) -> BinaryFlat:
    """FAISS on the embedding whose Hamming distance is a multiple of ours."""
    p = problem(spec)
    bits, scale = embed(p.layout, p.codes)
    queries, _ = embed(p.layout, p.queries)
    return BinaryFlat(bits, queries, scale)


@lru_cache(maxsize=1)
def plain_bits(spec: Spec) -> BinaryFlat:
    """FAISS on the packed codes: for K>2 it counts differing bits, which is another answer."""
    p = problem(spec)
    return BinaryFlat(p.codes, p.queries, 1)


class PQFastScan:
    """``IndexPQFastScan`` with 4-bit codes of as many bits, on Gaussian vectors of its own."""

    def __init__(self, bits: int, n: int, n_queries: int) -> None:
        nibbles = bits // 4
        self._d = nibbles * PQ_DIMENSIONS_PER_NIBBLE
        self._rng = np.random.default_rng(0)
        self._index: Any = faiss.IndexPQFastScan(self._d, nibbles, 4)
        self._index.train(self._gaussian(min(n, 20_000)))
        for start in range(0, n, CHUNK):
            self._index.add(self._gaussian(min(CHUNK, n - start)))
        self._queries = self._gaussian(n_queries)

    def _gaussian(self, n: int) -> NDArray[np.float32]:
        return self._rng.standard_normal((n, self._d), dtype=np.float32)

    def _search(self, k: int, implem: int) -> Any:
        self._index.implem = implem
        return self._index.search(self._queries, k)

    def contenders(self, peer: str, k: int) -> Iterator[tuple[str, Contender]]:
        """Both ways of keeping the k best, named as variants of ``peer``."""
        for mode, implem in PQ_MODES.items():
            yield f"{peer}:{mode}", partial(self._search, k, implem)


@lru_cache(maxsize=1)
def pq_fast_scan(bits: int, n: int, n_queries: int) -> PQFastScan:
    """A trained and filled index; the last one is kept for the next case."""
    return PQFastScan(bits, n, n_queries)
