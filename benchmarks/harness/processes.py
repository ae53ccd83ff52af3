"""Work in a process of its own, so that its memory and its threads are its own."""

from __future__ import annotations

import multiprocessing
import os
import resource
from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import TypeVar

Answer = TypeVar("Answer")
BLAS_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")


def in_new_process(work: Callable[..., Answer], *arguments: object, blas_threads: int | None = None) -> Answer:
    """What ``work`` returns in a new process; ``blas_threads`` (None: as here) limits its matrix products."""
    threads = {} if blas_threads is None else dict.fromkeys(BLAS_VARIABLES, str(blas_threads))
    before = {name: os.environ.get(name) for name in threads}
    _set_environment(threads)
    try:
        with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
            return pool.submit(work, *arguments).result()
    finally:
        _set_environment(before)


def _set_environment(values: Mapping[str, str | None]) -> None:
    for name, value in values.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


def resident_megabytes(pid: int | None = None) -> float:
    """Memory that a process (None: this one) holds now, in millions of bytes."""
    pages = int(Path(f"/proc/{'self' if pid is None else pid}/statm").read_text(encoding="ascii").split()[1])
    return pages * resource.getpagesize() / 1e6


def peak_megabytes() -> float:
    """The most memory that this process ever held, in 2²⁰ bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
