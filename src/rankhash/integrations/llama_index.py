"""A vector store for LlamaIndex; needs ``pip install 'rankhash[llama-index]'``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from llama_index.core.bridge.pydantic import PrivateAttr
from llama_index.core.indices.query.embedding_utils import get_top_k_mmr_embeddings
from llama_index.core.schema import BaseNode
from llama_index.core.vector_stores.types import (
    BasePydanticVectorStore,
    MetadataFilters,
    VectorStoreQuery,
    VectorStoreQueryMode,
    VectorStoreQueryResult,
)
from llama_index.core.vector_stores.utils import metadata_dict_to_node, node_to_metadata_dict

from ..collection import Collection, Item
from ..collection.filters import And
from ..errors import InvalidInputError
from ._documents import Documents, PathLike, similarity
from ._filters import equal, field, one_of, to_text
from ._llama_index_filters import in_python, matches, tree_of

__all__ = ["RankhashVectorStore"]

NODE_ID = "_node_id"
"""The field with a node's id, for filters"""
MMR_FACTOR = 4
"""Candidates of maximum marginal relevance per requested node; at least MMR_LEAST in total"""
MMR_LEAST = 20
MAX_IDS_LENGTH = 8000
"""Largest total length of ids, in characters, for a filter inside the collection"""

Selection = tuple[str | None, Callable[[Item], bool] | None]


class RankhashVectorStore(BasePydanticVectorStore):
    """LlamaIndex nodes in a rankhash collection.

    A collection searches exactly while it is small, and learns codes by itself as it grows.

    Parameters
    ----------
    path
        The collection's file, which is made if it does not exist; default None: everything stays in memory.
    metric
        ``"cosine"`` (default), ``"euclidean"`` or ``"dot"``. An existing file must have been made with the same.
    recall
        The fraction of the true neighbours that searches of a new collection find on average; default 0.95.

    Notes
    -----
    Queries have the modes DEFAULT and MMR. Filters are evaluated inside the collection, except those with the operators
    ANY, ALL, CONTAINS, TEXT_MATCH, TEXT_MATCH_INSENSITIVE and IS_EMPTY: for these an increasing number of the nearest
    nodes is read until enough match. Similarities are the cosine, the inner product, or 1 / (1 + distance).
    """

    stores_text: bool = True
    flat_metadata: bool = False
    path: str | None = None
    metric: str = "cosine"
    recall: float = 0.95
    _documents: Documents = PrivateAttr()

    def __init__(
        self, path: PathLike | None = None, *, metric: str = "cosine", recall: float = 0.95, **kwargs: Any
    ) -> None:
        documents = Documents(path, metric, recall)
        super().__init__(path=documents.path, metric=metric, recall=recall, **kwargs)
        self._documents = documents

    @classmethod
    def class_name(cls) -> str:
        """The name of the store in LlamaIndex's files."""
        return "RankhashVectorStore"

    @property
    def client(self) -> Collection:
        """The collection; an item's metadata are those of the node, with the node itself as ``_node_content``."""
        return self._documents.collection

    # -- changes ---------------------------------------------------------------------------------------------------

    def add(self, nodes: Sequence[BaseNode], **_: Any) -> list[str]:
        """The ids of nodes that are added with their embeddings; a node that has the same id is replaced."""
        ids = [node.node_id for node in nodes]
        fields = [node_to_metadata_dict(node) | {NODE_ID: node.node_id} for node in nodes]
        self._documents.put(ids, [node.get_embedding() for node in nodes], fields)
        return ids

    def delete(self, ref_doc_id: str, **_: Any) -> None:
        """Remove the nodes that were made from a document."""
        self.client.delete(where=to_text(equal(field("ref_doc_id"), ref_doc_id)))

    def delete_nodes(self, node_ids: list[str] | None = None, filters: MetadataFilters | None = None, **_: Any) -> None:
        """Remove nodes by their ids, by filters (both None by default), or by both: then nodes must match both."""
        if node_ids is None and filters is None:
            raise InvalidInputError("delete_nodes needs node_ids or filters; clear removes all nodes")
        self._documents.remove([str(item.id) for item in self._items(node_ids, filters)])

    def clear(self) -> None:
        """Remove all nodes."""
        self._documents.remove(self.client.ids())

    # -- reading ---------------------------------------------------------------------------------------------------

    def get_nodes(self, node_ids: list[str] | None = None, filters: MetadataFilters | None = None) -> list[BaseNode]:
        """The nodes with known ids that match the filters; None (default) stands for all."""
        return [_node(item) for item in self._items(node_ids, filters)]

    def query(self, query: VectorStoreQuery, **kwargs: Any) -> VectorStoreQueryResult:
        """The nodes that are nearest to the query's embedding, with their similarities."""
        if query.query_embedding is None:
            raise InvalidInputError("a query needs an embedding")
        modes = (VectorStoreQueryMode.DEFAULT, VectorStoreQueryMode.MMR)
        if query.mode not in modes:
            raise InvalidInputError(f"the mode must be one of {', '.join(modes)}, got {query.mode}")
        mmr = query.mode == VectorStoreQueryMode.MMR
        k = query.similarity_top_k
        where, passes = _selection(query)
        n_wanted = max(MMR_FACTOR * k, MMR_LEAST) if mmr else k
        found = self._documents.nearest(query.query_embedding, n_wanted, where, passes, vectors=mmr)
        scores = [similarity(self.metric, distance) for _, distance in found]
        if mmr and found:
            vectors = [item.vector for item, _ in found]
            threshold = kwargs.get("mmr_threshold", query.mmr_threshold)
            places = [*range(len(found))]
            scores, places = get_top_k_mmr_embeddings(
                query.query_embedding, vectors, similarity_top_k=k, embedding_ids=places, mmr_threshold=threshold
            )
            found = [found[place] for place in places]
        nodes = [_node(item) for item, _ in found]
        return VectorStoreQueryResult(nodes=nodes, similarities=scores, ids=[node.node_id for node in nodes])

    def persist(self, persist_path: str, fs: Any = None) -> None:  # noqa: ARG002
        """No operation for a store with a path, whose changes are durable once they return."""
        if self.path is None:
            raise InvalidInputError("a store in memory cannot be persisted; make it with a path")

    def _items(self, node_ids: list[str] | None, filters: MetadataFilters | None) -> list[Item]:
        where, passes = _selection(VectorStoreQuery(filters=filters))
        if node_ids is None:
            return self._documents.passing(where, passes)
        items = self._documents.get(node_ids)
        passing = {*self.client.ids(where=where)} if where is not None else {item.id for item in items}
        return [item for item in items if item.id in passing and (passes is None or passes(item))]


def _node(item: Item) -> BaseNode:
    return metadata_dict_to_node(item.metadata or {})


def _selection(query: VectorStoreQuery) -> Selection:
    """The filter of the collection as text, and a check in Python for the rest; an empty list of ids is no filter."""
    parts, checks = [], []
    for name, wanted in (("ref_doc_id", query.doc_ids), (NODE_ID, query.node_ids)):
        if wanted and sum(map(len, wanted)) <= MAX_IDS_LENGTH:
            parts.append(one_of(field(name), wanted))
        elif wanted:
            checks.append(partial(_is_among, name, {*wanted}))
    filters = query.filters if query.filters is not None and query.filters.filters else None
    if filters is not None and in_python(filters):
        checks.append(partial(matches, filters))
    elif filters is not None:
        parts.append(tree_of(filters))
    where = to_text(And(tuple(parts))) if parts else None
    return where, (lambda item: all(check(item.metadata or {}) for check in checks)) if checks else None


def _is_among(name: str, wanted: set[str], metadata: dict[str, Any]) -> bool:
    return metadata.get(name) in wanted
