"""What a VectorIndex finds is what brute force finds: exactly, or up to the recall that was asked for."""

from __future__ import annotations

import numpy as np
import pytest

from rankhash import InvalidInputError, VectorIndex, _kernels, cpu_info

from . import brute
from .brute import METRICS, clustered


@pytest.mark.parametrize("metric", METRICS)
def test_small_sets_are_searched_exactly(rng, metric):
    X, Q = rng.normal(size=(700, 9)), rng.normal(size=(20, 9))
    index = VectorIndex(metric)
    np.testing.assert_array_equal(index.add(X), np.arange(700))
    found = index.search(Q, k=15)
    ids, distances = brute.nearest(Q, X, 15, metric)
    np.testing.assert_array_equal(found.ids, ids)
    np.testing.assert_allclose(found.distances, distances, atol=1e-5)
    assert index.describe()["exact"]


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("how", [{"exact": True}, {"recall": 1.0}])
def test_exact_searches_of_a_learned_index_equal_brute_force(learned, stored, queries, metric, how):
    index = learned(metric)
    assert not index.describe()["exact"]
    found = index.search(queries, k=12, **how)
    ids, distances = brute.nearest(queries, stored, 12, metric)
    np.testing.assert_array_equal(found.ids, ids)
    np.testing.assert_allclose(found.distances, distances, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("metric", ["euclidean", "dot"])
def test_of_equal_distances_the_smaller_id_comes_first(rng, metric):
    X = rng.integers(-2, 3, (400, 3))
    ids = rng.permutation(10_000)[:400]
    index = VectorIndex(metric)
    index.add(X, ids)
    expected = brute.nearest(X[:30], X, 50, metric, ids)[0]
    np.testing.assert_array_equal(index.search(X[:30], k=50).ids, expected)


def test_copies_of_a_vector_come_in_the_order_of_their_ids(rng):
    X = np.repeat(rng.normal(size=(10, 6)), 8, axis=0)
    ids = rng.permutation(500)[:80]
    index = VectorIndex("cosine")
    index.add(X, ids)
    for row, found in enumerate(index.search(X[::8], k=8).ids):
        np.testing.assert_array_equal(found, np.sort(ids[8 * row : 8 * row + 8]))


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize(("k", "wanted"), [(1, 0.95), (10, 0.8), (10, 0.95), (10, 0.99), (100, 0.95)])
def test_a_learned_index_reaches_the_recall_asked_for(learned, stored, queries, metric, k, wanted):
    found = learned(metric).search(queries, k, recall=wanted)
    assert brute.recall(found.ids, queries, stored, metric) >= wanted - 0.03


@pytest.mark.parametrize("metric", METRICS)
def test_distances_of_a_learned_index_are_true_ones_in_order(learned, stored, queries, metric):
    found = learned(metric).search(queries, 20)
    truth = np.take_along_axis(brute.distances(queries, stored, metric), found.ids, axis=1)
    np.testing.assert_allclose(found.distances, truth, rtol=1e-5, atol=1e-5)
    assert (np.diff(found.distances, axis=1) >= 0).all()
    assert all(len(set(row)) == 20 for row in found.ids)


@pytest.mark.parametrize("name", [*METRICS, "codes"])
def test_answers_do_not_depend_on_threads_batches_the_instruction_set_or_the_file(learned, queries, name):
    index = learned(name)
    expected = index.search(queries, n_threads=1)
    answers = [index.search(queries, n_threads=n) for n in (2, 5)]
    answers.append(learned(name, mmap=True).search(queries))
    before = cpu_info().isa
    for isa in cpu_info().available:
        _kernels.use_isa(isa)
        answers.append(index.search(queries))
    _kernels.use_isa(before)
    for found in answers:
        np.testing.assert_array_equal(found.ids, expected.ids)
        np.testing.assert_array_equal(found.distances, expected.distances)
    for row, query in enumerate(queries):
        alone = index.search(query[None])
        np.testing.assert_array_equal(alone.ids[0], expected.ids[row])
        np.testing.assert_array_equal(alone.distances[0], expected.distances[row])


@pytest.mark.parametrize("metric", METRICS)
def test_the_same_vectors_and_seed_give_the_same_index(stored, queries, learned, metric, tmp_path):
    again = VectorIndex(metric, n_cells=32, bytes_per_vector=6, verbose=False)
    again.fit(stored[::2]).add(stored)
    np.testing.assert_array_equal(again.search(queries).ids, learned(metric).search(queries).ids)


@pytest.mark.parametrize("share", [0.002, 0.5, 0.9])
def test_filters_of_ids_and_masks_find_only_what_passes(learned, stored, queries, share):
    index, passes = learned("euclidean"), np.random.default_rng(5).random(len(stored)) < share
    by_mask, by_ids = index.search(queries, filter=passes), index.search(queries, filter=np.flatnonzero(passes)[::-1])
    np.testing.assert_array_equal(by_mask.ids, by_ids.ids)
    chosen = np.flatnonzero(passes)
    expected = brute.nearest(queries, stored[passes], 10, "euclidean", chosen)[0]
    if share < 0.9:  # few enough to compare all of them
        np.testing.assert_array_equal(by_ids.ids, expected)
    else:
        assert passes[by_ids.ids].all()
        assert np.mean([len(np.intersect1d(a, b)) / 10 for a, b in zip(by_ids.ids, expected, strict=True)]) >= 0.92


def test_filters_pass_over_ids_that_are_not_there_and_removed_ones(learned, queries):
    index = learned()
    index.remove([3, 4])
    found = index.search(queries, k=4, filter=[3, 5, 99_999, 7])
    assert (np.sort(found.ids, axis=1) == [-1, -1, 5, 7]).all()
    assert (index.search(queries, filter=[]).ids == -1).all()
    mask = np.isin(index.ids, [5, 7])
    np.testing.assert_array_equal(index.search(queries, k=4, filter=mask).ids, found.ids)


@pytest.mark.parametrize("name", ["cosine", "dot"])
def test_places_that_cannot_be_filled_have_no_id_and_are_infinitely_far(rng, name):
    index = VectorIndex(name)
    index.add(rng.normal(size=(3, 4)), [7, 8, 9])
    found = index.search(rng.normal(size=(2, 4)), k=5)
    assert (np.sort(found.ids[:, :3], axis=1) == [7, 8, 9]).all()
    assert (found.ids[:, 3:] == -1).all()
    assert np.isposinf(found.distances[:, 3:]).all()


def test_an_index_without_vectors_finds_nothing(rng):
    found = VectorIndex().search(rng.normal(size=(3, 4)), k=2)
    assert (found.ids == -1).all()
    assert np.isposinf(found.distances).all()


@pytest.mark.parametrize(("dtype", "error"), [("float16", 1e-3), ("int8", 1e-2)])
@pytest.mark.parametrize("metric", METRICS)
def test_short_rows_are_searched_as_they_were_rounded(rng, metric, dtype, error):
    X, Q = rng.normal(size=(500, 20)), rng.normal(size=(10, 20))
    index = VectorIndex(metric, vectors=dtype)
    index.add(X)
    rounded = index.get(np.arange(500))
    unit = X / np.linalg.norm(X, axis=1)[:, None] if metric == "cosine" else X
    assert np.abs(rounded - unit).max() <= error * np.abs(unit).max()
    found, expected = index.search(Q, k=5), brute.distances(Q, X, metric)
    np.testing.assert_allclose(found.distances, np.take_along_axis(expected, found.ids, axis=1), atol=20 * error)


def test_codes_alone_find_most_neighbours_but_know_no_vectors(learned, stored, queries):
    index = learned("codes")
    found = index.search(queries, k=10)
    truth = brute.nearest(queries, stored, 50, "euclidean")[0]
    assert np.mean([np.isin(a, b).mean() for a, b in zip(found.ids, truth, strict=True)]) >= 0.7
    for refused in (lambda: index.get([0]), lambda: index.search(queries, exact=True)):
        with pytest.raises(InvalidInputError, match=r"codes only \(vectors=None\)"):
            refused()


def test_n_probes_and_n_candidates_are_obeyed(stored, queries):
    index = VectorIndex("euclidean", n_cells=16, bytes_per_vector=4, n_probes=16, n_candidates=5000, verbose=False)
    index.fit(stored[:2000]).add(stored)
    assert index.describe()["n_candidates"] == 5000
    assert index.describe()["effort"] == 16
    assert brute.recall(index.search(queries).ids, queries, stored, "euclidean") >= 0.99


def test_cells_are_learned_by_the_first_add_of_many_vectors(monkeypatch):
    monkeypatch.setattr("rankhash.vector_index._options.EXACT_NUMBERS", 40_000)
    X, Q = clustered(7, 5000, d=10), clustered(8, 40, d=10)
    index = VectorIndex("euclidean", bytes_per_vector=5, verbose=False)
    index.add(X[:4000])
    assert index.describe()["exact"]
    index.add(X[4000:])
    assert not index.describe()["exact"]
    assert brute.recall(index.search(Q).ids, Q, X, "euclidean") >= 0.92


@pytest.mark.parametrize("metric", brute.METRICS)
def test_empty_batches_are_answered_and_change_nothing(metric):
    X = brute.clustered(3, 50)
    index = VectorIndex(metric)
    none = np.empty((0, X.shape[1]))
    assert index.add(none).shape == (0,)
    assert index.n_features is None
    assert index.search(none, k=4).ids.shape == (0, 4)
    index.add(X)
    index.upsert(none, [])
    assert index.add(none, ids=[]).shape == (0,)
    assert index.search(none, k=4).distances.shape == (0, 4)
    assert len(index) == 50
