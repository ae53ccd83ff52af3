"""How long learning takes: nanoseconds a pair, seconds a fit, and how both grow. One thread.

Raw results go to ``results/train_speed.json`` and the growth is drawn to ``results/train_speed.svg``.
"""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from growth import draw_growth
from machine import provenance, refuse_private_names
from measure import one_thread
from rankhash import RSH, SRSH, _kernels

RESULTS = Path(__file__).parent / "results"
GOALS = {40: 100, 128: 180, 512: 500}
N_PAIRS = 100_000
LENGTHS = (8, 32, 128)
POINTS = (1000, 4000, 16_000, 64_000)


def main() -> int:
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    with threadpool_limits(1):
        rows = kernel_rows(options.repeats) + fit_rows(options.repeats)
    text = json.dumps({"provenance": provenance(), "rows": rows}, indent=1)
    refuse_private_names(text)
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "train_speed.json").write_text(text + "\n")
    (RESULTS / "train_speed.svg").write_text(draw(rows))
    for row in rows:
        print({key: value for key, value in row.items() if key != "samples"})
    return 0


def clustered(n: int, d: int) -> Any:
    """Points in 50 clusters, of unit mean square length."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((50, d))[rng.integers(0, 50, n)] + 0.7 * rng.standard_normal((n, d))
    return (x / np.sqrt((x * x).sum(axis=1).mean())).astype(np.float32)


def kernel_rows(repeats: int) -> list[dict[str, Any]]:
    """Nanoseconds a pair of the online loop, arity 4, for points that fit into the cache and for more."""
    rows = []
    for d in GOALS:
        for n in (1000, 100_000):
            rng, x = np.random.default_rng(1), clustered(n, d)
            pairs = rng.integers(0, n, (N_PAIRS, 2)).astype(np.int32)
            labels = (rng.random(N_PAIRS) < 0.05).astype(np.uint8)
            start = (1.5 * rng.standard_normal((4, d))).astype(np.float32)

            def train(x: Any = x, pairs: Any = pairs, labels: Any = labels, start: Any = start) -> float:
                step = {"rate": 0.075, "rate_step": -0.075 / N_PAIRS, "age": -N_PAIRS // 2}
                rule = {"hinge": False, "rho": 0.7, "lam": 1.0}
                weights, lag = start.copy(), np.zeros_like(start)
                totals = _kernels.train_pairs(x, pairs, labels, weights, lag, **rule, **step)
                return totals.updates / N_PAIRS

            samples = one_thread({"train": train}, 3 * repeats)["thread"]["train"]
            rows.append(
                {"what": "pair", "d": d, "n_points": n, "ns": round(median(samples) / N_PAIRS * 1e9, 1)}
                | {"goal": GOALS[d], "updated": round(train(), 3), "samples": samples}
            )
    return rows


def fit_rows(repeats: int) -> list[dict[str, Any]]:
    """Seconds of whole fits: the case that has a goal, more symbols, more points."""
    rows = []
    methods: dict[str, Callable[[int], Any]] = {
        "RSH": lambda n: RSH(n, random_state=0),
        "SRSH hinge": lambda n: SRSH(n, random_state=0),
        "SRSH bound": lambda n: SRSH(n, update="bound", random_state=0),
    }
    cases = [(n_symbols, 1000) for n_symbols in LENGTHS] + [(32, n) for n in POINTS[1:]]
    for n_symbols, n in cases:
        x = clustered(n, 40)
        calls = {name: (lambda make=make, x=x, n=n_symbols: make(n).fit(x)) for name, make in methods.items()}
        few = repeats if n <= 1000 else 1
        for name, samples in one_thread(calls, few)["thread"].items():
            case = {"what": "fit", "method": name, "n_symbols": n_symbols, "n_points": n, "d": 40}
            rows.append(case | {"seconds": round(median(samples), 3), "samples": samples})
    return rows


def draw(rows: list[dict[str, Any]]) -> str:
    """Seconds over symbols and over points."""
    fits, caption = [row for row in rows if row["what"] == "fit"], "seconds a fit, d=40, one thread"
    symbols, points = ([r for r in fits if r[key] == value] for key, value in (("n_points", 1000), ("n_symbols", 32)))
    return draw_growth(
        [
            ("n_symbols", symbols, "symbols (1000 points)", caption),
            ("n_points", points, "training points (32 symbols)", caption),
        ]
    )


if __name__ == "__main__":
    sys.exit(main())
