"""Vectors come, go and change: the index finds those that are there, under their ids."""

from __future__ import annotations

import numpy as np
import pytest

from rankhash import IdError, VectorIndex

from . import brute
from .brute import clustered


def expect_brute_force(index, vectors, ids, queries):
    """Exact answers equal brute force; others reach the recall and name no id that is not there."""
    assert len(index) == len(ids)
    np.testing.assert_array_equal(index.ids, np.sort(ids))
    expected = brute.nearest(queries, vectors, 10, "euclidean", ids)[0]
    np.testing.assert_array_equal(index.search(queries, exact=True).ids, expected)
    found = index.search(queries).ids
    assert np.isin(found, ids).all()
    assert np.mean([np.isin(a, b).mean() for a, b in zip(found, expected, strict=True)]) >= 0.92


@pytest.mark.parametrize("mmap", [False, True])
def test_removed_vectors_are_not_found_before_and_after_compaction(learned, stored, queries, mmap):
    index, gone = learned(mmap=mmap), np.random.default_rng(3).permutation(5000)[:600]
    kept = np.setdiff1d(np.arange(5000), gone)
    index.remove(gone)
    expect_brute_force(index, stored[kept], kept, queries)
    before = index.search(queries)
    index.compact()
    expect_brute_force(index, stored[kept], kept, queries)
    np.testing.assert_array_equal(index.search(queries).ids, before.ids)


def test_removing_a_large_share_gives_its_room_back(learned):
    index = learned()
    before = index.nbytes
    index.remove(np.arange(4000))
    assert index.nbytes < before / 2


def test_tightened_cells_have_their_codes_and_no_free_blocks(learned):
    cells = learned()._engine.cells
    own, codes, _ = cells.in_order()
    cells.place(own[:2000], codes[:2000], np.arange(5000, 7000))
    before, used = cells.in_order(), (-(-cells.sizes // 32)).sum()
    assert len(cells.blocks) > used
    cells.tighten()
    assert len(cells.blocks) == len(cells.rows) == used
    for a, b in zip(before, cells.in_order(), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("mmap", [False, True])
def test_upsert_replaces_and_adds_and_keeps_length(learned, stored, queries, mmap):
    index, fresh = learned(mmap=mmap), clustered(11, 300)
    ids = np.concatenate([np.arange(100, 300), np.arange(9000, 9100)])
    index.upsert(fresh, ids)
    assert len(index) == 5100
    others = np.setdiff1d(np.arange(5000), ids)
    expect_brute_force(index, np.concatenate([stored[others], fresh]), np.concatenate([others, ids]), queries)
    np.testing.assert_array_equal(index.get(ids), fresh)
    index.upsert(fresh[::-1], ids)
    assert len(index) == 5100
    np.testing.assert_array_equal(index.get(ids[::-1]), fresh)


@pytest.mark.parametrize("mmap", [False, True])
def test_vectors_added_to_a_learned_index_are_found(learned, stored, queries, mmap):
    index, more = learned(mmap=mmap), clustered(12, 2000)
    for start in range(0, 2000, 250):
        index.add(more[start : start + 250])
    expect_brute_force(index, np.concatenate([stored, more]), np.arange(7000), queries)


def test_a_mapped_file_is_not_changed_by_updates(files, learned, queries):
    content = files["euclidean"].read_bytes()
    index = learned(mmap=True)
    index.add(clustered(13, 500))
    index.remove(np.arange(50))
    index.upsert(clustered(14, 10), np.arange(60, 70))
    index.compact()
    assert files["euclidean"].read_bytes() == content


def test_get_returns_the_vectors_in_the_order_of_the_ids(learned, stored):
    ids = np.array([17, 3, 17, 4999])
    np.testing.assert_array_equal(learned("euclidean").get(ids), stored[ids])
    unit = stored[ids] / np.linalg.norm(stored[ids], axis=1)[:, None]
    np.testing.assert_allclose(learned("cosine").get(ids), unit, atol=1e-6)
    assert learned().get([]).shape == (0, 12)


def test_ids_that_are_not_given_follow_the_largest_one(rng):
    index = VectorIndex("dot")
    index.add(rng.normal(size=(3, 4)), [5, 900, 7])
    np.testing.assert_array_equal(index.add(rng.normal(size=(2, 4))), [901, 902])
    np.testing.assert_array_equal(index.ids, [5, 7, 900, 901, 902])


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda index, x: index.add(x, [1, 2]), "id 2 is already in the index; upsert replaces vectors"),
        (lambda index, x: index.add(x, [90, 90]), "id 90 is given more than once"),
        (lambda index, x: index.add(x, [90]), "one for each of 2 vectors"),
        (lambda index, x: index.add(x, [-1, 90]), "between 0 and"),
        (lambda index, x: index.add(x, [0.5, 90]), "integers"),
        (lambda index, x: index.add(x, np.array([2**63, 90], np.uint64)), "between 0 and"),
        (lambda index, x: index.upsert(x, [90, 90]), "id 90 is given more than once"),
        (lambda index, _: index.remove([2, 50]), "id 50 is not in the index"),
        (lambda index, _: index.remove([2, 2]), "id 2 is given more than once"),
        (lambda index, _: index.get([2, 50]), "id 50 is not in the index"),
        (lambda index, _: index.remove([[2]]), "one-dimensional"),
    ],
)
def test_ids_taken_unknown_or_repeated_are_refused_and_nothing_changes(rng, change, says):
    X = rng.normal(size=(20, 4))
    index = VectorIndex("euclidean")
    index.add(X, np.arange(2, 22))
    before = index.search(X, 5)
    with pytest.raises(IdError, match=says):
        change(index, rng.normal(size=(2, 4)))
    np.testing.assert_array_equal(index.ids, np.arange(2, 22))
    np.testing.assert_array_equal(index.search(X, 5).ids, before.ids)


def test_an_id_can_come_back_after_its_removal(rng):
    index, X = VectorIndex("euclidean"), rng.normal(size=(9, 4))
    for vector in X:
        index.add(vector[None], [6])
        np.testing.assert_allclose(index.get([6])[0], vector, rtol=1e-6)
        index.remove([6])
        assert len(index) == 0
        assert (index.search(X).ids == -1).all()


def test_an_index_of_four_times_as_many_vectors_learns_anew():
    X, Q = clustered(21, 8000, d=6), clustered(22, 50, d=6)
    index = VectorIndex("euclidean", bytes_per_vector=4, verbose=False)
    index.fit(X[:1500]).add(X[:1500])
    few = index.describe()["n_cells"]
    index.add(X[1500:5900])
    assert index.describe()["n_cells"] <= few * 1.5
    index.add(X[5900:])
    assert index.describe()["n_cells"] >= 2 * few
    expect_brute_force(index, X, np.arange(8000), Q)


def test_cells_that_grow_much_larger_than_others_are_split(stored, queries, monkeypatch):
    monkeypatch.setattr("rankhash.vector_index._coder.CODES_PER_CELL", 20)
    index = VectorIndex("euclidean", bytes_per_vector=4, verbose=False)
    index.fit(stored[:3000]).add(stored)
    before = index.describe()["n_cells"]
    crowd = (stored[:1] + np.random.default_rng(4).normal(size=(3000, 12)) * 0.3).astype(np.float32)
    index.add(crowd)
    assert index.describe()["n_cells"] > before
    expect_brute_force(index, np.concatenate([stored, crowd]), np.arange(8000), queries)
