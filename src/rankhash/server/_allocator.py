"""Settings of glibc's allocator for a process that runs for long and works in several threads."""

from __future__ import annotations

import ctypes
import os

SETTINGS = {
    "MALLOC_ARENA_MAX": (-8, 2),
    "MALLOC_MMAP_THRESHOLD_": (-3, 8 << 20),
    "MALLOC_TRIM_THRESHOLD_": (-1, 16 << 20),
}
"""By environment variable: the number of the option, and its value.

By default every thread gets an arena of its own and keeps what it has freed, up to 64 MiB: a server of 120 MB in use
held 300 MB more that were free. Two arenas, and large blocks that go back to the system when freed, keep that below
100 MB at the same speed. With blocks from 1 MiB on, changes took a quarter more time.
"""


def bound_free_memory() -> bool:
    """Return freed memory to the system; False where the C library is another. The operator's own settings stay."""
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, TypeError, AttributeError):
        return False
    return all(mallopt(option, value) for name, (option, value) in SETTINGS.items() if name not in os.environ)
