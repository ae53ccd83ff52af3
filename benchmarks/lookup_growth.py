"""How the time of a query grows with the number of codes: tables beside the scan, and both kinds of calls. One thread.

Raw results go to ``results/lookup_growth.json``, a picture to ``docs/images/lookup_growth.svg``.
"""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser
from pathlib import Path
from statistics import mean
from typing import Any

from threadpoolctl import threadpool_limits

from case import Case
from groups.lookup import run
from machine import provenance, refuse_private_names
from plot import Panel, draw

RESULTS = Path(__file__).parent / "results"
SIZES = (10_000, 100_000, 1_000_000, 10_000_000)
SHAPES = {"K=2": (64, 2), "K=4": (32, 4)}
NAMES = {"ours": "tables", "scan": "scan"}


def main() -> int:
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="*", default=SIZES)
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--pictures", type=Path, default=RESULTS.parents[1] / "docs" / "images")
    options = parser.parse_args()
    with threadpool_limits(1):
        rows = [
            measure_row(shape, n, together, options.repeats)
            for shape in SHAPES
            for n in options.sizes
            for together in (False, True)
        ]
    text = json.dumps({"provenance": provenance(), "rows": rows}, indent=1)
    refuse_private_names(text)
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "lookup_growth.json").write_text(text + "\n", encoding="utf-8")
    (options.pictures / "lookup_growth.svg").write_text(picture(rows), encoding="utf-8")
    return 0


def measure_row(shape: str, n: int, together: bool, repeats: int) -> dict[str, Any]:
    """Mean seconds a query of tables and scan over ``n`` clustered codes of 64 bits, k=10."""
    n_symbols, arity = SHAPES[shape]
    params = {"n_symbols": n_symbols, "arity": arity, "n": n, "n_queries": 4000, "data": "clustered", "k": 10}
    params |= {"what": "nearest", "compare": "speedup", "together": together, "batch": 100, "repeats": repeats}
    outcome = run(Case(f"{shape}, {n}", params, {}))
    samples = {name: [t / 100 for t in times] for name, times in outcome.samples["thread"].items()}
    row = {"shape": shape, "n": n, "together": together, "agree": outcome.agree, "samples": samples}
    print(
        shape,
        n,
        "together" if together else "one at a time",
        {k: f"{mean(v) * 1e6:.1f} µs" for k, v in samples.items()},
    )
    return row


def picture(rows: list[dict[str, Any]]) -> str:
    """Time over size, one panel a shape."""
    panels = []
    for shape in SHAPES:
        lines = {}
        for name, label in NAMES.items():
            for together in (False, True):
                chosen = [row for row in rows if row["shape"] == shape and row["together"] == together]
                points = [(row["n"], mean(row["samples"][name])) for row in chosen]
                lines[f"{label}{', 100 together' if together else ''}"] = points
        panels.append(Panel(f"{shape}, 64 bits, top 10: time of a query", "codes", lines))
    return draw(panels)


if __name__ == "__main__":
    sys.exit(main())
