"""How the time of a query grows with the number of codes: tables beside the scan, and both kinds of calls. One thread.

Raw results go to ``results/lookup_growth.json`` and are drawn to ``results/lookup_growth.svg``.
"""

from __future__ import annotations

import json
import math
import sys
from argparse import ArgumentParser
from pathlib import Path
from statistics import mean
from typing import Any

from threadpoolctl import threadpool_limits

from case import Case
from groups.lookup import run
from machine import provenance, refuse_private_names

RESULTS = Path(__file__).parent / "results"
SIZES = (10_000, 100_000, 1_000_000, 10_000_000)
SHAPES = {"K=2": (64, 2), "K=4": (32, 4)}
COLOURS = {"ours": "#1b6ca8", "scan": "#c8553d"}
NAMES = {"ours": "tables", "scan": "scan"}


def main() -> int:
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="*", default=SIZES)
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--out", type=Path, default=RESULTS)
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
    (options.out / "lookup_growth.svg").write_text(draw(rows), encoding="utf-8")
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


def draw(rows: list[dict[str, Any]]) -> str:
    """Time over size, both logarithmic; one panel a shape, dashed where queries come together."""
    width, height, left, top = 330, 260, 56, 34
    sizes = sorted({row["n"] for row in rows})
    times = [mean(v) for row in rows for v in row["samples"].values()]
    x0, x1 = math.log10(sizes[0]), max(math.log10(sizes[-1]), math.log10(sizes[0]) + 1)
    y0, y1 = math.floor(math.log10(min(times))), math.ceil(math.log10(max(times)))
    parts = []
    for p, shape in enumerate(SHAPES):
        origin = p * (width + left + 30) + left

        def place(n: float, t: float, origin: int = origin) -> tuple[float, float]:
            x = origin + (math.log10(n) - x0) / (x1 - x0) * width
            return x, top + (y1 - math.log10(t)) / (y1 - y0) * height

        parts.append(f'<text x="{origin}" y="20" font-weight="bold">{shape}, 64 bits, top 10</text>')
        for power in range(y0, y1 + 1):
            _, y = place(sizes[0], 10.0**power)
            parts.append(f'<line x1="{origin}" x2="{origin + width}" y1="{y:.1f}" y2="{y:.1f}" stroke="#ddd"/>')
            parts.append(f'<text x="{origin - 6}" y="{y + 4:.1f}" text-anchor="end">{_time(power)}</text>')
        for n in sizes:
            x, _ = place(n, 10.0**y0)
            parts.append(f'<text x="{x:.1f}" y="{top + height + 18}" text-anchor="middle">{n:,}</text>')
        for name, colour in COLOURS.items():
            for together in (False, True):
                chosen = [row for row in rows if row["shape"] == shape and row["together"] == together]
                points = [place(row["n"], mean(row["samples"][name])) for row in chosen]
                path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
                dash = ' stroke-dasharray="5 4"' if together else ""
                parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"{dash}/>')
                if points:
                    label = f"{NAMES[name]}{', 100 together' if together else ''}"
                    x, y = points[-1]
                    parts.append(f'<text x="{x:.1f}" y="{y - 6:.1f}" text-anchor="end" fill="{colour}">{label}</text>')
    total = len(SHAPES) * (width + left + 30)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{total}" height="{top + height + 40}" '
        f'font-family="sans-serif" font-size="12">\n' + "\n".join(parts) + "\n</svg>\n"
    )


def _time(power: int) -> str:
    value, unit = next(
        (10.0**power / s, u) for s, u in ((1, "s"), (1e-3, "ms"), (1e-6, "µs"), (0, "")) if 10.0**power >= s * 0.999
    )
    return f"{value:g} {unit}"


if __name__ == "__main__":
    sys.exit(main())
