"""DaskVectorIndex: the true neighbours, from several processes; a lost worker costs no answer."""

from __future__ import annotations

import shutil

import dask.array as da
import numpy as np
import pytest

from rankhash import FileFormatError, IdError, InvalidInputError, LayoutMismatchError, VectorIndex, open_index
from rankhash.engines.dask import DaskIndex, DaskVectorIndex, _folder, _searching
from vector_index.brute import METRICS, clustered, nearest, recall

from .waiting import answer_after_a_kill

CHUNKS = (300, 0, 256, 1, 443)


def made(client, X, metric="euclidean", chunks=CHUNKS, **options):
    return DaskVectorIndex.from_array(
        da.from_array(X, chunks=(chunks, -1)), VectorIndex(metric), client=client, **options
    )


def assert_nearest(found, Q, X, k, metric, ids=None):
    expected = nearest(Q, X, k, metric, ids)
    np.testing.assert_array_equal(found.ids, expected[0])
    np.testing.assert_allclose(found.distances, expected[1], atol=1e-5)


@pytest.mark.parametrize("metric", METRICS)
def test_answers_are_the_true_neighbors(client, rng, metric):
    X, Q = rng.normal(size=(1000, 7)), rng.normal(size=(9, 7))
    index = made(client, X, metric)
    assert (len(index), index.metric, index.n_features, index.n_shards) == (1000, metric, 7, 4)
    assert str(index).startswith("DaskVectorIndex(1000 vectors of 7 dimensions")
    assert index.nbytes >= X.size * 4
    assert_nearest(index.search(Q, 10), Q, X, 10, metric)
    one = VectorIndex(metric)
    one.add(X)
    for k in (1, 600):
        np.testing.assert_array_equal(index.search(Q, k).ids, one.search(Q, k).ids)
    assert (index.search(Q, 1001).ids[:, -1] == -1).all()
    assert index.search(Q[:1]).ids.shape == (1, 10)


def test_equal_distances_are_ordered_by_id_across_shards(client, rng):
    X = rng.integers(-1, 2, (400, 3)).astype(np.float32)
    ids = rng.permutation(9000)[:400]
    index = made(client, X, chunks=(150, 250), ids=ids)
    assert_nearest(index.search(X[:20], 60), X[:20], X, 60, "euclidean", ids)


def test_filters(client, rng):
    X, Q = rng.normal(size=(1000, 5)), rng.normal(size=(6, 5))
    one = VectorIndex("euclidean")
    one.add(X)
    index = made(client, X)
    mask = rng.random(1000) < 0.1
    few = np.array([3, 700, 999, 2**40])
    for chosen in (mask, few, np.array([3, 250], np.uint8), np.empty(0, np.int64)):
        found, expected = index.search(Q, 8, filter=chosen), one.search(Q, 8, filter=chosen)
        np.testing.assert_array_equal(found.ids, expected.ids)
        np.testing.assert_array_equal(found.distances, expected.distances)


def test_many_shards_and_parts_of_queries(client, rng, monkeypatch):
    monkeypatch.setattr(_searching, "FAN_IN", 2)
    monkeypatch.setattr(_searching, "QUERY_BYTES", 3 * 4 * 4)
    monkeypatch.setattr(_searching, "COPIED_BYTES", 100)
    X, Q = rng.normal(size=(440, 4)), rng.normal(size=(17, 4))
    assert_nearest(made(client, X, chunks=(40,) * 11).search(Q, 20), Q, X, 20, "euclidean")


def test_learned_shards_reach_the_recall_and_share_a_fit(client, tmp_path):
    X, Q = clustered(1, 12_000), clustered(2, 100)
    like = VectorIndex("euclidean", n_cells=32, bytes_per_vector=6, verbose=False).fit(X[::3])
    for i in range(2):
        np.save(tmp_path / f"{i}.npy", X[6000 * i : 6000 * (i + 1)])
    index = DaskVectorIndex.from_files(tmp_path, like, client=client)
    assert len(like) == 0
    for wanted in (0.8, 0.97):
        assert recall(index.search(Q, 10, recall=wanted).ids, Q, X, "euclidean") >= wanted - 0.03
    assert recall(index.search(Q, 10, recall=0.5).ids, Q, X, "euclidean") < 0.97
    assert_nearest(index.search(Q, 10, exact=True), Q, X, 10, "euclidean")


@pytest.mark.parametrize("given", [False, True])
@pytest.mark.parametrize("mmap", [False, True])
def test_a_saved_index_answers_alike(client, rng, tmp_path, given, mmap):
    X, Q = rng.normal(size=(1000, 5)), rng.normal(size=(6, 5))
    index = made(client, X, "dot", ids=rng.permutation(5000)[:1000] if given else None)
    index.save(tmp_path / "index")
    again = DaskVectorIndex.open(tmp_path / "index", mmap=mmap, client=client)
    assert (len(again), again.metric, again.n_features) == (1000, "dot", 5)
    found, expected = again.search(Q, 30), index.search(Q, 30)
    np.testing.assert_array_equal(found.ids, expected.ids)
    np.testing.assert_array_equal(found.distances, expected.distances)
    with pytest.raises(InvalidInputError, match="save it elsewhere"):
        again.save(tmp_path / "index")


def test_folders_of_other_things_and_foreign_shards_are_refused(client, rng, tmp_path):
    made(client, rng.normal(size=(90, 5)), chunks=(45, 45)).save(tmp_path / "index")
    made(client, rng.normal(size=(90, 6)), chunks=(45, 45)).save(tmp_path / "other")
    with pytest.raises(LayoutMismatchError, match="holds vectors, not codes"):
        DaskIndex.open(tmp_path / "index", client=client)
    shards, others = (sorted((tmp_path / name).glob("*-0000*")) for name in ("index", "other"))
    assert [len(open_index(path)) for path in shards] == [45, 45]
    shutil.copy(others[0], shards[0])
    with pytest.raises(LayoutMismatchError, match="vectors of 6 dimensions"):
        DaskVectorIndex.open(tmp_path / "index", client=client)


@pytest.mark.parametrize(
    "vectors", [{"metric": "dot"}, {"metric": "dot", "n_features": 0}, {"metric": 3, "n_features": 5}]
)
def test_manifests_that_contradict_themselves_are_refused(client, rng, tmp_path, vectors):
    made(client, rng.normal(size=(20, 5)), chunks=(20,)).save(tmp_path / "index")
    manifest = tmp_path / "index" / _folder.MANIFEST
    header, arrays = _folder._files.read_file(manifest, _folder.KIND)
    _folder._files.write_file(manifest, arrays, header | {"vectors": vectors}, _folder.KIND)
    with pytest.raises(FileFormatError, match="inconsistent"):
        DaskVectorIndex.open(tmp_path / "index", client=client)


def test_bad_input_gets_a_sentence(client, rng, tmp_path):
    X = rng.normal(size=(1000, 5))
    index = made(client, X, "cosine")
    full = VectorIndex()
    full.add(X)
    np.save(tmp_path / "a.npy", X)
    np.save(tmp_path / "b.npy", X[:, :3])
    array = da.from_array(X, chunks=(500, -1))
    for ask, error, match in [
        (lambda: index.search(X[:2, :3]), InvalidInputError, "5"),
        (lambda: index.search(X[:2], 0), InvalidInputError, "k must be"),
        (lambda: index.search(X[:2], recall=2), InvalidInputError, "recall must be"),
        (lambda: index.search(np.zeros((1, 5))), InvalidInputError, "is zero"),
        (lambda: index.search(X[:2], filter=np.ones(3, bool)), InvalidInputError, "1000 entries, got 3"),
        (
            lambda: DaskVectorIndex.from_array(X, VectorIndex(), client=client),
            InvalidInputError,
            "must be a dask array",
        ),
        (lambda: DaskVectorIndex.from_array(array, full, client=client), InvalidInputError, "empty VectorIndex"),
        (lambda: DaskVectorIndex.from_array(array, "cosine", client=client), InvalidInputError, "empty VectorIndex"),
        (lambda: made(client, X, ids=np.zeros(1000, int)), IdError, "id 0 is"),
        (lambda: made(client, np.where(X > 3, np.nan, X) * np.nan), InvalidInputError, "in block 0"),
        (
            lambda: DaskVectorIndex.from_files(tmp_path, VectorIndex(), client=client),
            InvalidInputError,
            "one dimension",
        ),
    ]:
        with pytest.raises(error, match=match):
            ask()


def test_a_worker_killed_in_the_middle_of_a_search_costs_no_answer(own_client, rng, tmp_path):
    X = rng.normal(size=(30_000, 8)).astype(np.float32)
    one = VectorIndex("euclidean")
    one.add(X)
    for i in range(3):
        np.save(tmp_path / f"{i}.npy", X[10_000 * i : 10_000 * (i + 1)])
    index = DaskVectorIndex.from_files(tmp_path, VectorIndex("euclidean"), client=own_client)
    answer, victim = answer_after_a_kill(own_client, lambda: index.search(X[:6000], 5, exact=True))
    expected = one.search(X[:6000], 5, exact=True)
    np.testing.assert_array_equal(answer.ids, expected.ids)
    np.testing.assert_array_equal(answer.distances, expected.distances)
    holders = own_client.who_has(index._shards.futures).values()
    assert all(holder and victim not in holder for holder in holders)
