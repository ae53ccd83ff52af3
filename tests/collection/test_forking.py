"""Forking while threads use a collection: no child hangs."""

from __future__ import annotations

import os
import threading
import time
import warnings

import numpy as np

from rankhash import Collection

N_CHILDREN = 60


def child(collection, vectors):
    """Use the collection in a child process; its exit code says how that went."""
    code = 1
    try:
        found = collection.search(vectors[:1], 1, where="n >= 0", n_threads=1)
        collection.add(vectors[:1], metadata=[{"n": 1}])
        code = 0 if found.ids[0, 0] is not None else 2
    finally:
        os._exit(code)


def wait(pid, seconds=60.0):
    """The exit code of a child; -1 if it hangs, and then it is killed."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.005)
    os.kill(pid, 9)
    os.waitpid(pid, 0)
    return -1


def test_children_do_not_hang(path, hasher, vectors):
    with Collection.create(path, hasher, timeout=60) as collection:
        collection.add(vectors, metadata=[{"n": i} for i in range(300)])
        stop = threading.Event()

        def work(seed):
            rng = np.random.default_rng(seed)
            while not stop.is_set():
                collection.search(vectors[:2], 3, where=f"n < {rng.integers(1 << 30)}", n_threads=1)
                with Collection.open(path) as other:  # opens and closes take SQLite's own locks
                    other.count("n > 5")

        threads = [threading.Thread(target=work, args=(seed,)) for seed in range(3)]
        for thread in threads:
            thread.start()
        try:
            codes = []
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)  # Python says that forking threads is dangerous
                for _ in range(N_CHILDREN):
                    pid = os.fork()
                    if pid == 0:
                        child(collection, vectors)
                    codes.append(wait(pid))
        finally:
            stop.set()
            for thread in threads:
                thread.join()
        assert codes == [0] * N_CHILDREN
        assert len(collection) == 300 + N_CHILDREN


def test_a_child_of_a_thread_with_an_open_snapshot_goes_on(collection, vectors):
    collection.add(vectors[:5], metadata=[{"n": i} for i in range(5)])
    with collection.snapshot() as snapshot:
        before = snapshot.ids()
        pid = os.fork()
        if pid == 0:
            child(collection, vectors)
        assert wait(pid) == 0
        assert snapshot.ids() == before
    assert len(collection) == 6
