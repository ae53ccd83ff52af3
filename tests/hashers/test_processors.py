"""Fits give the same codes with every kernel of BLAS, for the methods that docs/faq.md names."""

from __future__ import annotations

import os
import platform
import subprocess
import sys

import numpy as np
import pytest
from threadpoolctl import threadpool_info

from golden import codes

SAME = (
    *("LSH", "PStableLSH", "WTA", "CRO", "CRO fast", "PermutationCodes", "MinHash"),
    *("RSH", "RSH batch", "SRSH", "SRSH bound", "SRSH classes", "HDML", "HDML classes"),
    *("RSH paper", "SRSH paper", "SRSH paper sampling"),
)
KERNELS = ("Sandybridge", "Haswell", "SkylakeX")
"""Without fused multiply-adds, with them, and with AVX-512."""


@pytest.mark.skipif(
    platform.machine() != "x86_64" or not any(pool["internal_api"] == "openblas" for pool in threadpool_info()),
    reason="OPENBLAS_CORETYPE chooses among the x86 kernels of OpenBLAS",
)
def test_codes_are_the_same_with_every_kernel_of_blas(tmp_path):
    made, running = [], []
    for kernel in KERNELS:
        path = tmp_path / f"{kernel}.npz"
        done = subprocess.run(
            [sys.executable, codes.__file__, path, *SAME],
            check=True,
            env=os.environ | {"OPENBLAS_CORETYPE": kernel, "OPENBLAS_VERBOSE": "2"},
            timeout=300,
            capture_output=True,
            text=True,
        )
        running.append([line.split()[-1] for line in done.stderr.splitlines() if line.startswith("Core")][:1])
        made.append(np.load(path))
    assert len({*map(tuple, running)}) > 1, f"OpenBLAS ignored the kernels asked for: {running}"
    for other in made[1:]:
        assert [case for case in SAME if not np.array_equal(made[0][case], other[case])] == []
