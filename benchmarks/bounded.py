"""Does the command line's memory grow with the file? Encodes and adds a small and a large file of vectors.

    python benchmarks/bounded.py [--rows 10000000] [--features 128] [--folder DIR] [--out FILE]

The folder needs room for the vectors: 5 GB for 10M × 128. Peak memory is that of the process, from the system.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

import numpy as np

from machine import provenance, refuse_private_names
from rankhash import LSH

RESULTS = Path(__file__).parent / "results"
PROGRAM = """
import atexit, sys
from pathlib import Path
from rankhash.cli import main

def report():
    print(next(line for line in Path("/proc/self/status").read_text().splitlines() if "VmHWM" in line), file=sys.stderr)

atexit.register(report)
main()
"""


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


def run(rows: int, features: int, folder: Path) -> list[dict[str, Any]]:
    """One record a verb and size."""
    hasher, records = folder / "h.safetensors", []
    LSH(64, random_state=0).fit(np.random.default_rng(0).standard_normal((100, features))).save(hasher)
    for n in (rows // 100, rows):
        vectors, collection = folder / f"{n}.npy", folder / f"{n}.rankhash"
        write_vectors(vectors, n, features)
        peak("create", collection, "--hasher", hasher)
        for verb, arguments in {
            "encode": (hasher, vectors, "--out", folder / "codes.npy"),
            "add": (collection, vectors),
            "fit": (vectors, "--out", folder / "fitted", "--method", "lsh", "--limit", 10_000),
        }.items():
            file = {
                "verb": verb,
                "rows": n,
                "features": features,
                "file_megabytes": round(vectors.stat().st_size / 2**20),
            }
            records.append(file | peak(verb, *arguments))
            print(records[-1], flush=True)
        vectors.unlink()
    return records


def main() -> int:
    """0 if the large file took at most a quarter more memory than the small one."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--features", type=int, default=128)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--out", type=Path, default=RESULTS / "bounded.json")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        records = run(options.rows, options.features, Path(folder))
    text = json.dumps({"provenance": provenance(), "records": records}, indent=1) + "\n"
    refuse_private_names(text)
    options.out.write_text(text, encoding="utf-8")
    half = len(records) // 2
    pairs = zip(records[:half], records[half:], strict=True)
    return 0 if all(large["megabytes"] <= 1.25 * small["megabytes"] for small, large in pairs) else 1


if __name__ == "__main__":
    sys.exit(main())
