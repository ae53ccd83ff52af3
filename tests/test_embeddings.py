"""Sentence embeddings in one call, compared with what NumPy finds."""

from __future__ import annotations

import numpy as np
import pytest

import rankhash
from rankhash import InvalidInputError, quantize, semantic_search
from rankhash.embeddings import QuantizedEmbeddings

RNG = np.random.default_rng(7)
CORPUS = (RNG.normal(size=(600, 48)) * np.linspace(2, 0.2, 48) * RNG.uniform(0.5, 3, (600, 1))).astype(np.float32)
QUERIES = CORPUS[:40] + 0.3 * RNG.normal(size=(40, 48)).astype(np.float32)


@pytest.fixture(scope="module")
def quantized():
    return quantize(CORPUS, n_bytes=4)


def unit(vectors):
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def numbers(hits):
    return [[hit["corpus_id"] for hit in row] for row in hits]


def scores(hits):
    return [[hit["score"] for hit in row] for row in hits]


def test_embeddings_are_compared_exactly():
    cosines = unit(QUERIES.astype(np.float64)) @ unit(CORPUS.astype(np.float64)).T
    hits = semantic_search(QUERIES, CORPUS, 5)
    assert numbers(hits) == np.argsort(-cosines, axis=1)[:, :5].tolist()
    np.testing.assert_allclose(scores(hits), -np.sort(-cosines, axis=1)[:, :5], atol=1e-6)
    assert type(hits[0][0]["corpus_id"]) is int
    assert semantic_search(QUERIES[0], CORPUS, 5) == hits[:1]


def test_codes_are_compared_with_decoded_embeddings(quantized):
    assert quantized.codes.shape == (600, 4)
    assert quantized.n_bytes == 4
    decoded = quantized.decode()
    hits = semantic_search(QUERIES, quantized, 1)
    away = np.square(unit(QUERIES)[:, None] - decoded[None]).sum(axis=2)
    assert np.mean([row[0] == best for row, best in zip(numbers(hits), away.argmin(axis=1), strict=True)]) > 0.8
    np.testing.assert_allclose(scores(hits), 1 - away.min(axis=1)[:, None] / 2, atol=0.05)


def test_rescoring_gives_true_cosines_and_finds_more(quantized):
    truth = numbers(semantic_search(QUERIES, CORPUS, 10))

    def recall(hits):
        return np.mean([len({*a} & {*b}) / 10 for a, b in zip(numbers(hits), truth, strict=True)])

    plain = semantic_search(QUERIES, quantized, 10)
    rescored = semantic_search(QUERIES, quantized, 10, rescore=CORPUS)
    wide = semantic_search(QUERIES, quantized, 10, rescore=CORPUS, rescore_multiplier=20)
    assert recall(plain) < recall(rescored) < recall(wide)
    assert recall(wide) > 0.9
    cosines = unit(QUERIES) @ unit(CORPUS).T
    for row, hits in enumerate(rescored):
        assert [hit["score"] for hit in hits] == pytest.approx(
            [cosines[row, hit["corpus_id"]] for hit in hits], abs=1e-5
        )
    everything = semantic_search(QUERIES, quantized, 10, rescore=CORPUS, rescore_multiplier=60)
    assert numbers(everything) == truth


def test_rescoring_reads_a_mapped_array(quantized, tmp_path):
    np.save(tmp_path / "embeddings.npy", CORPUS)
    mapped = np.load(tmp_path / "embeddings.npy", mmap_mode="r")
    assert semantic_search(QUERIES, quantized, rescore=mapped) == semantic_search(QUERIES, quantized, rescore=CORPUS)


def test_codes_and_quantiser_are_kept_as_the_docstring_says(quantized, tmp_path):
    quantized.quantizer.save(tmp_path / "quantizer.safetensors")
    np.save(tmp_path / "codes.npy", quantized.codes)
    again = QuantizedEmbeddings(
        np.load(tmp_path / "codes.npy"), rankhash.load_hasher(tmp_path / "quantizer.safetensors")
    )
    assert len(again) == 600
    assert semantic_search(QUERIES, again) == semantic_search(QUERIES, quantized)


def test_lengths_do_not_count(quantized):
    assert np.array_equal(quantize(CORPUS * 4, n_bytes=4).codes, quantized.codes)


def test_a_corpus_that_is_too_small_gives_fewer_hits(quantized):
    assert [len(row) for row in semantic_search(QUERIES[:2], CORPUS[:3], 10)] == [3, 3]
    assert [len(row) for row in semantic_search(QUERIES[:2], quantized, 2000, rescore=CORPUS)] == [600, 600]


def test_bad_input_is_refused(quantized):
    with pytest.raises(InvalidInputError, match="n_bytes"):
        quantize(CORPUS, n_bytes=0)
    with pytest.raises(InvalidInputError, match="is zero"):
        quantize(np.vstack([CORPUS[:50], np.zeros(48)]), n_bytes=2)
    with pytest.raises(InvalidInputError, match="top_k"):
        semantic_search(QUERIES, CORPUS, 0)
    with pytest.raises(InvalidInputError, match="needs a quantised corpus"):
        semantic_search(QUERIES, CORPUS, rescore=CORPUS)
    with pytest.raises(InvalidInputError, match=r"\(600, 48\), got \(10, 48\)"):
        semantic_search(QUERIES, quantized, rescore=CORPUS[:10])
    with pytest.raises(InvalidInputError, match="48"):
        semantic_search(QUERIES[:, :7], quantized)
