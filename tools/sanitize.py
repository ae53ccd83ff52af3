"""Builds the native core with AddressSanitizer and UBSan, and runs the kernel and index tests on it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
BUILD = ROOT / "build" / "sanitize"
TESTS = [
    "tests/test_kernels.py",
    "tests/test_training_kernels.py",
    "tests/index",
    "tests/hashers/test_joint.py",
    "tests/hashers/test_quantizer_parts.py::test_refinement_takes_the_steps_of_its_slow_twin",
    "tests/hashers/test_quantizer_parts.py::test_more_descents_are_never_worse",
    "tests/collection/test_tables.py",
    "tests/vector_index/test_kernels.py",
    "tests/vector_index/test_files_fuzz.py",
    "tests/duplicates/test_pairs.py",
]
# Child processes, scikit-learn's own checks and long fits are left to the ordinary run.
LEFT_OUT = "not environment and not fork and not unknown_instruction and not damaged and not program"
RUN = """
import sys
sys.meta_path = [finder for finder in sys.meta_path if "ScikitBuild" not in type(finder).__name__]
import pytest, rankhash
assert rankhash.__file__.startswith(sys.argv[1]), rankhash.__file__
sys.exit(pytest.main(sys.argv[2:]))
"""


def main() -> int:
    """The exit code of the tests."""
    configure: list[str | Path] = ["cmake", "-S", ROOT, "-B", BUILD, "-G", "Ninja", "-DRANKHASH_SANITIZE=ON"]
    run(*configure, f"-DPython_EXECUTABLE={sys.executable}")
    run("cmake", "--build", BUILD)
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(ROOT / "src" / "rankhash", Path(folder) / "rankhash")
        for library in BUILD.glob("_native*.so"):
            shutil.copy(library, Path(folder) / "rankhash")
        libraries = " ".join(compiler_library(name) for name in ("libasan.so", "libubsan.so", "libstdc++.so"))
        environment = os.environ | {
            "LD_PRELOAD": libraries,
            # The interpreter itself keeps memory until the end; tests ask for more memory than there is.
            "ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1",
            "UBSAN_OPTIONS": "print_stacktrace=1",
            "PYTHONPATH": folder,
            "HYPOTHESIS_PROFILE": "short",
        }
        arguments = ["-q", "-p", "no:cacheprovider", "-k", LEFT_OUT, *TESTS]
        command = [sys.executable, "-c", RUN, folder, *arguments]
        return subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode


def compiler_library(name: str) -> str:
    """Where the compiler keeps one of its libraries."""
    result = subprocess.run(["g++", f"-print-file-name={name}"], check=True, capture_output=True, text=True)
    return result.stdout.strip()


def run(*command: str | Path) -> None:
    """Run a command of this environment and fail if it does."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    subprocess.run([str(part) for part in command], check=True, env=os.environ | {"PATH": path})


if __name__ == "__main__":
    sys.exit(main())
