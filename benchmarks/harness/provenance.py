"""On what a result was measured. Names no host, no user and no path."""

from __future__ import annotations

import os
import platform
import socket
from datetime import datetime, timezone
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

import rankhash
from rankhash.evaluation.origin import origin

REPOSITORY = Path(__file__).parents[2]
PACKAGES = ("rankhash", "numpy", "scikit-learn", "faiss-cpu", "hnswlib", "scann", "usearch", "dask", "psycopg")


def provenance(*, quick: bool) -> dict[str, Any]:
    """Everything that a reader of a number needs to know about its origin."""
    info = rankhash.cpu_info()
    return {
        **origin(),
        "date": datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%MZ"),
        "quick": quick,
        "available_isas": list(info.available),
        "default_threads": info.n_threads,
        "last_level_cache": _last_level_cache(),
        "memory_gb": round(int(_field("/proc/meminfo", "MemTotal", ":").split()[0]) / 2**20, 1),
        "os": _field("/etc/os-release", "PRETTY_NAME", "=").strip('"'),
        "kernel": platform.release(),
        "architecture": platform.machine(),
        "versions": _versions(),
        "blas": _blas(),
        "load_before": list(os.getloadavg()),
    }


def refuse_private_names(text: str) -> None:
    """Raise if ``text`` names this host, this user's home or this checkout."""
    names = {socket.gethostname(), str(Path.home()), str(REPOSITORY)}
    found = [name for name in names if len(name) > 3 and name in text]
    if found:
        raise RuntimeError(f"a result must not name this machine, but it holds {found}")


def _field(path: str, key: str, separator: str) -> str:
    for line in Path(path).read_text(encoding="utf-8").splitlines():
        name, _, value = line.partition(separator)
        if name.strip() == key:
            return value.strip()
    return "0"


def _last_level_cache() -> str:
    sizes = sorted(Path("/sys/devices/system/cpu/cpu0/cache").glob("index*/size"))
    return sizes[-1].read_text(encoding="ascii").strip() if sizes else "unknown"


def _versions() -> dict[str, str]:
    versions = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            versions[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            versions[package] = "not installed"
    return versions


def _blas() -> str:
    blas = np.show_config(mode="dicts")["Build Dependencies"]["blas"]
    return f"{blas['name']} {blas['version']}"
