"""The LlamaIndex store works under LlamaIndex's own index, and does what its docstrings say."""

from __future__ import annotations

import asyncio

import numpy as np
import pytest

pytest.importorskip("llama_index.core", reason="needs `make test-integrations`, which installs llama-index-core")

from llama_index.core import Document, MockEmbedding, StorageContext, VectorStoreIndex
from llama_index.core.embeddings import BaseEmbedding
from llama_index.core.schema import NodeRelationship, RelatedNodeInfo, TextNode
from llama_index.core.vector_stores.simple import SimpleVectorStore
from llama_index.core.vector_stores.types import (
    FilterCondition,
    FilterOperator,
    MetadataFilter,
    MetadataFilters,
    VectorStoreQuery,
    VectorStoreQueryMode,
)

from rankhash import FilterError, InvalidInputError
from rankhash.integrations.llama_index import RankhashVectorStore


class Angles(BaseEmbedding):
    """The text is an angle in degrees, its embedding the point on the circle."""

    def _get_text_embedding(self, text):
        angle = np.deg2rad(float(text))
        return [float(np.cos(angle)), float(np.sin(angle))]

    def _get_query_embedding(self, query):
        return self._get_text_embedding(query)

    async def _aget_query_embedding(self, query):
        return self._get_text_embedding(query)


def nodes():
    """Ten nodes, two of each document, 9 degrees apart."""
    made = []
    for i in range(10):
        metadata = {"place": i, "tags": ["even", "small"][i % 2 :][: 1 + (i < 4)], "name": f"Node {i}"}
        node = TextNode(id_=f"node-{i}", text=str(9 * i), metadata=metadata)
        node.relationships[NodeRelationship.SOURCE] = RelatedNodeInfo(node_id=f"document-{i // 2}")
        node.embedding = Angles()._get_text_embedding(node.text)
        made.append(node)
    return made


@pytest.fixture
def store():
    store = RankhashVectorStore()
    assert store.add(nodes()) == [node.node_id for node in nodes()]
    return store


def ids(store, filters=None, k=10, **options):
    query = VectorStoreQuery(query_embedding=[1.0, 0.0], similarity_top_k=k, filters=filters, **options)
    return store.query(query).ids


def one(operator, value, key="place"):
    return MetadataFilters(filters=[MetadataFilter(key=key, value=value, operator=operator)])


def test_index_of_llama_index_over_the_store(tmp_path):
    store = RankhashVectorStore(tmp_path / "nodes.rankhash")
    context = StorageContext.from_defaults(vector_store=store)
    documents = [Document(text=str(15 * i), doc_id=f"doc-{i}", metadata={"place": i}) for i in range(6)]
    for document in documents:
        document.excluded_embed_metadata_keys = ["place"]
    index = VectorStoreIndex.from_documents(documents, storage_context=context, embed_model=Angles())
    assert [hit.text for hit in index.as_retriever(similarity_top_k=3).retrieve("31")] == ["30", "45", "15"]
    filtered = index.as_retriever(similarity_top_k=2, filters=one(FilterOperator.GT, 3))
    assert [hit.metadata["place"] for hit in filtered.retrieve("0")] == [4, 5]
    assert [hit.text for hit in asyncio.run(index.as_retriever(similarity_top_k=1).aretrieve("74"))] == ["75"]
    index.delete_ref_doc("doc-2")
    index.insert(Document(text="31", doc_id="doc-9"))
    context.persist(tmp_path / "storage")
    store.client.close()

    again = VectorStoreIndex.from_vector_store(RankhashVectorStore(tmp_path / "nodes.rankhash"), embed_model=Angles())
    hits = again.as_retriever(similarity_top_k=2).retrieve("30")
    assert [hit.text for hit in hits] == ["31", "45"]
    assert hits[0].score == pytest.approx(np.cos(np.deg2rad(1)), abs=1e-6)
    assert hits[0].node.ref_doc_id == "doc-9"


@pytest.mark.parametrize("operator", [*FilterOperator])
def test_every_operator_means_what_it_means_in_llama_index(store, operator):
    simple = SimpleVectorStore()
    simple.add(nodes())
    lists = {FilterOperator.IN: [1, 4], FilterOperator.NIN: [1, 4]}
    texts = {FilterOperator.TEXT_MATCH: "Node 1", FilterOperator.TEXT_MATCH_INSENSITIVE: "node 1"}
    if operator in texts:
        filters = one(operator, texts[operator], "name")
    elif operator in (FilterOperator.ANY, FilterOperator.ALL):
        filters = one(operator, ["even", "small"], "tags")
    elif operator == FilterOperator.CONTAINS:
        filters = one(operator, "small", "tags")
    elif operator == FilterOperator.IS_EMPTY:
        filters = one(operator, None, "missing")
    else:
        filters = one(operator, lists.get(operator, 4))
    found = ids(store, filters)
    assert found
    assert found == ids(simple, filters)
    assert found[:2] == ids(store, filters, k=2)


def test_filters_are_combined_and_nested(store):
    low, high = one(FilterOperator.LT, 2), one(FilterOperator.GTE, 8)
    either = MetadataFilters(filters=[low, high], condition=FilterCondition.OR)
    small = MetadataFilter(key="tags", value="small", operator=FilterOperator.CONTAINS)
    assert ids(store, either) == ["node-0", "node-1", "node-8", "node-9"]
    assert ids(store, MetadataFilters(filters=[either, small])) == ["node-0", "node-1", "node-9"]
    neither = MetadataFilters(filters=[low, high], condition=FilterCondition.NOT)
    assert ids(store, neither) == [f"node-{i}" for i in range(2, 8)]
    assert ids(store, neither, node_ids=["node-3", "node-9"], doc_ids=["document-1", "document-2"]) == ["node-3"]
    many = [f"node-{i}" for i in range(5, 2000)]
    assert ids(store, low, node_ids=many) == []
    assert ids(store, neither, node_ids=many) == ["node-5", "node-6", "node-7"]
    assert ids(store, MetadataFilters(filters=[neither, small], condition=FilterCondition.NOT)) == ["node-8"]


def test_mistakes_in_filters_get_a_sentence(store):
    with pytest.raises(FilterError, match="one value"):
        ids(store, one(FilterOperator.EQ, [1]))
    with pytest.raises(FilterError, match="must be a list"):
        ids(store, one(FilterOperator.IN, 1))


def test_modes(store):
    assert ids(store, k=2, mode=VectorStoreQueryMode.MMR, mmr_threshold=0.0) == ["node-0", "node-9"]
    assert ids(store, k=2, mode=VectorStoreQueryMode.MMR, mmr_threshold=1.0) == ["node-0", "node-1"]
    with pytest.raises(InvalidInputError, match="mode must be one of default, mmr"):
        ids(store, mode=VectorStoreQueryMode.SPARSE)
    with pytest.raises(InvalidInputError, match="needs an embedding"):
        store.query(VectorStoreQuery())


def test_nodes_are_read_and_removed(store):
    node = store.get_nodes(["node-3", "unknown"])[0]
    expected = nodes()[3]
    expected.embedding = None
    assert node.to_dict() == expected.to_dict()
    assert len(store.get_nodes()) == 10
    store.delete("document-0")
    store.delete_nodes(["node-2", "unknown"])
    store.delete_nodes(["node-3", "node-9"], filters=one(FilterOperator.GT, 5))
    assert [node.node_id for node in store.get_nodes(filters=one(FilterOperator.GT, 2))] == [
        f"node-{i}" for i in range(3, 9)
    ]
    with pytest.raises(InvalidInputError, match="node_ids or filters"):
        store.delete_nodes()
    store.clear()
    assert ids(store) == []
    assert store.add([]) == []


def test_a_store_in_memory_does_not_pretend_to_persist(store, tmp_path):
    with pytest.raises(InvalidInputError, match="make it with a path"):
        store.persist(str(tmp_path / "store"))


def test_mock_embedding_of_llama_index_gives_ties_in_the_order_of_insertion():
    context = StorageContext.from_defaults(vector_store=RankhashVectorStore())
    documents = [Document(text=f"text {i}") for i in range(5)]
    index = VectorStoreIndex.from_documents(documents, storage_context=context, embed_model=MockEmbedding(embed_dim=4))
    assert [hit.text for hit in index.as_retriever(similarity_top_k=5).retrieve("?")] == [d.text for d in documents]
