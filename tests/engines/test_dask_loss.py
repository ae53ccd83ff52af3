"""Workers that die, and shards that move: answers come late, but whole."""

from __future__ import annotations

import subprocess
import sys
import time

import dask.array as da
import numpy as np
import pytest
from distributed import Client, LocalCluster

from index.model import assert_same
from rankhash import EngineError, FlatIndex
from rankhash.engines.dask import DaskIndex

from .test_dask_index import LAYOUT, both, codes_of
from .waiting import answer_after_a_kill, ended


def test_a_worker_killed_in_the_middle_of_a_search_costs_no_answer(own_client, rng, tmp_path):
    codes = rng.integers(0, 256, (600_000, LAYOUT.n_bytes), dtype=np.uint8)
    flat = FlatIndex(LAYOUT)
    flat.add(codes)
    for i in range(3):
        np.save(tmp_path / f"{i}.npy", codes[200_000 * i : 200_000 * (i + 1)])
    index = DaskIndex.from_files(tmp_path, LAYOUT, client=own_client)
    queries = codes[:30_000:2]
    answer, victim = answer_after_a_kill(own_client, lambda: index.search(queries, 5), is_long=True)
    assert_same(answer, flat.search(queries, 5))
    holders = own_client.who_has(index._shards.futures).values()
    assert all(holder and victim not in holder for holder in holders)
    assert_same(index.search(queries[:9], 5), flat.search(queries[:9], 5))


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


def test_a_search_whose_workers_are_all_gone_says_so(rng):
    local = LocalCluster(n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None)
    with local as cluster, Client(cluster, set_as_default=False) as client:
        index, flat = both(rng, client, chunks=(300,), timeout=1.0)
        queries = codes_of(rng, LAYOUT, 5)
        assert_same(index.search(queries, 3), flat.search(queries, 3))
        cluster.scale(0)
        while client.nthreads():
            time.sleep(0.05)
        with pytest.raises(EngineError, match="all workers were lost while searching"):
            ended(lambda: index.search(queries, 3))
        cluster.scale(1)
        assert_same(ended(lambda: index.search(queries, 3)), flat.search(queries, 3))


@pytest.fixture
def lonely():
    """A client of a scheduler without workers, and a function that starts a worker process without a nanny."""
    started = []

    def start():
        program = [sys.executable, "-m", "distributed.cli.dask_worker", client.scheduler.address, "--no-nanny"]
        options = ["--nthreads", "1", "--no-dashboard", "--death-timeout", "300"]
        started.append(subprocess.Popen([*program, *options], stderr=subprocess.DEVNULL))
        return started[-1]

    with (
        LocalCluster(n_workers=0, dashboard_address=None) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        yield client, start
        for worker in started:
            worker.kill()
            worker.wait()


def test_indexes_survive_the_loss_of_all_workers_twice(lonely, rng, tmp_path):
    client, start = lonely
    codes, queries = codes_of(rng, LAYOUT, 300), codes_of(rng, LAYOUT, 5)
    flat = FlatIndex(LAYOUT)
    flat.add(codes)
    for i in range(3):
        np.save(tmp_path / f"{i}.npy", codes[100 * i : 100 * (i + 1)])
    options = {"client": client, "timeout": 240.0}
    worker = start()
    from_array = DaskIndex.from_array(da.from_array(codes, chunks=(100, -1)), LAYOUT, **options)
    from_array.save(tmp_path / "saved")
    from_files = DaskIndex.from_files(tmp_path, LAYOUT, **options)
    from_folder = DaskIndex.open(tmp_path / "saved", **options)
    for _ in range(2):
        worker.kill()
        worker.wait()
        worker = start()
        for index in (from_folder, from_files, from_array):
            assert_same(ended(lambda index=index: index.search(queries, 30), 280), flat.search(queries, 30))
