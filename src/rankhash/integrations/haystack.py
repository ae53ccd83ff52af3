"""A document store and an embedding retriever for Haystack; needs ``pip install 'rankhash[haystack]'``."""

from __future__ import annotations

import asyncio
from typing import Any

import numpy as np
from haystack import Document, component, default_from_dict, default_to_dict
from haystack.document_stores.errors import DuplicateDocumentError
from haystack.document_stores.types import DuplicatePolicy, FilterPolicy, apply_filter_policy

from .._checks import check_integer
from ..collection import Collection
from ..collection.filters import Compare
from ..errors import DuplicateIdError, InvalidInputError, TakenIdError
from ._documents import Documents, PathLike
from ._filters import field
from ._haystack_documents import EMBEDDED, document_of, fields_of, score_of
from ._haystack_filters import where_text
from ._haystack_metadata import MetadataMethods

__all__ = ["RankhashDocumentStore", "RankhashEmbeddingRetriever"]


class RankhashDocumentStore(MetadataMethods):
    """Haystack documents in a rankhash collection, with or without embeddings.

    A collection searches exactly while it is small, and learns codes by itself as it grows.

    Parameters
    ----------
    path
        The collection's file, which is made if it does not exist; default None: everything stays in memory.
    metric
        ``"cosine"`` (default), ``"euclidean"`` or ``"dot"``. An existing file must have been made with the same.
    recall
        The fraction of the true neighbours that searches of a new collection find on average; default 0.95.
    embedding_dim
        Dimensions of the embeddings; default None: those of the first embedding. It must be given if the first
        documents are written without embeddings.

    Notes
    -----
    Filters are evaluated inside the collection. They compare texts and dates as text, so that dates must be written in
    one form, such as ``2024-05-01T12:00:00``. Embeddings are stored as float32.
    """

    def __init__(
        self,
        path: PathLike | None = None,
        *,
        metric: str = "cosine",
        recall: float = 0.95,
        embedding_dim: int | None = None,
    ) -> None:
        self._documents = Documents(path, metric, recall)
        self._recall = recall
        self._embedding_dim = embedding_dim

    @property
    def collection(self) -> Collection:
        """The collection; an item's metadata are the fields of a document, such as ``content`` and ``meta``."""
        return self._documents.collection

    def to_dict(self) -> dict[str, Any]:
        """The store's parameters, as stored in Haystack's pipelines; the documents stay in the file."""
        parameters = {"metric": self.collection.metric, "recall": self._recall, "embedding_dim": self._embedding_dim}
        data: dict[str, Any] = default_to_dict(self, path=self._documents.path, **parameters)
        return data

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> RankhashDocumentStore:
        """The store that ``to_dict`` describes."""
        store: RankhashDocumentStore = default_from_dict(cls, data)
        return store

    # -- changes ---------------------------------------------------------------------------------------------------

    def write_documents(self, documents: list[Document], policy: DuplicatePolicy = DuplicatePolicy.NONE) -> int:
        """The number of documents that were written, all of them together.

        Parameters
        ----------
        documents
            The documents.
        policy
            The treatment of ids that are in the store or given twice. FAIL, also the meaning of NONE (default), writes
            nothing and raises DuplicateDocumentError; SKIP keeps the first document, OVERWRITE the last one.
        """
        if not isinstance(documents, list) or not all(isinstance(document, Document) for document in documents):
            raise InvalidInputError(f"documents must be a list of haystack.Document, got {documents!r:.60}")
        if policy == DuplicatePolicy.SKIP:
            known = {*self._documents.known([document.id for document in documents])}
            documents = [*{d.id: d for d in reversed(documents) if d.id not in known}.values()][::-1]
        ids, fields = [document.id for document in documents], [fields_of(document) for document in documents]
        vectors = self._vectors(documents)
        if policy == DuplicatePolicy.OVERWRITE:
            self._documents.put(ids, vectors, fields)
        elif documents:
            try:
                self.collection.add(vectors, ids, fields)
            except (TakenIdError, DuplicateIdError) as error:
                raise DuplicateDocumentError(str(error)) from error
        return len(documents)

    def delete_documents(self, document_ids: list[str]) -> None:
        """Remove documents; unknown ids are ignored."""
        self._documents.remove(document_ids)

    def delete_all_documents(self) -> None:
        """Remove all documents."""
        self._documents.remove(self.collection.ids())

    def delete_by_filter(self, filters: dict[str, Any]) -> int:
        """The number of removed documents: those that match the filters."""
        where = where_text(filters)
        return self._documents.remove(self.collection.ids()) if where is None else self.collection.delete(where=where)

    def update_by_filter(self, filters: dict[str, Any], meta: dict[str, Any]) -> int:
        """The number of documents that match the filters, after adding ``meta`` to their metadata."""
        items = self._documents.passing(where_text(filters), None)
        fields = [{"meta": (item.metadata or {}).get("meta", {}) | meta} for item in items]
        if items:
            self.collection.update_metadata([item.id for item in items], fields)
        return len(items)

    # -- reading ---------------------------------------------------------------------------------------------------

    def count_documents(self) -> int:
        """The number of documents."""
        return len(self.collection)

    def count_documents_by_filter(self, filters: dict[str, Any]) -> int:
        """The number of documents that match the filters."""
        return self.collection.count(where_text(filters))

    def filter_documents(self, filters: dict[str, Any] | None = None) -> list[Document]:
        """The documents that match the filters, in the order in which they were written; all for None (default)."""
        return [document_of(item) for item in self._documents.passing(where_text(filters), None, vectors=True)]

    def embedding_retrieval(
        self,
        query_embedding: list[float],
        filters: dict[str, Any] | None = None,
        top_k: int = 10,
        scale_score: bool = False,
        return_embedding: bool = False,
    ) -> list[Document]:
        """The documents whose embeddings are nearest, with scores, best first.

        Parameters
        ----------
        query_embedding
            The embedding of the query.
        filters
            Which documents may be found; default None: all that have embeddings.
        top_k
            Number of documents; default 10.
        scale_score
            Whether scores lie between 0 and 1; default False: the cosine, the inner product, or 1 / (1 + distance) for
            the Euclidean distance.
        return_embedding
            Whether the documents have their embeddings; default False.
        """
        where = where_text(filters, Compare(field(EMBEDDED), "=", True))
        found = self._documents.nearest(query_embedding, top_k, where, vectors=return_embedding) if top_k else []
        metric = self.collection.metric
        return [document_of(item, score_of(metric, distance, scale_score)) for item, distance in found]

    def _vectors(self, documents: list[Document]) -> list[Any]:
        """One vector per document; that of a document without an embedding is excluded from searches."""
        known = [len(document.embedding) for document in documents if document.embedding is not None]
        dim = self.collection.n_features or self._embedding_dim or next(iter(known), None)
        if dim is None and documents:
            raise InvalidInputError("the first documents have no embeddings; make the store with embedding_dim")
        absent = np.eye(1, dim or 1, dtype=np.float32)[0]
        return [absent if document.embedding is None else document.embedding for document in documents]

    # -- asynchronous ----------------------------------------------------------------------------------------------

    async def count_documents_async(self) -> int:
        """As ``count_documents``, in a thread."""
        return await asyncio.to_thread(self.count_documents)

    async def filter_documents_async(self, filters: dict[str, Any] | None = None) -> list[Document]:
        """As ``filter_documents``, in a thread."""
        return await asyncio.to_thread(self.filter_documents, filters)

    async def write_documents_async(
        self, documents: list[Document], policy: DuplicatePolicy = DuplicatePolicy.NONE
    ) -> int:
        """As ``write_documents``, in a thread."""
        return await asyncio.to_thread(self.write_documents, documents, policy)

    async def delete_documents_async(self, document_ids: list[str]) -> None:
        """As ``delete_documents``, in a thread."""
        await asyncio.to_thread(self.delete_documents, document_ids)

    async def embedding_retrieval_async(self, query_embedding: list[float], **options: Any) -> list[Document]:
        """As ``embedding_retrieval``, in a thread."""
        return await asyncio.to_thread(self.embedding_retrieval, query_embedding, **options)


@component
class RankhashEmbeddingRetriever:
    """A component that finds the documents whose embeddings are nearest to a query's.

    Parameters
    ----------
    document_store
        The store.
    filters
        Which documents may be found; default None: all.
    top_k
        Number of documents; default 10.
    scale_score
        Whether scores lie between 0 and 1; default False.
    return_embedding
        Whether the documents have their embeddings; default False.
    filter_policy
        Whether filters of a run replace (default) those of the component, or are merged with them.
    """

    def __init__(
        self,
        document_store: RankhashDocumentStore,
        *,
        filters: dict[str, Any] | None = None,
        top_k: int = 10,
        scale_score: bool = False,
        return_embedding: bool = False,
        filter_policy: str | FilterPolicy = FilterPolicy.REPLACE,
    ) -> None:
        if not isinstance(document_store, RankhashDocumentStore):
            raise InvalidInputError(f"document_store must be a RankhashDocumentStore, got {document_store!r:.60}")
        self.document_store = document_store
        self.filters = filters
        self.top_k = check_integer("top_k", top_k)
        self.scale_score = scale_score
        self.return_embedding = return_embedding
        self.filter_policy = FilterPolicy.from_str(filter_policy) if isinstance(filter_policy, str) else filter_policy

    def to_dict(self) -> dict[str, Any]:
        """The component's parameters, as stored in Haystack's pipelines."""
        data: dict[str, Any] = default_to_dict(
            self,
            document_store=self.document_store.to_dict(),
            filters=self.filters,
            top_k=self.top_k,
            scale_score=self.scale_score,
            return_embedding=self.return_embedding,
            filter_policy=self.filter_policy.value,
        )
        return data

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> RankhashEmbeddingRetriever:
        """The component that ``to_dict`` describes, with the store that it describes."""
        parameters = dict(data["init_parameters"])
        parameters["document_store"] = RankhashDocumentStore.from_dict(parameters["document_store"])
        retriever: RankhashEmbeddingRetriever = default_from_dict(cls, data | {"init_parameters": parameters})
        return retriever

    @component.output_types(documents=list[Document])
    def run(
        self,
        query_embedding: list[float],
        filters: dict[str, Any] | None = None,
        top_k: int | None = None,
        scale_score: bool | None = None,
        return_embedding: bool | None = None,
    ) -> dict[str, list[Document]]:
        """The nearest documents; None stands for the component's own setting."""
        options = self._options(filters, top_k, scale_score, return_embedding)
        return {"documents": self.document_store.embedding_retrieval(query_embedding, **options)}

    @component.output_types(documents=list[Document])
    async def run_async(
        self,
        query_embedding: list[float],
        filters: dict[str, Any] | None = None,
        top_k: int | None = None,
        scale_score: bool | None = None,
        return_embedding: bool | None = None,
    ) -> dict[str, list[Document]]:
        """As ``run``, in a thread."""
        options = self._options(filters, top_k, scale_score, return_embedding)
        return {"documents": await self.document_store.embedding_retrieval_async(query_embedding, **options)}

    def _options(
        self, filters: dict[str, Any] | None, top_k: int | None, scale_score: bool | None, embeddings: bool | None
    ) -> dict[str, Any]:
        return {
            "filters": apply_filter_policy(self.filter_policy, self.filters, filters),
            "top_k": self.top_k if top_k is None else check_integer("top_k", top_k, 0),
            "scale_score": self.scale_score if scale_score is None else scale_score,
            "return_embedding": self.return_embedding if embeddings is None else embeddings,
        }
