"""Indexes of FAISS and of rankhash give the same answers after conversion, in both directions."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("faiss", reason="needs `make test-integrations`, which installs faiss-cpu")

import faiss

from rankhash import CodeLayout, FlatIndex, InvalidInputError, LookupIndex, VectorIndex
from rankhash.integrations.faiss import from_faiss, to_faiss

RNG = np.random.default_rng(3)
VECTORS = RNG.normal(size=(300, 12)).astype(np.float32)
CODES = RNG.integers(0, 256, (300, 8), dtype=np.uint8)
IDS = RNG.permutation(1000)[:300].astype(np.int64)


def mapped(plain, rows):
    index = (faiss.IndexBinaryIDMap if isinstance(plain, faiss.IndexBinary) else faiss.IndexIDMap2)(plain)
    index.add_with_ids(rows, IDS)
    return index


@pytest.mark.parametrize(("kind", "metric"), [("IndexFlatL2", "euclidean"), ("IndexFlatIP", "dot")])
@pytest.mark.parametrize("with_ids", [False, True])
def test_flat_indexes_become_vector_indexes_and_go_back(kind, metric, with_ids):
    index = getattr(faiss, kind)(12)
    if with_ids:
        index = mapped(index, VECTORS)
    else:
        index.add(VECTORS)
    ours = from_faiss(index)
    assert ours.metric == metric
    found = ours.search(VECTORS[:20], 5)
    away, ids = index.search(VECTORS[:20], 5)
    assert np.array_equal(found.ids, ids)
    expected = np.sqrt(away) if metric == "euclidean" else -away
    np.testing.assert_allclose(found.distances, expected, rtol=1e-4, atol=1e-5)
    again = to_faiss(ours).search(VECTORS[:20], 5)
    assert np.array_equal(again[1], ids)


def test_cosines_become_inner_products_of_unit_vectors():
    ours = VectorIndex("cosine")
    ours.add(VECTORS, IDS)
    units = VECTORS[:5] / np.linalg.norm(VECTORS[:5], axis=1, keepdims=True)
    products, ids = to_faiss(ours).search(units, 4)
    found = ours.search(VECTORS[:5], 4)
    assert np.array_equal(found.ids, ids)
    np.testing.assert_allclose(1 - found.distances, products, atol=1e-5)


@pytest.mark.parametrize("kind", [FlatIndex, LookupIndex])
def test_binary_indexes_become_indexes_of_codes_and_go_back(kind):
    index = mapped(faiss.IndexBinaryFlat(64), CODES)
    ours = from_faiss(index)
    assert np.array_equal(ours.get(IDS), CODES)
    away, _ = index.search(CODES[:20], 300)
    found = ours.search(CODES[:20], 300)
    assert np.array_equal(found.distances, away)
    assert np.array_equal(found.ids[:, 0], IDS[:20])
    other = kind(CodeLayout(64, 2))
    other.add(CODES, IDS)
    assert np.array_equal(to_faiss(other).search(CODES[:20], 300)[0], away)
    assert np.array_equal(from_faiss(to_faiss(other)).get(IDS), CODES)


def test_positions_are_ids_without_a_map():
    index = faiss.IndexBinaryFlat(64)
    assert len(from_faiss(index)) == 0
    index.add(CODES)
    assert np.array_equal(from_faiss(index).ids, np.arange(300))
    assert len(from_faiss(faiss.IndexFlatL2(3))) == 0


def test_what_cannot_be_converted_is_refused():
    with pytest.raises(InvalidInputError, match="got IndexHNSWFlat"):
        from_faiss(faiss.IndexHNSWFlat(12, 8))
    with pytest.raises(InvalidInputError, match="got IndexFlat"):
        from_faiss(faiss.IndexFlat(12, faiss.METRIC_L1))
    with pytest.raises(InvalidInputError, match="got str"):
        from_faiss("index.faiss")
    with pytest.raises(InvalidInputError, match="16 symbols of arity 4"):
        to_faiss(FlatIndex(CodeLayout(16, 4)))
    with pytest.raises(InvalidInputError, match="multiple of 8"):
        to_faiss(FlatIndex(CodeLayout(12, 2)))
    with pytest.raises(InvalidInputError, match="has no dimension"):
        to_faiss(VectorIndex())
