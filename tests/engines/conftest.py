"""A connection, and a table name that nobody else has."""

from __future__ import annotations

import itertools

import pytest

numbers = itertools.count()


@pytest.fixture
def connection(postgres):
    import psycopg

    with psycopg.connect(postgres, autocommit=True) as connection:
        yield connection


@pytest.fixture
def table():
    return f"codes {next(numbers)}"
