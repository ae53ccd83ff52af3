"""Coroutines among the tests run on asyncio."""

import pytest


@pytest.fixture
def anyio_backend():
    return "asyncio"
