"""Several questions to one commit, and codes in hash tables."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from rankhash import Collection
from rankhash.errors import IdError, InvalidInputError, StorageError


@pytest.fixture
def filled(path, hasher, vectors):
    with Collection.create(path, hasher, store_vectors="float32") as made:
        made.add(vectors, ids=[f"n{i}" for i in range(300)], metadata=[{"third": i % 3} for i in range(300)])
        made.delete([f"n{i}" for i in range(0, 300, 7)])
        yield made


def test_ids_come_in_pages_and_under_a_filter(filled):
    everything = filled.ids()
    assert everything == [f"n{i}" for i in range(300) if i % 7]
    assert filled.ids(offset=5, limit=3) == everything[5:8]
    thirds = [f"n{i}" for i in range(300) if i % 7 and i % 3 == 1]
    assert filled.ids(where="third = 1") == thirds
    assert filled.ids(where="third = 1", offset=70, limit=100) == thirds[70:]
    assert filled.ids(offset=10_000) == filled.ids(limit=0) == []
    for wrong in ({"offset": -1}, {"limit": -1}, {"offset": 1.5}, {"limit": True}):
        with pytest.raises(InvalidInputError, match="non-negative"):
            filled.ids(**wrong)


def test_a_snapshot_does_not_see_what_others_change(filled, path, vectors):
    with Collection.open(path, "rw") as other:
        with filled.snapshot() as now:
            before, generation = now.ids(), now.generation
            found = now.search(vectors[:2], 5)
            other.delete(found.ids[0].tolist())
            other.add(vectors[:1], ids=["new"])
            assert now.ids() == before
            assert now.generation == generation
            assert len(now) == now.count() == len(before)
            assert (now.search(vectors[:2], 5).ids == found.ids).all()
            assert len(now.get(found.ids[0].tolist())) == 5
        with filled.snapshot() as now:
            assert now.generation == generation + 2
            assert "new" in now.ids()
            with pytest.raises(IdError):
                now.get(found.ids[0].tolist())


def test_a_snapshot_answers_as_the_collection_does(filled, vectors):
    options = {"where": "third != 0", "scoring": "asymmetric", "rerank": 20, "radius": 50}
    with filled.snapshot() as now:
        for theirs, ours in (
            (now.search(vectors[:4], 3, **options), filled.search(vectors[:4], 3, **options)),
            (now.search_ids(["n1", "n2"], 3, **options), filled.search_ids(["n1", "n2"], 3, **options)),
            (now.search_radius(vectors[:4], 2), filled.search_radius(vectors[:4], 2)),
        ):
            for a, b in zip(theirs, ours, strict=True):
                assert a.tolist() == b.tolist()
        assert now.get(["n1"], vectors=False)[0].vector is None
        assert (now.get(["n1"])[0].vector == vectors[1]).all()


@pytest.mark.parametrize("where", [None, "third = 2"])
def test_search_stored_finds_the_nearest_vectors(filled, vectors, where):
    kept = [i for i in range(300) if i % 7 and (where is None or i % 3 == 2)]
    queries = np.vstack([vectors[kept[:3]], vectors[:2] + 0.1]).astype(np.float32)
    with filled.snapshot() as now:
        found = now.search_stored(queries, 6, where=where)
        others = now.search_stored(queries[:3], 6, where=where, without=[[f"n{i}"] for i in kept[:3]])
        everything = now.search_stored(queries, 400, where=where)
    away = np.sqrt(((vectors[kept].astype(np.float64) - queries[:, None]) ** 2).sum(axis=2)).astype(np.float32)
    order = np.argsort(away, axis=1, kind="stable")
    assert found.ids.tolist() == [[f"n{kept[i]}" for i in row[:6]] for row in order]
    np.testing.assert_allclose(found.distances, np.take_along_axis(away, order[:, :6], 1), rtol=1e-5, atol=1e-6)
    assert others.ids.tolist() == [[f"n{kept[i]}" for i in row[1:7]] for row in order[:3]]
    assert (everything.ids != None).sum(axis=1).tolist() == [len(kept)] * 5  # noqa: E711


def test_search_stored_needs_stored_vectors(collection, vectors):
    collection.add(vectors)
    with collection.snapshot() as now, pytest.raises(InvalidInputError, match="stores no vectors"):
        now.search_stored(vectors[:1], 3)


@pytest.mark.parametrize("where", [None, "third = 2", "third = 9"])
def test_distances_counts_items_by_their_differing_symbols(filled, vectors, where):
    kept = [i for i in range(300) if i % 7 and (where is None or f"third = {i % 3}" == where)]
    with filled.snapshot() as now:
        counts = now.histogram(filled.hasher.encode(vectors[:3]), where=where)
    symbols = filled.hasher.transform(vectors)
    for row in range(3):
        differing = (symbols[kept] != symbols[row]).sum(axis=1)
        assert counts[row].tolist() == np.bincount(differing, minlength=13).tolist()


def test_tables_answer_as_the_flat_index_through_changes(path, hasher, vectors):
    rng = np.random.default_rng(3)
    Collection.create(path, hasher).close()
    with Collection.open(path, "rw") as flat, Collection.open(path, index="lookup") as tables:
        for step in range(6):
            flat.add(np.repeat(vectors, 10, axis=0) + 0.1 * rng.normal(size=(3000, vectors.shape[1])))
            flat.delete(rng.choice(flat.ids(), 500, replace=False))
            if step == 3:
                flat.compact()
            for scoring in ("hamming", "weighted", "asymmetric"):
                a, b = (items.search(vectors[:20], 7, scoring=scoring) for items in (flat, tables))
                assert a.ids.tolist() == b.ids.tolist()
                assert a.distances.tolist() == b.distances.tolist()
    with pytest.raises(InvalidInputError, match="index must be"):
        Collection.open(path, index="tree")


def test_a_thread_does_not_wait_for_its_own_snapshot(filled, vectors):
    with filled.snapshot() as now:
        assert len(filled.search(vectors[:1], 3).ids) == 1  # the same commit
        filled.add(vectors[:1], ["new"])
        with pytest.raises(StorageError, match="newer changes than an open snapshot of this thread"):
            filled.search(vectors[:1], 3)
        assert len(now) == len(filled) - 1
    assert "new" in filled.search(vectors[:1], 3).ids[0].tolist()


def test_a_thread_reads_again_while_another_one_waits_to_update(filled, path, vectors):
    with ThreadPoolExecutor(1) as thread, Collection.open(path, "rw") as other, filled.snapshot() as now:
        other.add(vectors[:1], ["new"])
        waiting = thread.submit(filled.search, vectors[:1], 3)
        while not filled._reader._lock._waiting:
            time.sleep(0.001)
        with filled._reader._lock.shared():
            assert len(now.search(vectors[:1], 3).ids) == 1
        with pytest.raises(StorageError, match="close it first"):
            filled.search(vectors[:1], 3)
        assert not waiting.done()


def test_a_collection_in_memory_is_read_by_its_snapshot_only(hasher, vectors):
    with Collection.create(":memory:", hasher) as made:
        made.add(vectors[:9])
        with made.snapshot() as now:
            for call in (lambda: made.search(vectors[:1]), lambda: made.add(vectors[:1]), lambda: made.ids()):
                with pytest.raises(StorageError, match="used by an open snapshot of this thread"):
                    call()
            assert len(now.ids()) == 9
        assert len(made.add(vectors[:1])) == 1
