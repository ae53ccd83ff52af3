"""One cluster of two worker processes for all tests of engines."""

from __future__ import annotations

import logging

import distributed
import pytest


@pytest.fixture(scope="session")
def client():
    silent = logging.CRITICAL
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0", silence_logs=silent
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield client
