"""Fixtures of the collection's tests."""

from __future__ import annotations

import numpy as np
import pytest

from rankhash import SRSH, Collection

N_FEATURES = 6


@pytest.fixture(scope="session")
def hasher():
    rng = np.random.default_rng(0)
    return SRSH(12, 4, random_state=0).fit(rng.normal(size=(200, N_FEATURES)), rng.integers(0, 3, 200))


@pytest.fixture(scope="session")
def vectors():
    return np.random.default_rng(1).normal(size=(300, N_FEATURES)).astype(np.float32)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "items.rankhash"


@pytest.fixture
def collection(path, hasher):
    with Collection.create(path, hasher) as made:
        yield made
