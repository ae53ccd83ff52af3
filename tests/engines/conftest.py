"""One cluster for all tests of Dask, and one for those who do not leave it as it was."""

from __future__ import annotations

import logging

import distributed
import pytest


def started():
    """A cluster of two worker processes, to be closed by whoever asked for it."""
    return distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0", silence_logs=logging.CRITICAL
    )


@pytest.fixture(scope="session")
def client():
    with started() as cluster, distributed.Client(cluster, set_as_default=False) as client:
        yield client


@pytest.fixture
def own_client():
    """For tests that kill."""
    with started() as cluster, distributed.Client(cluster, set_as_default=False) as client:
        yield client
