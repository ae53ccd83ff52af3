"""A server that has freed memory gives it back."""

from __future__ import annotations

import os
import platform
import subprocess
import sys

import pytest

PROGRAM = """
import re, threading
from pathlib import Path
from rankhash.server._allocator import bound_free_memory

assert bound_free_memory()
started = threading.Barrier(8)

def work():
    started.wait()
    for _ in range(3):
        blocks = [bytearray(1 << 20) for _ in range(20)]
        kept.append(bytes(64))  # behind the blocks, so that the heap cannot shrink from its end
        started.wait()
        del blocks

kept = []
bytearray(30 << 20)  # the allocator takes the size of a large block that was freed for usual
threads = [threading.Thread(target=work) for _ in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(int(re.findall(r"RssAnon:\\s+(\\d+)", Path("/proc/self/status").read_text())[0]) // 1024)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="the settings are those of glibc")
def test_freed_memory_goes_back_to_the_system():
    def megabytes(**settings):
        environment = {name: value for name, value in os.environ.items() if not name.startswith("MALLOC_")} | settings
        ran = subprocess.run(
            [sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, timeout=120, check=True
        )
        return int(ran.stdout)

    own = {"MALLOC_ARENA_MAX": "8", "MALLOC_MMAP_THRESHOLD_": str(64 << 20), "MALLOC_TRIM_THRESHOLD_": str(1 << 30)}
    assert megabytes() < 130
    assert megabytes(**own) > 150  # what the operator sets stays
