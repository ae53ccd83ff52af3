"""A vector store for LangChain; needs ``pip install 'rankhash[langchain]'``."""

from __future__ import annotations

import math
import uuid
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

import numpy as np
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.vectorstores import VectorStore
from langchain_core.vectorstores.utils import maximal_marginal_relevance

from ..collection import Collection, Item
from ..collection.filters import And, Exists, Filter, Not, Or
from ..errors import InvalidInputError
from ._documents import Documents, PathLike, similarity
from ._filters import compare, equal, field, mistake, one_of, to_text

__all__ = ["RankhashVectorStore"]

DocumentFilter = dict[str, Any] | Callable[[Document], bool]

_ORDERED = {"$lt": "<", "$lte": "<=", "$gt": ">", "$gte": ">="}


class RankhashVectorStore(VectorStore):
    """LangChain documents in a rankhash collection, found by the embeddings of their texts.

    A collection searches exactly while it is small, and learns codes by itself as it grows.

    Parameters
    ----------
    embedding
        The embedding model.
    path
        The collection's file, which is made if it does not exist; default None: everything stays in memory.
    metric
        ``"cosine"`` (default), ``"euclidean"`` or ``"dot"``. An existing file must have been made with the same.
    recall
        The fraction of the true neighbours that searches of a new collection find on average; default 0.95.

    Notes
    -----
    The parameter ``filter`` of methods is a function of a document, or a dict of metadata fields:
    ``{"year": 2024}``, ``{"year": {"$gte": 2020}, "language": ["de", "fr"]}``. The operators are $eq, $ne, $lt, $lte,
    $gt, $gte, $in, $nin and $exists; $and, $or and $not combine dicts. Dicts are evaluated inside the collection.
    Functions are called with the nearest documents, an increasing number of them, until enough pass.
    """

    def __init__(
        self, embedding: Embeddings, path: PathLike | None = None, *, metric: str = "cosine", recall: float = 0.95
    ) -> None:
        self._embedding = embedding
        self._documents = Documents(path, metric, recall)

    @property
    def embeddings(self) -> Embeddings:
        """The embedding model."""
        return self._embedding

    @property
    def collection(self) -> Collection:
        """The collection; an item's metadata are ``page_content`` and ``metadata``."""
        return self._documents.collection

    # -- changes ---------------------------------------------------------------------------------------------------

    def add_texts(
        self,
        texts: Iterable[str],
        metadatas: list[dict[str, Any]] | None = None,
        *,
        ids: Sequence[str | None] | None = None,
        **kwargs: Any,
    ) -> list[str]:
        """The ids of texts that are embedded and added; a document that has the same id is replaced.

        Parameters
        ----------
        texts
            The texts.
        metadatas
            One dict per text, of values that JSON supports; default None: no metadata.
        ids
            One id per text, or None for a new one; default None: new ids for all.
        """
        _refuse(kwargs)
        contents = list(texts)
        for name, values in (("metadatas", metadatas), ("ids", ids)):
            if values is not None and len(values) != len(contents):
                raise InvalidInputError(f"{name} must be one for each of {len(contents)} texts, got {len(values)}")
        names = [name or str(uuid.uuid4()) for name in ids or [None] * len(contents)]
        fields = [
            {"page_content": text, "metadata": metadata}
            for text, metadata in zip(contents, metadatas or [{}] * len(contents), strict=True)
        ]
        if contents:
            self._documents.put(names, self._embedding.embed_documents(contents), fields)
        return names

    def delete(self, ids: list[str] | None = None, **kwargs: Any) -> bool | None:
        """Remove the documents of the ids, or all documents for None (default); unknown ids are ignored."""
        _refuse(kwargs)
        self._documents.remove(self.collection.ids() if ids is None else ids)
        return True

    @classmethod
    def from_texts(
        cls,
        texts: list[str],
        embedding: Embeddings,
        metadatas: list[dict[str, Any]] | None = None,
        *,
        ids: list[str] | None = None,
        **kwargs: Any,
    ) -> RankhashVectorStore:
        """A store with these texts; ``kwargs`` are the other parameters of the constructor."""
        store = cls(embedding, **kwargs)
        store.add_texts(texts, metadatas, ids=ids)
        return store

    # -- reading ---------------------------------------------------------------------------------------------------

    def get_by_ids(self, ids: Sequence[str], /) -> list[Document]:
        """The documents of those ids that are known."""
        return [_document(item) for item in self._documents.get(ids)]

    def similarity_search(
        self, query: str, k: int = 4, *, filter: DocumentFilter | None = None, **kwargs: Any
    ) -> list[Document]:
        """The k (default 4) documents that are nearest to a text, nearest first."""
        return self.similarity_search_by_vector(self._embedding.embed_query(query), k, filter=filter, **kwargs)

    def similarity_search_by_vector(
        self, embedding: list[float], k: int = 4, *, filter: DocumentFilter | None = None, **kwargs: Any
    ) -> list[Document]:
        """The k (default 4) documents that are nearest to an embedding, nearest first."""
        found = self.similarity_search_with_score_by_vector(embedding, k, filter=filter, **kwargs)
        return [document for document, _ in found]

    def similarity_search_with_score(
        self, query: str, k: int = 4, *, filter: DocumentFilter | None = None, **kwargs: Any
    ) -> list[tuple[Document, float]]:
        """The k (default 4) documents that are nearest to a text, with their distances; smaller is nearer."""
        vector = self._embedding.embed_query(query)
        return self.similarity_search_with_score_by_vector(vector, k, filter=filter, **kwargs)

    def similarity_search_with_score_by_vector(
        self, embedding: list[float], k: int = 4, *, filter: DocumentFilter | None = None, **kwargs: Any
    ) -> list[tuple[Document, float]]:
        """The k (default 4) documents that are nearest to an embedding, with their distances; smaller is nearer."""
        _refuse(kwargs)
        return [(_document(item), distance) for item, distance in self._nearest(embedding, k, filter)]

    def max_marginal_relevance_search(
        self,
        query: str,
        k: int = 4,
        fetch_k: int = 20,
        lambda_mult: float = 0.5,
        *,
        filter: DocumentFilter | None = None,
        **kwargs: Any,
    ) -> list[Document]:
        """As ``max_marginal_relevance_search_by_vector``, for the embedding of a text."""
        vector = self._embedding.embed_query(query)
        return self.max_marginal_relevance_search_by_vector(vector, k, fetch_k, lambda_mult, filter=filter, **kwargs)

    def max_marginal_relevance_search_by_vector(
        self,
        embedding: list[float],
        k: int = 4,
        fetch_k: int = 20,
        lambda_mult: float = 0.5,
        *,
        filter: DocumentFilter | None = None,
        **kwargs: Any,
    ) -> list[Document]:
        """Documents that are near to an embedding and different from each other.

        Parameters
        ----------
        embedding
            The query.
        k
            Number of documents; default 4.
        fetch_k
            Number of nearest documents to choose from; default 20.
        lambda_mult
            Weight of the similarity to the query, against that of diversity, from 0 to 1; default 0.5.
        filter
            Which documents may be found; default None: all.
        """
        _refuse(kwargs)
        items = [item for item, _ in self._nearest(embedding, max(k, fetch_k), filter, vectors=True)]
        vectors = [item.vector for item in items]
        chosen = maximal_marginal_relevance(np.asarray(embedding, np.float32), vectors, lambda_mult, k)
        return [_document(items[place]) for place in chosen]

    def _nearest(
        self, embedding: list[float], k: int, filter: DocumentFilter | None, *, vectors: bool = False
    ) -> list[tuple[Item, float]]:
        where, passes = _selection(filter)
        return self._documents.nearest(embedding, k, where, passes, vectors=vectors)

    def _select_relevance_score_fn(self) -> Callable[[float], float]:
        """Distances as scores from 0 to 1: the cosine, 1 / (1 + distance), or the logistic function of the product."""
        return partial(_relevance, self.collection.metric)


def _relevance(metric: str, distance: float) -> float:
    score = similarity(metric, distance)
    return 0.5 * (1 + math.tanh(score / 2)) if metric == "dot" else min(max(score, 0.0), 1.0)


def _document(item: Item) -> Document:
    fields = item.metadata or {}
    return Document(fields.get("page_content", ""), id=str(item.id), metadata=fields.get("metadata") or {})


def _refuse(kwargs: dict[str, Any]) -> None:
    if kwargs:
        raise InvalidInputError(f"there is no parameter {min(kwargs)!r}")


# -- filters -------------------------------------------------------------------------------------------------------


def _selection(filter: DocumentFilter | None) -> tuple[str | None, Callable[[Item], bool] | None]:
    """A filter as text for the collection, or as a check of items in Python."""
    if filter is None or filter == {}:
        return None, None
    if callable(filter):
        return None, lambda item: bool(filter(_document(item)))
    return to_text(_tree(filter)), None


def _tree(filter: Any) -> Filter:
    if not isinstance(filter, dict):
        raise mistake(f"a filter must be a dict of metadata fields or a function, got {filter!r:.60}")
    return And(tuple(_part(name, value) for name, value in filter.items()))


def _part(name: str, value: Any) -> Filter:
    """The tree of one entry of a dict."""
    if name in ("$and", "$or"):
        if not isinstance(value, list):
            raise mistake(f"{name} takes a list of dicts, got {value!r:.60}")
        parts = tuple(_tree(part) for part in value)
        return And(parts) if name == "$and" else Or(parts)
    if name == "$not":
        return Not(_tree(value))
    path = field("metadata", name)
    if not isinstance(value, dict):
        return one_of(path, value) if isinstance(value, list) else equal(path, value)
    return And(tuple(_test(path, operator, operand) for operator, operand in value.items()))


def _test(path: str, operator: str, value: Any) -> Filter:
    if operator in _ORDERED:
        return compare(path, _ORDERED[operator], value)
    if operator in ("$in", "$nin"):
        some = one_of(path, value)
        return some if operator == "$in" else Not(some)
    if operator in ("$eq", "$ne"):
        same = equal(path, value)
        return same if operator == "$eq" else Not(same)
    if operator == "$exists":
        return Exists(path) if value else Not(Exists(path))
    known = ", ".join(("$eq", "$ne", *_ORDERED, "$in", "$nin", "$exists"))
    raise mistake(f"there is no operator {operator!r:.40}; known: {known}")
