"""Does the memory of the command line grow with the file? Encodes, adds and fits a small and a large file of vectors.

The large file takes 5 GB of disk. Peak memory is that of the process, as the system counts it.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from harness.results import Facts, Row
from harness.running import Run
from rankhash import LSH

N_ROWS, QUICK_ROWS, N_FEATURES = 10_000_000, 10_000, 128
GROWTH = 1.25
"""Memory that the large file may take, in times of what the small one took."""

PROGRAM = """
import atexit, sys
from pathlib import Path
from rankhash.cli import main

def report():
    print(next(line for line in Path("/proc/self/status").read_text().splitlines() if "VmHWM" in line), file=sys.stderr)

atexit.register(report)
main()
"""


def rows(run: Run) -> Iterator[Row]:
    """One row per verb and size; the answers of the large file agree if its memory is bounded."""
    large = QUICK_ROWS if run.quick else N_ROWS
    small_peaks: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        hasher = folder / "h.safetensors"
        LSH(64, random_state=0).fit(np.random.default_rng(0).standard_normal((100, N_FEATURES))).save(hasher)
        for n in (large // 100, large):
            keys = ({"verb": verb, "rows": n, "features": N_FEATURES} for verb in ("encode", "add", "fit"))
            for key in list(run.wanted(keys)):
                values = verb_peak(key["verb"], n, hasher, folder)
                limit = GROWTH * small_peaks.setdefault(key["verb"], values["megabytes"])
                yield Row(key, values | {"agree": values["megabytes"] <= limit})


def verb_peak(verb: str, n: int, hasher: Path, folder: Path) -> Facts:
    """Peak memory and seconds of one verb on a file of ``n`` vectors, and the file's size."""
    vectors, collection = folder / f"{n}.npy", folder / f"{n}.rankhash"
    if not vectors.exists():
        write_vectors(vectors, n, N_FEATURES)
    if not collection.exists():
        peak("create", collection, "--hasher", hasher)
    arguments: dict[str, tuple[object, ...]] = {
        "encode": (hasher, vectors, "--out", folder / "codes.npy"),
        "add": (collection, vectors),
        "fit": (vectors, "--out", folder / "fitted", "--method", "lsh", "--limit", 10_000),
    }
    return {"file_megabytes": round(vectors.stat().st_size / 2**20)} | peak(verb, *arguments[verb])


def write_vectors(path: Path, rows: int, features: int) -> None:
    """A .npy file of normal numbers; a block is drawn once and written again and again, each time rotated."""
    block = np.random.default_rng(0).standard_normal((50_000, features), dtype=np.float32)
    head = {"descr": "<f4", "fortran_order": False, "shape": (rows, features)}
    with open(path, "wb") as file:
        np.lib.format.write_array_header_1_0(file, head)
        for start in range(0, rows, len(block)):
            file.write(np.roll(block, start // len(block), axis=1)[: rows - start].tobytes())


def peak(*arguments: object) -> dict[str, float]:
    """Megabytes and seconds of ``rankhash`` with these arguments."""
    started = time.perf_counter()
    command = [sys.executable, "-c", PROGRAM, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"rankhash {arguments[0]} failed: {done.stderr}")
    kilobytes = int(done.stderr.split("VmHWM:")[1].split()[0])
    return {"megabytes": round(kilobytes / 1024, 1), "seconds": round(time.perf_counter() - started, 1)}
