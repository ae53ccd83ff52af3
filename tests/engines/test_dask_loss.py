"""Workers that die, and shards that move: answers come late, but whole."""

from __future__ import annotations

import os
import signal
import threading

import numpy as np

from index.contract import assert_same
from rankhash import FlatIndex
from rankhash.engines.dask import DaskIndex

from .test_dask_index import LAYOUT, both, codes_of


def kill(client, worker):
    """kill -9 of a worker's process, which had the number that is returned."""
    pid = client.run(os.getpid, workers=[worker])[worker]
    os.kill(pid, signal.SIGKILL)
    return pid


def full_strength(client):
    client.wait_for_workers(2, timeout=120)


def test_a_worker_killed_in_the_middle_of_a_search_costs_no_answer(client, rng, tmp_path):
    codes = rng.integers(0, 256, (600_000, LAYOUT.n_bytes), dtype=np.uint8)
    flat = FlatIndex(LAYOUT)
    flat.add(codes)
    for i in range(3):
        np.save(tmp_path / f"{i}.npy", codes[200_000 * i : 200_000 * (i + 1)])
    index = DaskIndex.from_files(tmp_path, LAYOUT, client=client)
    queries = codes[:30_000:2]
    answers = []
    search = threading.Thread(target=lambda: answers.append(index.search(queries, 5)))
    search.start()
    victim = None
    while victim is None:
        assert search.is_alive(), "the search was over before anybody was killed"
        busy = client.processing()
        victim = next((worker for worker, tasks in busy.items() if any("ask" in str(task) for task in tasks)), None)
    pid = kill(client, victim)
    assert search.is_alive()
    search.join(timeout=240)
    assert not search.is_alive()
    assert_same(answers[0], flat.search(queries, 5))
    full_strength(client)
    assert pid not in client.run(os.getpid).values()


def test_shards_of_a_dead_worker_are_loaded_again(client, rng):
    index, flat = both(rng, client, chunks=(100,) * 6)
    kill(client, sorted(client.nthreads())[0])
    queries = codes_of(rng, LAYOUT, 5)
    assert_same(index.search(queries, 30), flat.search(queries, 30))
    full_strength(client)
    assert_same(index.search(queries, 30), flat.search(queries, 30))


def test_a_shard_that_moved_to_another_worker_answers_alike(client, rng):
    ids = rng.permutation(5000)[:600]
    index, flat = both(rng, client, chunks=(200,) * 3, ids=ids)
    workers = sorted(client.nthreads())
    client.replicate(index._shards.futures, workers=workers)
    for worker in workers:
        local = client.map(len, index._shards.futures, workers=[worker], pure=False)
        assert client.gather(local) == [200] * 3
    queries = codes_of(rng, LAYOUT, 5)
    assert_same(index.search(queries, 30), flat.search(queries, 30))
