"""The LangChain store passes LangChain's own suite, and does what its docstrings say."""

from __future__ import annotations

import asyncio

import numpy as np
import pytest

pytest.importorskip("langchain_tests", reason="needs `make test-integrations`, which installs langchain-tests")

from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding, Embeddings
from langchain_tests.integration_tests import VectorStoreIntegrationTests

from rankhash import Collection, FilterError, InvalidInputError
from rankhash.integrations.langchain import RankhashVectorStore


@pytest.mark.anyio
class TestSuite(VectorStoreIntegrationTests):
    """In memory."""

    @pytest.fixture
    def vectorstore(self):
        return RankhashVectorStore(self.get_embeddings())


@pytest.mark.anyio
class TestSuiteOverAFile(VectorStoreIntegrationTests):
    """In a file, by inner products."""

    @pytest.fixture
    def vectorstore(self, tmp_path):
        return RankhashVectorStore(self.get_embeddings(), tmp_path / "documents.rankhash", metric="euclidean")


class Angles(Embeddings):
    """The text is an angle in half degrees, its embedding the point on the circle."""

    def embed_query(self, text):
        angle = np.deg2rad(float(text) / 2)
        return [float(np.cos(angle)), float(np.sin(angle))]

    def embed_documents(self, texts):
        return [self.embed_query(text) for text in texts]


@pytest.fixture
def angles():
    texts = [str(10 * i) for i in range(20)]
    return RankhashVectorStore.from_texts(
        texts, Angles(), [{"even": i % 2 == 0, "place": i, "kind": "ab"[i < 5]} for i in range(20)], ids=texts
    )


def contents(documents):
    return [document.page_content for document in documents]


@pytest.mark.parametrize(
    ("filter", "found"),
    [
        (None, ["0", "10", "20"]),
        ({}, ["0", "10", "20"]),
        ({"even": False}, ["10", "30", "50"]),
        ({"place": {"$gte": 4, "$ne": 5}}, ["40", "60", "70"]),
        ({"place": [7, 3]}, ["30", "70"]),
        ({"place": {"$nin": [0, 1]}, "kind": "b"}, ["20", "30", "40"]),
        ({"$or": [{"place": {"$lt": 1}}, {"place": {"$gt": 17}}]}, ["0", "180", "190"]),
        ({"$not": {"place": {"$lte": 10}}, "$and": [{"even": True}]}, ["120", "140", "160"]),
        ({"missing": {"$exists": True}}, []),
        ({"even": {"$eq": True}}, ["0", "20", "40"]),
        (lambda document: document.metadata["place"] > 16, ["170", "180", "190"]),
        (lambda document: document.page_content == "190", ["190"]),
        (lambda _: False, []),
    ],
)
def test_filters_choose_documents(angles, filter, found):
    assert contents(angles.similarity_search("1", 3, filter=filter)) == found
    retriever = angles.as_retriever(search_kwargs={"k": 3, "filter": filter})
    assert contents(retriever.invoke("1")) == found


def test_a_field_that_no_document_has_counts_as_null_and_is_a_warning(angles):
    with pytest.warns(UserWarning, match=r"no item has the field metadata\.missing"):
        found = angles.similarity_search("1", 2, filter={"missing": None})
    assert contents(found) == ["0", "10"]


@pytest.mark.parametrize(
    "filter",
    [
        "place > 3",
        {"place": {"$near": 3}},
        {"$or": {"place": 3}},
        {"place": {"$in": 3}},
        {"place": {"$lt": None}},
        {"$and": []},
    ],
)
def test_mistakes_in_filters_get_a_sentence(angles, filter):
    with pytest.raises(FilterError):
        angles.similarity_search("1", filter=filter)


@pytest.mark.parametrize(
    ("metric", "distance", "relevance"),
    [("cosine", 0.5, 0.5), ("euclidean", 1.0, 0.5), ("dot", -0.5, 1 / (1 + np.exp(-0.5)))],
)
def test_scores_are_distances_and_relevance_lies_between_0_and_1(metric, distance, relevance):
    store = RankhashVectorStore.from_texts(["120"], Angles(), metric=metric)
    assert store.similarity_search_with_score("0", 1)[0][1] == pytest.approx(distance, abs=1e-6)
    assert store.similarity_search_with_relevance_scores("0", 1)[0][1] == pytest.approx(relevance, abs=1e-6)
    assert store.similarity_search_with_relevance_scores("0", 1, score_threshold=relevance + 0.01) == []


def test_maximal_marginal_relevance_chooses_different_documents(angles):
    assert contents(angles.max_marginal_relevance_search("0", 2, 3, 1.0)) == ["0", "10"]
    assert contents(angles.max_marginal_relevance_search("0", 2, 3, 0.0)) == ["0", "20"]
    retriever = angles.as_retriever(search_type="mmr", search_kwargs={"k": 2, "filter": {"place": [3, 4]}})
    assert contents(retriever.invoke("0")) == ["30", "40"]
    assert contents(asyncio.run(angles.amax_marginal_relevance_search("0", 2, 3, 0.0))) == ["0", "20"]


def test_documents_stay_in_the_file(tmp_path):
    path = tmp_path / "documents.rankhash"
    store = RankhashVectorStore(Angles(), path)
    store.add_documents([Document("30", metadata={"tags": ["a", {"b": None}]}, id="x"), Document("60")])
    store.collection.close()
    again = RankhashVectorStore(Angles(), path)
    assert again.get_by_ids(["x", "y", "x"]) == [Document("30", metadata={"tags": ["a", {"b": None}]}, id="x")]
    assert again.embeddings.embed_query("0") == [1.0, 0.0]
    with pytest.raises(InvalidInputError, match="was made with metric='cosine', not 'dot'"):
        RankhashVectorStore(Angles(), path, metric="dot")
    with Collection.open(path) as collection:
        assert collection.count("metadata.tags = 'a' or page_content = '60'") == 1


def test_of_equal_ids_in_one_call_the_last_counts():
    store = RankhashVectorStore(Angles())
    assert store.add_texts(["10", "20", "30"], ids=["a", "b", "a"]) == ["a", "b", "a"]
    assert contents(store.similarity_search("0")) == ["20", "30"]


def test_more_documents_than_there_are_are_not_an_error(angles):
    assert len(angles.similarity_search("0", 10**9)) == 20
    assert len(angles.similarity_search("0", 10**9, filter=lambda document: document.metadata["even"])) == 10
    assert angles.get_by_ids(["190", "", "0"])[0].page_content == "190"
    assert angles.delete(["", "0"]) is True


def test_delete_without_ids_removes_everything(angles):
    assert angles.delete(["10", "unknown"]) is True
    assert len(angles.collection) == 19
    assert angles.delete() is True
    assert angles.similarity_search("0") == []
    assert angles.add_texts([]) == []


def test_wrong_numbers_of_ids_and_unknown_parameters_change_nothing(angles):
    with pytest.raises(InvalidInputError, match="ids must be one for each of 1 texts"):
        angles.add_texts(["1"], ids=["a", "b"])
    with pytest.raises(InvalidInputError, match="metadatas must be one for each of 2 texts"):
        angles.add_texts(["1", "2"], [{}])
    with pytest.raises(InvalidInputError, match="there is no parameter 'fetch'"):
        angles.similarity_search("0", fetch=3)
    assert len(angles.collection) == 20


def test_many_documents_are_found_as_by_comparing_all():
    embedding = DeterministicFakeEmbedding(size=16)
    texts = [str(i) for i in range(2000)]
    store = RankhashVectorStore.from_texts(texts, embedding)
    vectors = np.array(embedding.embed_documents(texts))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    query = np.array(embedding.embed_query("a question"))
    best = np.argsort(-vectors @ query)[:10]
    assert contents(store.similarity_search("a question", 10)) == [texts[i] for i in best]
