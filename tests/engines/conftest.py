"""What tests of engines share: a cluster of two worker processes; a connection, and a name of a table."""

from __future__ import annotations

import itertools
import logging

import distributed
import pytest

numbers = itertools.count()


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


@pytest.fixture
def connection(postgres):
    import psycopg

    with psycopg.connect(postgres, autocommit=True) as connection:
        yield connection


@pytest.fixture
def table():
    return f"codes {next(numbers)}"
