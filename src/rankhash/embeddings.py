"""Sentence embeddings in one call: `quantize` compresses them, `semantic_search` finds the most similar ones."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypedDict

import numpy as np

from ._checks import check_integer
from ._types import F32, I64, U8
from .errors import InvalidInputError
from .hashers import RankQuantizer
from .index import FlatIndex
from .neighbors import Neighbors
from .vector_index.numbered import NumberedVectors, prepare
from .vectors import as_vectors

ARITY = 16
"""Values of a symbol: two symbols take a byte"""
REFINE = 8
"""Descents per embedding, as `RankQuantizer` recommends"""
MAX_BYTES = 128


class Hit(TypedDict):
    """One embedding that was found."""

    corpus_id: int
    """Its row in the corpus"""
    score: float
    """The cosine of it and the query"""


@dataclass(frozen=True)
class QuantizedEmbeddings:
    """Embeddings as short codes, with the quantiser that made them; [`quantize`][rankhash.quantize] returns it.

    ``quantizer.save(path)`` and ``numpy.save(path, codes)`` save both, and
    ``QuantizedEmbeddings(numpy.load(path), rankhash.load_hasher(path))`` restores them.
    """

    codes: U8
    """(n, n_bytes)"""
    quantizer: RankQuantizer

    def __len__(self) -> int:
        return len(self.codes)

    @property
    def n_bytes(self) -> int:
        """Bytes per embedding."""
        return int(self.codes.shape[1])

    def decode(self) -> F32:
        """The embeddings ``(n, d)`` decoded from the codes."""
        return self.quantizer.decode(self.codes).astype(np.float32)

    @cached_property
    def index(self) -> FlatIndex:
        """The codes as an index, made at the first search."""
        index = FlatIndex(self.quantizer.layout_)
        index.add(self.codes)
        return index


def quantize(
    embeddings: Any, n_bytes: int = 16, *, random_state: int | None = 0, verbose: bool = True
) -> QuantizedEmbeddings:
    """Embeddings as codes of a few bytes, learned from the embeddings themselves.

    Parameters
    ----------
    embeddings
        The embeddings, (n, d), of any length; they are compared by their cosine.
    n_bytes
        Bytes per embedding, 1 to 128; default 16. Sign bits take d / 8.
    random_state
        Seed of all random draws; default 0.
    verbose
        Whether a bar is shown on a terminal if learning takes longer than a second; default True.

    Examples
    --------
    >>> import numpy as np
    >>> embeddings = np.random.default_rng(0).normal(size=(1000, 64)) @ np.diag(np.linspace(2, 0.1, 64))
    >>> corpus = quantize(embeddings, n_bytes=8)
    >>> corpus.codes.shape, corpus.codes.dtype
    ((1000, 8), dtype('uint8'))
    >>> hits = semantic_search(embeddings[:2], corpus, top_k=3)
    >>> [hit["corpus_id"] for hit in (hits[0][0], hits[1][0])]
    [0, 1]
    """
    n_symbols = 2 * check_integer("n_bytes", n_bytes, 1, MAX_BYTES)
    units = prepare(as_vectors(embeddings, name="embeddings"), "cosine", "embeddings")
    quantizer = RankQuantizer(n_symbols, ARITY, refine=REFINE, random_state=random_state, verbose=verbose).fit(units)
    return QuantizedEmbeddings(quantizer.encode(units), quantizer)


def semantic_search(
    queries: Any, corpus: Any, top_k: int = 10, *, rescore: Any = None, rescore_multiplier: int = 4
) -> list[list[Hit]]:
    """The embeddings of the corpus that are most similar to each query: lists of ``{"corpus_id": …, "score": …}``.

    Parameters
    ----------
    queries
        Embeddings of queries, (n_queries, d), or of one query, (d,).
    corpus
        Embeddings, (n, d), which are compared exactly, or the result of [`quantize`][rankhash.quantize]: then scores
        are cosines with decoded embeddings.
    top_k
        Hits per query; default 10.
    rescore
        With a quantised corpus, the original embeddings, (n, d), which re-rank the best codes by their cosine; default
        None: codes only. Of a memory-mapped array only the candidates are read.
    rescore_multiplier
        Candidates of ``rescore``, as a multiple of ``top_k``; default 4.

    Returns
    -------
    list of lists of dicts
        Best first; of equal scores the smaller ``corpus_id``.
    """
    k = check_integer("top_k", top_k)
    questions = as_vectors(np.atleast_2d(np.asarray(queries)), name="queries")
    if not isinstance(corpus, QuantizedEmbeddings):
        if rescore is not None:
            raise InvalidInputError("rescore needs a quantised corpus; embeddings are compared exactly")
        rows = as_vectors(corpus, name="corpus", n_features=questions.shape[1])
        return _hits(_numbered(rows, np.arange(len(rows))).search(questions, k, recall=1))
    units = prepare(questions, "cosine", "queries")
    if rescore is None:
        found = _best_codes(corpus, units, k)
        return _hits(Neighbors(found.ids, found.distances / np.float32(2)))
    if np.shape(rescore) != (shape := (len(corpus), units.shape[1])):
        raise InvalidInputError(f"rescore must be the embeddings of the corpus, {shape}, got {np.shape(rescore)}")
    candidates = _best_codes(corpus, units, k * check_integer("rescore_multiplier", rescore_multiplier)).ids
    numbers = np.unique(candidates[candidates >= 0])
    rows = as_vectors(np.asarray(rescore[numbers]), name="rescore")
    return _hits(_numbered(rows, numbers).rank(units, candidates, k))


def _best_codes(corpus: QuantizedEmbeddings, units: F32, k: int) -> Neighbors:
    """The k best codes, with squared distances to decoded embeddings."""
    return corpus.index.search_scores(corpus.quantizer.score_tables(units), k)


def _numbered(rows: F32, numbers: I64) -> NumberedVectors:
    index = NumberedVectors("cosine", 1.0, "float32", rows.shape[1])
    index.append(rows, numbers)
    return index


def _hits(found: Neighbors) -> list[list[Hit]]:
    """Neighbours with distances 1 - cosine as lists of dicts."""
    pairs = zip(found.ids.tolist(), found.distances.tolist(), strict=True)
    return [
        [Hit(corpus_id=number, score=1 - distance) for number, distance in zip(ids, away, strict=True) if number >= 0]
        for ids, away in pairs
    ]
