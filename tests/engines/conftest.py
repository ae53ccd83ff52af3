"""Clusters for tests of Dask, one of which some may kill; connections and names of tables for those of PostgreSQL."""

from __future__ import annotations

import itertools
import logging

import distributed
import pytest

numbers = itertools.count()


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


@pytest.fixture
def connection(postgres):
    import psycopg

    with psycopg.connect(postgres, autocommit=True) as connection:
        yield connection


@pytest.fixture
def table():
    return f"codes {next(numbers)}"
