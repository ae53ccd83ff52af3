"""The instruction set and the threads that the native core runs on."""

from __future__ import annotations

import contextlib
import math
import os
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from .. import _native
from ..errors import InvalidInputError

_thread = threading.local()


@dataclass(frozen=True)
class CpuInfo:
    """Instruction sets and threads of the native core; the answer of [`cpu_info`][rankhash.cpu_info]."""

    isa: str
    available: tuple[str, ...]
    n_threads: int


def cpu_info() -> CpuInfo:
    """The instruction set in use, those that this machine supports, and the default number of threads.

    The environment variable ``RANKHASH_ISA`` (``scalar``, ``avx2``, ``avx512`` or ``neon``) overrides the choice, which
    is the last of those that the processor and the operating system support.

    >>> cpu_info().isa in cpu_info().available
    True
    """
    return CpuInfo(_native.isa(), tuple(_native.available_isas()), default_threads())


def use_isa(name: str) -> None:
    """Run all kernels on the instruction set ``name`` from now on."""
    available = _native.available_isas()
    if name not in available:
        raise InvalidInputError(
            f"RANKHASH_ISA={name!r} is not an instruction set of this machine; choose one of {', '.join(available)}"
        )
    _native.use_isa(name)


def default_threads() -> int:
    """The number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def resolve_threads(n_threads: int | None) -> int:
    """``n_threads`` as a positive number; None means every core that this process may use."""
    if n_threads is None:
        return default_threads()
    if not isinstance(n_threads, (int, np.integer)) or isinstance(n_threads, bool) or n_threads < 1:
        raise InvalidInputError(f"n_threads must be a positive integer or None, got {n_threads!r}")
    return int(n_threads)


@contextlib.contextmanager
def ending_at(deadline: float) -> Iterator[None]:
    """End long native calls of this thread with TimeoutError at a time of ``time.monotonic``; infinity: never."""
    outer = getattr(_thread, "deadline", math.inf)
    _set_deadline(deadline)
    try:
        yield
    finally:
        _set_deadline(outer)


def _set_deadline(deadline: float) -> None:
    _thread.deadline = deadline
    _native.set_deadline(deadline - time.monotonic())
