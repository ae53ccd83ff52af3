"""Hash tables that a background thread builds change no answer of a collection."""

from __future__ import annotations

import pickle
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from rankhash import Collection, InvalidInputError
from rankhash.collection import _replica
from rankhash.index import background

from .conftest import N_FEATURES


@pytest.fixture
def eager(monkeypatch):
    """Tables of few codes, which are then used however long it takes."""
    monkeypatch.setattr(background.BackgroundTableStore, "tail", 64)
    monkeypatch.setattr(
        background.BackgroundTableStore, "tries", lambda store: [(1 << 40, 1e15, 1e15)] if store.segments else []
    )


def wait_for_tables(collection):
    for _ in range(1000):
        if collection.stats().index.endswith(" tables"):
            return
        time.sleep(0.01)
    raise AssertionError(f"still {collection.stats().index} after 10 s")


def assert_same(one, other):
    assert one.ids.tolist() == other.ids.tolist()
    np.testing.assert_array_equal(one.distances, other.distances)


def test_answers_are_the_same_before_while_and_after_tables_are_made(eager, path, hasher, rng):
    rounds = 12
    queries = rng.normal(size=(5, N_FEATURES)).astype(np.float32)
    with (
        Collection.create(path, hasher, index="lookup") as made,
        Collection.open(path, index="lookup") as tables,
        Collection.open(path, index="flat") as flat,
    ):
        for turn in range(rounds):
            made.add(
                rng.normal(size=(400, N_FEATURES)).astype(np.float32),
                [f"{turn}-{i}" for i in range(400)],
                [{"i": i} for i in range(400)],
            )
            gone = [f"{turn}-{i}" for i in range(0, 400, 3 if turn % 4 else 2)]
            made.delete(gone)
            if turn == rounds // 2:
                made.compact()
            for collection in (made, tables):
                for scoring in ("hamming", "weighted", "asymmetric"):
                    assert_same(
                        collection.search(queries, 9, scoring=scoring), flat.search(queries, 9, scoring=scoring)
                    )
                assert_same(collection.search(queries, 9, where="i < 40"), flat.search(queries, 9, where="i < 40"))
                assert_same(collection.search_radius(queries, 4), flat.search_radius(queries, 4))
        wait_for_tables(tables)
        assert_same(tables.search(queries, 9), flat.search(queries, 9))
        assert flat.stats().index == "flat"
        assert tables.stats().index_bytes > flat.stats().index_bytes


def test_searches_in_threads_go_on_while_tables_are_made(eager, path, hasher, rng):
    queries = rng.normal(size=(4, N_FEATURES)).astype(np.float32)
    wrong = []
    with Collection.create(path, hasher, index="lookup") as made:

        def search(n):
            for _ in range(40):
                found = made.search(queries, 3)
                if found.ids.shape != (4, 3) or (np.diff(found.distances, axis=1) < 0).any():
                    wrong.append(n)

        made.add(rng.normal(size=(1000, N_FEATURES)).astype(np.float32))
        threads = [threading.Thread(target=search, args=(n,)) for n in range(3)]
        for thread in threads:
            thread.start()
        for _ in range(10):
            made.add(rng.normal(size=(300, N_FEATURES)).astype(np.float32))
        for thread in threads:
            thread.join()
        made.search(queries, 3)
        wait_for_tables(made)
        with Collection.open(path, index="flat") as flat:
            assert_same(made.search(queries, 50), flat.search(queries, 50))
    assert not wrong


def test_a_single_search_builds_no_tables_and_few_codes_get_none(eager, path, hasher, vectors, monkeypatch):
    with Collection.create(path, hasher, index="lookup") as one:
        one.add(vectors)
        one.search(vectors[:1], 3)
        assert one.stats().index == "flat"
        one.search(vectors[:1], 3, scoring="asymmetric")  # has no use for them
        assert one.stats().index == "flat"
        one.search(vectors[:1], 3)
        wait_for_tables(one)
    for least, kind in ((301, "flat"), (300, "4 tables")):
        monkeypatch.setitem(_replica.KINDS, "auto", least)
        with Collection.open(path) as auto:
            auto.search(vectors[:1], 3)
            auto.search(vectors[:1], 3)
            if kind != "flat":
                wait_for_tables(auto)
            assert auto.stats().index.endswith(kind.split()[-1])


def test_the_kind_of_index_goes_with_a_pickle_and_a_bad_one_is_refused(path, hasher):
    with Collection.create(path, hasher, index="lookup") as made, pickle.loads(pickle.dumps(made)) as again:
        assert again._index == "lookup"
    for call in (lambda: Collection.open(path, index="hash"), lambda: Collection.create(":memory:", hasher, index="")):
        with pytest.raises(InvalidInputError, match="index must be 'auto' or 'flat' or 'lookup'"):
            call()


def test_a_program_may_end_while_tables_are_made(path, hasher, rng):
    with Collection.create(path, hasher) as made:
        made.add(rng.normal(size=(60_000, N_FEATURES)).astype(np.float32))
    program = f"""
import numpy as np
from rankhash import Collection
collection = Collection.open({str(path)!r}, index="lookup")
for _ in range(3):
    collection.search(np.zeros((1, {N_FEATURES}), np.float32), 3)
print(collection.stats().index)
"""
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=240, check=False)
    assert ended.returncode == 0, ended.stderr
    assert ended.stderr == ""
