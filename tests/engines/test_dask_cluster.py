"""Clusters: given, embedded, unreachable, empty, lost."""

from __future__ import annotations

import subprocess
import sys
import time
from functools import partial

import dask.array as da
import distributed
import numpy as np
import pytest

from rankhash import CodeLayout, EngineError, FlatIndex, InvalidInputError
from rankhash.engines.dask import DaskIndex, _cluster

LAYOUT = CodeLayout(8, 4)
CODES = np.random.default_rng(0).integers(0, 256, (100, 2), dtype=np.uint8)
ARRAY = da.from_array(CODES, chunks=(50, 2))


@pytest.mark.parametrize(
    "address", ["tcp://127.0.0.1:9", "127.0.0.1:9", "nonsense://here", "tcp://no.such.host.invalid:1"]
)
def test_an_unknown_scheduler_is_a_clear_error_in_bounded_time(address):
    start = time.monotonic()
    with pytest.raises(EngineError, match="no Dask scheduler answers at"):
        DaskIndex.from_array(ARRAY, LAYOUT, client=address, timeout=1)
    assert time.monotonic() - start < 8


def test_an_index_connects_by_address_and_leaves_the_cluster_alone(client):
    address = client.scheduler.address
    with DaskIndex.from_array(ARRAY, LAYOUT, client=address) as index:
        assert index.search(CODES[:1], 1).ids.shape == (1, 1)
    assert client.status == "running"
    assert len(client.nthreads()) == 2


def test_a_given_client_stays_open(client):
    with DaskIndex.from_array(ARRAY, LAYOUT, client=client) as index:
        futures = index._shards.futures
        assert all(future.status == "finished" for future in futures)
    assert client.status == "running"


def test_the_current_client_is_used(client):
    with client.as_current(), DaskIndex.from_array(ARRAY, LAYOUT) as index:
        assert index._cluster.client is client


def test_without_a_client_local_processes_are_started_and_ended(monkeypatch):
    monkeypatch.setattr(_cluster, "default_threads", lambda: 1)
    with DaskIndex.from_array(ARRAY, LAYOUT) as index:
        client = index._cluster.client
        flat = FlatIndex(LAYOUT)
        flat.add(CODES)
        np.testing.assert_array_equal(index.search(CODES, 5).ids, flat.search(CODES, 5).ids)
        assert len(client.nthreads()) == 1
    assert client.status == "closed"
    with pytest.raises(ValueError, match="client"):
        distributed.Client.current()


def test_a_failed_start_ends_what_was_started(monkeypatch, tmp_path):
    closed = []
    monkeypatch.setattr(_cluster, "default_threads", lambda: 1)
    close = _cluster.Cluster.close
    monkeypatch.setattr(_cluster.Cluster, "close", lambda self: closed.append(close(self)))
    monkeypatch.setattr(_cluster, "LocalCluster", partial(distributed.LocalCluster, processes=False))
    with pytest.raises(FileNotFoundError):
        DaskIndex.from_files(tmp_path / "missing.npy", LAYOUT)
    assert closed == [None]


def test_a_scheduler_without_workers_a_lost_one_and_a_closed_client():
    options = {"processes": False, "dashboard_address": "127.0.0.1:0"}
    with distributed.LocalCluster(n_workers=0, **options) as cluster:
        with distributed.Client(cluster, set_as_default=False) as client:
            with pytest.raises(EngineError, match="no workers"):
                DaskIndex.from_array(ARRAY, LAYOUT, client=client, timeout=0.3)
            cluster.scale(1)
            index = DaskIndex.from_array(ARRAY, LAYOUT, client=client)
        with pytest.raises(EngineError, match="closed"):
            index.search(CODES, 3)
        with pytest.raises(EngineError, match="closed"):
            DaskIndex.from_array(ARRAY, LAYOUT, client=client)


def test_a_wrong_client_is_refused():
    with pytest.raises(InvalidInputError, match="client must be"):
        DaskIndex.from_array(ARRAY, LAYOUT, client=7)


def test_rankhash_does_not_import_dask_and_names_the_extra():
    program = """
import sys
import rankhash, rankhash.engines
assert not {"dask", "distributed"} & sys.modules.keys()
sys.modules["dask"] = None
sys.modules["distributed"] = None
try:
    import rankhash.engines.dask
except ImportError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert "pip install 'rankhash[dask]'" in done.stdout, done.stderr
