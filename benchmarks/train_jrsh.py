"""How long JRSH learns, and how much memory that takes: raw numbers to results/train_jrsh.json,
and a picture of the growth to docs/images.

Run it as ``python benchmarks/train_jrsh.py --data FOLDER`` on a machine that does nothing else. Each case is a process
of its own, whose peak memory is noted beside seconds by the clock and of CPU time; vectors are synthetic but for MNIST.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

import numpy as np

from machine import provenance, refuse_private_names
from plot import Panel, draw
from rankhash import JRSH
from sets import add_data_option, load

RESULTS = Path(__file__).parent / "results" / "train_jrsh.json"
PICTURE = Path(__file__).parents[1] / "docs" / "images" / "train_jrsh.svg"
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")


def cases() -> dict[str, dict[str, Any]]:
    """Points, dimensions, symbols and threads of each fit, by name."""
    small = {"n": 1000, "d": 40, "threads": 1}
    found = {f"1000 × 40, {n} bits": {**small, "n_symbols": n} for n in (16, 32, 64, 128)}
    found |= {
        f"{n} × 128, 64 bits": {"n": n, "d": 128, "n_symbols": 64, "threads": 2} for n in (10_000, 100_000, 1_000_000)
    }
    found["10000 × 1536, 64 bits"] = {"n": 10_000, "d": 1536, "n_symbols": 64, "threads": 2}
    found["MNIST 60000 × 784, classes, rbf, 63 bits"] = {"set": "mnist", "n": 60_000, "n_symbols": 21, "threads": 2}
    return found


def clustered(n: int, d: int) -> np.ndarray[tuple[int, int], np.dtype[np.float32]]:
    """Vectors around a thousand centres, whose dimensions vary less and less."""
    rng = np.random.default_rng(0)
    spread = np.linspace(1, 0.1, d, dtype=np.float32)
    centers = rng.standard_normal((1000, d), np.float32) * spread
    return centers[rng.integers(0, 1000, n)] + 0.5 * rng.standard_normal((n, d), np.float32) * spread


def one(name: str, folder: Path) -> dict[str, Any]:
    """Fit one case in this process."""
    case = cases()[name]
    y = None
    if "set" in case:
        X, y = load(folder, case["set"])
        X, y = X[: case["n"]].astype(np.float32), y[: case["n"]]
    else:
        X = clustered(case["n"], case["d"])
    hasher = JRSH(case["n_symbols"], features="rbf" if y is not None else "linear", random_state=0, verbose=False)
    start, cpu = time.perf_counter(), time.process_time()
    hasher.fit(X, y)
    facts = {"seconds": time.perf_counter() - start, "cpu_seconds": time.process_time() - cpu}
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"case": name, **case, **{key: round(value, 2) for key, value in facts.items()}, "peak_mb": round(peak)}


def main() -> None:
    parser = ArgumentParser(description=__doc__)
    add_data_option(parser)
    parser.add_argument("--case", help="fit this one here and print it")
    parser.add_argument("--draw", action="store_true", help="only draw the growth of the kept times")
    parser.add_argument("--only", nargs="+", default=list(cases()), help="names of cases")
    options = parser.parse_args()
    if options.case:
        print(json.dumps(one(options.case, options.data)))
        return
    if options.draw:
        draw_kept()
        return
    rows = []
    for name in options.only:
        threads = dict.fromkeys(THREADS, str(cases()[name]["threads"]))
        command = [sys.executable, __file__, "--case", name, "--data", str(options.data)]
        done = subprocess.run(command, env=os.environ | threads, capture_output=True, text=True, check=True)
        rows.append(json.loads(done.stdout))
        print(rows[-1], flush=True)
    text = json.dumps({"provenance": provenance() | {"load": os.getloadavg()}, "rows": rows}, indent=1)
    refuse_private_names(text)
    RESULTS.write_text(text + "\n", encoding="utf-8")
    draw_kept()


def draw_kept() -> None:
    """Draw the growth of the kept times."""
    rows = json.loads(RESULTS.read_text(encoding="utf-8"))["rows"]
    PICTURE.write_text(picture(rows), encoding="utf-8")


def picture(rows: list[dict[str, Any]]) -> str:
    """Seconds over symbols, and over training points."""
    shown = {
        (40, "n_symbols", "symbols (1000 points)"): "seconds a fit, d=40, one thread",
        (128, "n", "training points (64 symbols)"): "seconds a fit, d=128, two threads",
    }
    panels = []
    for (d, axis, title), caption in shown.items():
        points = sorted((row[axis], row["seconds"]) for row in rows if row.get("d") == d)
        if len(points) > 1:
            panels.append(Panel(caption, title, {"JRSH": points}, linear=True))
    return draw(panels)


if __name__ == "__main__":
    main()
