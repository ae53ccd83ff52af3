"""Indexes of FAISS as indexes of rankhash, and back; needs ``pip install 'rankhash[faiss]'``."""

from __future__ import annotations

from typing import Any

import faiss

from .._types import I64
from ..codes import CodeLayout
from ..errors import InvalidInputError
from ..index import FlatIndex, Index
from ..vector_index import VectorIndex

__all__ = ["from_faiss", "to_faiss"]

_METRICS = {faiss.METRIC_L2: "euclidean", faiss.METRIC_INNER_PRODUCT: "dot"}


def from_faiss(index: Any, *, recall: float = 0.95) -> FlatIndex | VectorIndex:
    """The codes of a binary index as a `FlatIndex`, or the vectors of a flat index as a `VectorIndex`.

    Parameters
    ----------
    index
        An ``IndexBinaryFlat`` or an ``IndexFlat`` (``IndexFlatL2``, ``IndexFlatIP``), also inside an ``IndexIDMap``,
        whose ids are kept. Without a map, ids are positions.
    recall
        The fraction of the true neighbours that a `VectorIndex` finds on average; default 0.95.
    """
    ids, plain = _without_map(index)
    if isinstance(plain, faiss.IndexBinaryFlat):
        return _codes(plain, ids)
    if not isinstance(plain, faiss.IndexFlat) or plain.metric_type not in _METRICS:
        raise InvalidInputError(
            f"from_faiss takes IndexBinaryFlat and IndexFlat by L2 or inner product, also in an IndexIDMap, got "
            f"{type(plain).__name__}; VectorIndex takes the vectors that other indexes were made of"
        )
    vectors = VectorIndex(_METRICS[plain.metric_type], recall=recall)
    if plain.ntotal:
        vectors.add(plain.reconstruct_n(0, plain.ntotal), ids)
    return vectors


def _codes(plain: Any, ids: I64 | None) -> FlatIndex:
    index = FlatIndex(CodeLayout(plain.d, 2))
    if plain.ntotal:
        index.add(faiss.vector_to_array(plain.xb).reshape(plain.ntotal, -1), ids)
    return index


def to_faiss(index: Index | VectorIndex) -> Any:
    """An exact index of FAISS with the same ids and a copy of the codes or vectors.

    Parameters
    ----------
    index
        An index of codes of arity 2 becomes an ``IndexBinaryIDMap2`` over ``IndexBinaryFlat``; a `VectorIndex` becomes
        an ``IndexIDMap2`` over ``IndexFlatL2`` or ``IndexFlatIP``. Vectors compared by the cosine have unit length, so
        that inner products are cosines.
    """
    if isinstance(index, VectorIndex):
        if index.n_features is None:
            raise InvalidInputError("an index without vectors has no dimension; add some first")
        plain = (faiss.IndexFlatL2 if index.metric == "euclidean" else faiss.IndexFlatIP)(index.n_features)
        vectors = faiss.IndexIDMap2(plain)
        vectors.add_with_ids(index.get(index.ids), index.ids)
        return vectors
    if index.layout.arity != 2 or index.layout.n_symbols % 8:
        raise InvalidInputError(
            f"FAISS takes codes of arity 2 whose bits are a multiple of 8; this index has {index.layout.n_symbols} "
            f"symbols of arity {index.layout.arity}"
        )
    codes = faiss.IndexBinaryIDMap2(faiss.IndexBinaryFlat(index.layout.n_symbols))
    codes.add_with_ids(index.get(index.ids), index.ids)
    return codes


def _without_map(index: Any) -> tuple[I64 | None, Any]:
    """The ids of an index and the index inside; None if ids are positions."""
    if isinstance(index, (faiss.IndexBinaryIDMap, faiss.IndexBinaryIDMap2)):
        return faiss.vector_to_array(index.id_map), faiss.downcast_IndexBinary(index.index)
    if isinstance(index, (faiss.IndexIDMap, faiss.IndexIDMap2)):
        return faiss.vector_to_array(index.id_map), faiss.downcast_index(index.index)
    return None, index
