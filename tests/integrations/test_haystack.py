"""The Haystack store passes Haystack's own suites, and does what its docstrings say."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("haystack", reason="needs `make test-integrations`, which installs haystack-ai")

from haystack import Document, Pipeline
from haystack.dataclasses import ByteStream
from haystack.document_stores.errors import DuplicateDocumentError
from haystack.document_stores.types import DuplicatePolicy
from haystack.errors import FilterError
from haystack.testing.document_store import (
    CountDocumentsByFilterTest,
    CountUniqueMetadataByFilterTest,
    DocumentStoreBaseExtendedTests,
    GetMetadataFieldMinMaxTest,
    GetMetadataFieldsInfoTest,
    GetMetadataFieldUniqueValuesTest,
)
from haystack.testing.document_store_async import (
    CountDocumentsAsyncTest,
    DeleteDocumentsAsyncTest,
    FilterDocumentsAsyncTest,
    WriteDocumentsAsyncTest,
)

from rankhash import InvalidInputError
from rankhash.integrations.haystack import RankhashDocumentStore, RankhashEmbeddingRetriever


def as_stored(document):
    """A document whose embedding is rounded as the store rounds it."""
    rounded = None if document.embedding is None else np.float32(document.embedding).tolist()
    return replace(document, embedding=rounded)


class Fixtures:
    @pytest.fixture
    def document_store(self):
        return RankhashDocumentStore(embedding_dim=768)

    @staticmethod
    def assert_documents_are_equal(received, expected):
        assert received == [as_stored(document) for document in expected]

    def test_write_documents(self, document_store):
        document = Document(content="text")
        assert document_store.write_documents([document]) == 1
        with pytest.raises(DuplicateDocumentError):
            document_store.write_documents([Document(content="other"), document])
        assert document_store.filter_documents() == [document]


class TestSuite(
    Fixtures,
    DocumentStoreBaseExtendedTests,
    CountDocumentsByFilterTest,
    CountUniqueMetadataByFilterTest,
    GetMetadataFieldsInfoTest,
    GetMetadataFieldMinMaxTest,
    GetMetadataFieldUniqueValuesTest,
):
    """The extended suite, which contains the base suite, and the suites of all optional methods."""


@pytest.mark.anyio
class TestAsyncSuite(
    Fixtures, CountDocumentsAsyncTest, DeleteDocumentsAsyncTest, FilterDocumentsAsyncTest, WriteDocumentsAsyncTest
):
    """The suite of coroutines."""

    async def test_write_documents_async(self, document_store):
        self.test_write_documents(document_store)


def circle(n=12):
    """Documents at n angles of a quarter of a circle."""
    angles = np.linspace(0, np.pi / 2, n)
    points = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    return [
        Document(
            str(i), content=f"point {i}", embedding=point.tolist(), meta={"place": i, "date": f"2024-01-{i + 1:02}"}
        )
        for i, point in enumerate(points)
    ]


@pytest.fixture
def store():
    store = RankhashDocumentStore()
    store.write_documents(circle())
    return store


def names(documents):
    return [document.id for document in documents]


def test_retriever_finds_the_nearest(store):
    retriever = RankhashEmbeddingRetriever(store, top_k=3)
    found = retriever.run([1.0, 0.1])["documents"]
    assert names(found) == ["1", "0", "2"]
    assert found[0].embedding is None
    assert found[1].score == pytest.approx(1 / np.hypot(1, 0.1))
    scaled = retriever.run([1.0, 0.1], scale_score=True, return_embedding=True, top_k=1)["documents"][0]
    assert scaled.score == pytest.approx((found[0].score + 1) / 2)
    assert scaled.embedding == as_stored(circle()[1]).embedding
    assert retriever.run([1.0, 0.1], top_k=0)["documents"] == []
    assert asyncio.run(retriever.run_async([1.0, 0.1])) == {"documents": found}


def test_filters_of_the_component_are_replaced_or_merged(store):
    own = {"field": "meta.place", "operator": ">=", "value": 5}
    given = {"field": "meta.date", "operator": "<", "value": "2024-01-07"}
    replaced = RankhashEmbeddingRetriever(store, filters=own, top_k=2)
    assert names(replaced.run([1.0, 0.0])["documents"]) == ["5", "6"]
    assert names(replaced.run([1.0, 0.0], filters=given)["documents"]) == ["0", "1"]
    merged = RankhashEmbeddingRetriever(store, filters=own, filter_policy="merge")
    assert names(merged.run([1.0, 0.0], filters=given)["documents"]) == ["5"]


@pytest.mark.parametrize(
    ("metric", "plain", "scaled"),
    [("cosine", 0.6, 0.8), ("dot", 6.0, 1 / (1 + np.exp(-0.06))), ("euclidean", 1 / (1 + 89**0.5), 1 / (1 + 89**0.5))],
)
def test_scores_of_each_metric(metric, plain, scaled):
    store = RankhashDocumentStore(metric=metric)
    store.write_documents([Document("a", embedding=[6.0, 8.0])])
    assert store.embedding_retrieval([1.0, 0.0], top_k=1)[0].score == pytest.approx(plain, rel=1e-5)
    assert store.embedding_retrieval([1.0, 0.0], scale_score=True)[0].score == pytest.approx(scaled, rel=1e-5)


def test_documents_without_embeddings_are_stored_but_never_found(store):
    store.write_documents([Document("bare", content="text")])
    assert store.filter_documents({"field": "id", "operator": "==", "value": "bare"})[0].embedding is None
    assert "bare" not in names(store.embedding_retrieval([1.0, 0.0], top_k=100))
    with pytest.raises(InvalidInputError, match="embedding_dim"):
        RankhashDocumentStore().write_documents([Document(content="text")])


def test_every_field_of_a_document_comes_back(store):
    document = Document(
        content="text",
        blob=ByteStream(b"\0\xff", mime_type="image/png"),
        meta={"content": {"a": [None, 1.5]}},
        score=0.5,
    )
    store.write_documents([document])
    assert store.filter_documents({"field": "content", "operator": "==", "value": "text"}) == [document]


def test_skip_keeps_the_first_and_overwrite_the_last(store):
    twins = [Document("twin", content=text) for text in ("first", "second")]
    assert store.write_documents([*twins, *circle()], DuplicatePolicy.SKIP) == 1
    assert store.filter_documents()[-1].content == "first"
    assert store.write_documents(twins, DuplicatePolicy.OVERWRITE) == 2
    assert store.filter_documents()[-1].content == "second"
    assert store.write_documents([], DuplicatePolicy.FAIL) == 0


def test_nothing_is_written_if_one_id_is_taken(store):
    with pytest.raises(DuplicateDocumentError, match="'3'"):
        store.write_documents([Document("new", embedding=[1.0, 1.0]), circle()[3]])
    assert store.count_documents() == 12


@pytest.mark.parametrize(
    "filters",
    [
        {"field": "meta.place", "operator": "~", "value": 1},
        {"field": 3, "operator": "==", "value": 1},
        {"field": "meta.a`b", "operator": "==", "value": 1},
        {"field": "meta.place", "operator": "==", "value": [1]},
        {"operator": "XOR", "conditions": []},
        {"operator": "AND", "conditions": ["meta.place = 1"]},
        {"operator": "AND", "conditions": [{"field": "meta.place", "operator": "==", "value": i} for i in range(500)]},
    ],
)
def test_mistakes_in_filters_are_haystacks_errors(store, filters):
    with pytest.raises(FilterError):
        store.filter_documents(filters)
    deep = filters
    for _ in range(1000):
        deep = {"operator": "NOT", "conditions": [deep]}
    with pytest.raises(FilterError, match="levels"):
        store.filter_documents(deep)


def test_a_pipeline_is_written_and_read(store, tmp_path):
    path = str(tmp_path / "documents.rankhash")
    RankhashDocumentStore(path, metric="dot").write_documents(circle())
    pipeline = Pipeline()
    on_disk = RankhashDocumentStore(path, metric="dot")
    pipeline.add_component("retriever", RankhashEmbeddingRetriever(on_disk, top_k=2, filter_policy="merge"))
    again = Pipeline.loads(pipeline.dumps(), allowed_modules=["rankhash.integrations.haystack"])
    found = again.run({"retriever": {"query_embedding": [1.0, 0.0]}})["retriever"]["documents"]
    assert names(found) == ["0", "1"]
    assert again.get_component("retriever").to_dict() == pipeline.get_component("retriever").to_dict()
    with pytest.raises(InvalidInputError, match="must be a RankhashDocumentStore"):
        RankhashEmbeddingRetriever("documents")


def test_metadata_of_every_kind_are_described(store):
    store.write_documents([Document("odd", meta={"place": "x", "tags": ["a", {"b": None}], "none": None})])
    assert store.get_metadata_field_min_max("date") == {"min": "2024-01-01", "max": "2024-01-12"}
    assert store.get_metadata_field_min_max("place") == {"min": None, "max": None}
    assert store.get_metadata_field_min_max("tags") == {"min": None, "max": None}
    assert store.get_metadata_field_unique_values("meta.place", "1", size=2) == ([1, 10], 3)
    assert store.get_metadata_field_unique_values("tags") == ([["a", {"b": None}]], 1)
    assert store.get_metadata_fields_info().keys() == {"place", "date", "tags"}
    with pytest.raises(InvalidInputError, match="from_ must be"):
        store.get_metadata_field_unique_values("place", from_=-1)
