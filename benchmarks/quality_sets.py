"""Whether RSH beats WTA and SRSH beats RSH beyond the paper's protocol: average precision over sets and truths.

Library defaults; 1000 training vectors (two thirds of a small set), which are also the database, and up to 1000
queries. Raw results go to ``results/quality_sets.json``; ``--show`` prints the tables that they make.

========  ==================================================  ==============================================
truth     vectors                                             learned from
========  ==================================================  ==============================================
paper     of unit length, then reduced to 40 dimensions       their neighbours before the reduction, given
reduced   the same                                            nothing given: the vectors alone
raw       as they are                                         nothing given: the vectors alone
classes   as they are                                         classes, which are the truth
========  ==================================================  ==============================================

The truth of the first three is the neighbourhood before any reduction.
"""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from machine import provenance, refuse_private_names
from quality_rsh import distances
from rankhash import RSH, SRSH, WTA
from rankhash._ranking import average_precision
from sets import FILES, Split, add_data_option, class_split, load, paper_split, raw_split

RESULTS = Path(__file__).parent / "results" / "quality_sets.json"
LENGTHS = (8, 16, 32, 64)
SETS = (*FILES, "digits", "clusters", "low rank", "gaussian")
TRUTHS = ("paper", "reduced", "raw", "classes")
METHODS = {"WTA": WTA, "RSH": RSH, "SRSH": SRSH}


def main() -> int:
    parser = ArgumentParser(description=__doc__)
    add_data_option(parser)
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--first", type=int, default=300, help="seed of the first split")
    parser.add_argument("--set", choices=SETS, help="run one set, keep the rows of the others")
    parser.add_argument("--show", action="store_true", help="print the tables of the kept results")
    options = parser.parse_args()
    kept = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    if not options.show:
        for name in [options.set] if options.set else SETS:
            origin, seeds = provenance(), range(options.first, options.first + options.splits)
            with threadpool_limits(1):
                rows = [row for truth in TRUTHS for seed in seeds for row in run(options.data, name, truth, seed)]
            kept[name] = {"provenance": origin, "rows": rows}
        text = json.dumps(kept, indent=1)
        refuse_private_names(text)
        RESULTS.parent.mkdir(exist_ok=True)
        RESULTS.write_text(text + "\n")
    print(tables([row for part in kept.values() for row in part["rows"]]))
    return 0


def run(folder: Path, name: str, truth: str, seed: int) -> list[dict[str, Any]]:
    X, y = vectors(folder, name, seed)
    if truth == "classes" and y is None:
        return []
    n_train = min(1000, len(X) * 2 // 3)
    sizes = n_train, min(1000, len(X) - n_train)
    if truth == "classes":
        split = class_split(X, y, seed, *sizes)
    else:
        split = (raw_split if truth == "raw" else paper_split)(X, seed, *sizes)
    known = {"similarity": split.neighbors} if truth in ("paper", "classes") else {}
    rows = []
    for n_symbols in LENGTHS:
        scores = {}
        for method, hasher in METHODS.items():
            learned = hasher(n_symbols, random_state=seed).fit(split.train, **known)
            codes = learned.transform(split.queries), learned.transform(split.train)
            scores[method] = average_precision(distances(*codes), split.relevant)
        rows.append({"set": name, "truth": truth, "seed": seed, "n_symbols": n_symbols, "scores": scores})
    if truth == "reduced":
        rows[0]["still_close"] = still_close(split)
    return rows


def still_close(split: Split) -> float:
    """The share of the closest pairs of the reduced training vectors that are neighbours before the reduction."""
    first, second = np.triu_indices(len(split.train), 1)
    neighbors = split.neighbors[first, second]
    apart = ((split.train[first] - split.train[second]) ** 2).sum(axis=1)
    return float(neighbors[np.argsort(apart)[: neighbors.sum()]].mean())


def vectors(folder: Path, name: str, seed: int) -> tuple[Any, Any]:
    """A set of :mod:`sets`, or a synthetic one of 2000 vectors."""
    rng, n = np.random.default_rng(seed), 2000
    if name == "gaussian":
        return rng.standard_normal((n, 16)), None
    if name == "low rank":
        inner = rng.standard_normal((n, 10)) * np.linspace(1, 0.3, 10)
        return inner @ rng.standard_normal((10, 64)) + 0.05 * rng.standard_normal((n, 64)), None
    if name == "clusters":
        group = rng.integers(0, 30, n)
        return rng.standard_normal((30, 32))[group] + 0.6 * rng.standard_normal((n, 32)), group
    return load(folder, name)


def tables(rows: list[dict[str, Any]]) -> str:
    """WTA, RSH and SRSH at every length, the mean of the splits; a star where an order does not hold."""
    lines = [f"{'set':14}{'truth':9}" + "".join(f"{n:>6} symbols: W R S  " for n in LENGTHS)]
    for place in dict.fromkeys((row["set"], row["truth"]) for row in rows):
        cells = []
        for n_symbols in LENGTHS:
            chosen = [r["scores"] for r in rows if (r["set"], r["truth"], r["n_symbols"]) == (*place, n_symbols)]
            wta, rsh, srsh = (float(np.mean([scores[method] for scores in chosen])) for method in METHODS)
            cells.append(f"{wta:6.3f} {rsh:.3f} {srsh:.3f}{' ' if wta < rsh < srsh else '*'}")
        lines.append(f"{place[0]:14}{place[1]:9}" + "  ".join(cells))
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
