"""Provenance of a result: version, commit and machine. It names no host, no user and no path."""

from __future__ import annotations

import os
import subprocess
from datetime import datetime, timezone
from functools import cache
from importlib import metadata
from pathlib import Path

from .._kernels import cpu_info


def origin() -> dict[str, str | int]:
    """Date, version, commit, processor and instruction set."""
    return _machine() | {"date": datetime.now(timezone.utc).strftime("%Y-%m-%d")}


@cache
def _machine() -> dict[str, str | int]:
    return {
        "version": metadata.version("rankhash"),
        "commit": _commit(),
        "cpu": _cpu(),
        "cores": os.cpu_count() or 1,
        "isa": cpu_info().isa,
    }


def _commit() -> str:
    """The commit of the checkout that this package runs from, with a + for uncommitted changes; "" if installed."""
    root = Path(__file__).parents[3]
    if Path(__file__).parents[2].name != "src":
        return ""
    commit = _git(root, "rev-parse", "--short=10", "HEAD")
    return commit + ("+" if commit and _git(root, "status", "--porcelain", "--", "src", "native") else "")


def _git(root: Path, *arguments: str) -> str:
    try:
        done = subprocess.run(["git", "-C", root, *arguments], capture_output=True, text=True, check=False, timeout=10)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return "unknown"
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "unknown")
