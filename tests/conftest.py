"""Fixtures that many tests share."""

from __future__ import annotations

import os

import numpy as np
import pytest
from hypothesis import settings

from browser import browser, visit  # noqa: F401 (fixtures)
from rankhash import _kernels, cpu_info

settings.register_profile("short", max_examples=60, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


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
