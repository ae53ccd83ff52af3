"""Threads and processes: one writes at a time, all see every commit, nobody sees half of one."""

from __future__ import annotations

import multiprocessing
import os
import sqlite3
import threading
import time

import numpy as np
import pytest

from rankhash import BusyError, Collection, StorageError
from rankhash.collection import _chunks, _removed

SPAWN = multiprocessing.get_context("spawn")


def test_another_handle_takes_in_only_what_changed(path, collection, hasher, vectors, monkeypatch):
    with Collection.open(path) as reader:
        collection.add(vectors)
        assert len(reader.search(vectors[:1], 1).ids) == 1
        read, pages = [], []
        real = _chunks._checked
        monkeypatch.setattr(_chunks, "_checked", lambda row, layout: read.append(row[2]) or real(row, layout))
        newer = _removed.read_newer
        monkeypatch.setattr(_removed, "read_newer", lambda c, g: pages.append(newer(c, g)) or pages[-1])
        assert reader.search(vectors[:1], 1).ids[0, 0] == 0
        assert (read, pages) == ([], [])
        collection.add(vectors[:7])
        collection.delete([0])
        read.clear()
        assert reader.search(vectors[:1], 1).ids[0, 0] == 300
        assert read == [7]
        assert [list(found) for found in pages] == [[0]]


def test_a_second_writer_waits_and_then_gets_a_clear_error(path, collection, vectors):
    with Collection.open(path, "rw", timeout=0.2) as other:
        with (
            collection._database.connections.writing(),
            pytest.raises(BusyError, match=r"after 0.2 s waiting"),
        ):
            other.add(vectors)
        other.add(vectors[:3])
    assert len(collection) == 3


def test_a_second_writer_comes_to_its_turn(path, collection, vectors):
    with Collection.open(path, "rw", timeout=30) as other:
        holding = threading.Event()

        def hold():
            with collection._database.connections.writing():
                holding.set()
                time.sleep(0.3)

        thread = threading.Thread(target=hold)
        thread.start()
        holding.wait()
        other.add(vectors[:3])
        thread.join()
        assert len(other) == 3


def test_readers_go_on_while_somebody_writes(path, collection, vectors):
    collection.add(vectors[:10])
    with Collection.open(path) as reader, collection._database.transaction() as change:
        change.add(collection.hasher.encode(vectors[10:20]), None, None, None)
        assert len(reader) == 10
        assert reader.search(vectors[15:16], 1).ids[0, 0] < 10
    assert len(collection) == 20


@pytest.mark.parametrize("memory", [False, True])
def test_threads_see_whole_batches_in_order(memory, path, hasher, vectors):
    """Every batch is twenty equal vectors: a search must find multiples of twenty."""
    with Collection.create(":memory:" if memory else path, hasher) as collection:
        stop, problems = threading.Event(), []

        def search():
            last = 0
            while not stop.is_set():
                found = collection.search(vectors[:1], 500, where="batch >= 0", n_threads=1)
                n = sum(name is not None for name in found.ids[0])
                ids = collection.ids()
                if n % 20 or n < last or found.ids[0, :n].tolist() != [f"i{i}" for i in range(n)] or len(ids) < n:
                    problems.append((n, last))
                    return
                last = n

        threads = [threading.Thread(target=search) for _ in range(4)]
        for thread in threads:
            thread.start()
        for batch in range(12):
            names = [f"i{20 * batch + i}" for i in range(20)]
            collection.add(np.tile(vectors[0], (20, 1)), names, [{"batch": batch}] * 20)
        stop.set()
        for thread in threads:
            thread.join()
        assert problems == []
        assert len(collection) == 240


def test_threads_may_write_at_once(collection, vectors):
    def write(name):
        for i in range(8):
            collection.add(vectors[:3], [f"{name}-{i}-{j}" for j in range(3)])

    threads = [threading.Thread(target=write, args=(name,)) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(collection) == 96
    assert collection.check().problems == ()


def write_elsewhere(path, name, vectors):
    with Collection.open(path, "rw", timeout=60) as collection:
        for i in range(5):
            collection.add(vectors, [f"{name}-{i}-{j}" for j in range(len(vectors))])
            collection.delete([f"{name}-{i}-0"])


def test_processes_write_in_turns_and_are_followed(path, collection, vectors):
    processes = [SPAWN.Process(target=write_elsewhere, args=(path, name, vectors[:4])) for name in "ab"]
    for process in processes:
        process.start()
    seen = [0]
    while any(process.is_alive() for process in processes):
        ids = collection.ids()
        assert len(ids) == len({*ids})
        seen.append(len(ids))
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0, 0]
    assert sorted(collection.ids()) == sorted(f"{n}-{i}-{j}" for n in "ab" for i in range(5) for j in (1, 2, 3))
    assert collection.check().problems == ()


def test_a_forked_process_uses_connections_of_its_own(path, collection, vectors):
    collection.add(vectors[:10])
    assert collection.search(vectors[:1], 1, n_threads=1).ids[0, 0] == 0
    child = os.fork()
    if child == 0:
        code = 1
        try:
            fine = collection.search(vectors[3:4], 1, n_threads=1).ids[0, 0] == 3
            collection.add(vectors[10:12], ["from", "child"])
            code = 0 if fine and len(collection) == 12 else 2
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    assert collection.ids()[-2:] == ["from", "child"]
    collection.add(vectors[:1], ["from parent"])
    assert len(collection) == 13
    assert collection.check().problems == ()


def test_a_collection_in_memory_stays_in_its_process(hasher, vectors):
    with Collection.create(":memory:", hasher) as collection:
        child = os.fork()
        if child == 0:
            code = 1
            try:
                collection.add(vectors)
            except StorageError as error:
                code = 0 if "stays in the process" in str(error) else 2
            finally:
                os._exit(code)
        _, status = os.waitpid(child, 0)
        assert os.waitstatus_to_exitcode(status) == 0
        assert len(collection) == 0


def test_a_file_that_was_replaced_is_noticed(path, hasher, vectors):
    with Collection.create(path, hasher) as collection:
        collection.add(vectors)
        assert collection.search(vectors[:1], 1).ids[0, 0] == 0
        path.unlink()
        for suffix in ("-wal", "-shm"):
            path.with_name(path.name + suffix).unlink(missing_ok=True)
        Collection.create(path, hasher).close()
        with collection._database.connections.borrowed(), pytest.raises(StorageError, match="was replaced"):
            len(collection)


def test_compacting_elsewhere_is_followed(path, collection, vectors):
    with Collection.open(path) as reader:
        collection.add(vectors, [f"n{i}" for i in range(300)], [{"n": i, "x": "x" * 99} for i in range(300)])
        assert reader.count("n < 200") == 200
        collection.delete([f"n{i}" for i in range(0, 300, 2)])
        before = collection.stats()
        collection.compact()
        after = collection.stats()
        assert after.file_bytes < before.file_bytes
        assert (before.n_dead_codes, after.n_dead_codes) == (150, 0)
        assert os.path.getsize(path) == after.file_bytes
        assert reader.count("n < 200") == 100
        assert reader.ids() == [f"n{i}" for i in range(1, 300, 2)]
        collection.add(vectors[:2], ["p", "q"], [{"n": 1}, {"n": 2}])
        assert reader.count("n < 200") == 102
        assert reader.search(vectors[1:2], 2).ids[0].tolist() == ["n1", "q"]


def test_small_changes_are_merged_into_few_chunks(collection, vectors):
    for i in range(300):
        collection.add(vectors[i : i + 1])
    stats = collection.stats()
    assert stats.n_chunks < 50
    assert collection.search(vectors, 1).distances.max() == 0
    collection.compact()
    assert collection.stats().n_chunks == 1


def test_the_file_is_strict_and_in_wal_mode(path, collection):
    connection = sqlite3.connect(path)
    tables = connection.execute("SELECT name, strict FROM pragma_table_list WHERE name NOT LIKE 'sqlite%'").fetchall()
    assert {name for name, strict in tables if strict} == {
        "settings",
        "state",
        "chunks",
        "removed",
        "items",
        "vector_chunks",
        "fields",
        "facets",
    }
    assert all(strict for _, strict in tables)
    assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    assert connection.execute("PRAGMA application_id").fetchone() == (int.from_bytes(b"rkh1", "big"),)
    assert connection.execute("PRAGMA user_version").fetchone() == (2,)
    connection.close()
