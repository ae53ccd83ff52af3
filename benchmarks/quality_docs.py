"""Draw the tables of learned codes from the raw results: ``python benchmarks/quality_docs.py [--check]``.

What stands between ``<!-- quality:paper -->`` and ``<!-- /quality:paper -->`` in docs/hashers/srsh.md is replaced by
the tables of ``quality_rsh.json``, ``quality:sets`` by that of ``quality_sets.json``. Needs nothing but Python.
"""

from __future__ import annotations

import json
import re
import sys
from argparse import ArgumentParser
from pathlib import Path
from statistics import mean, stdev
from typing import Any

HERE = Path(__file__).parent
PAGE = HERE.parent / "docs" / "hashers" / "srsh.md"
BLOCK = re.compile(r"(<!-- quality:(\w+) -->\n).*?(<!-- /quality:\2 -->)", re.DOTALL)
LENGTHS = (8, 16, 32, 64)
SETS = {"mnist": "MNIST", "cifar10-gist": "CIFAR-10 Gist"}
METHODS = {
    "LSH": "LSH",
    "WTA": "WTA",
    "RSH untrained": "RSH, not trained",
    "RSH": "RSH",
    "SRSH bound": 'SRSH, `update="bound"`',
    "SRSH hinge": "SRSH",
}
ORDER = ("WTA", "RSH", "SRSH")


def main() -> int:
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="change nothing; exit with 1 if the page is stale")
    options = parser.parse_args()
    text = PAGE.read_text(encoding="utf-8")
    new = BLOCK.sub(lambda match: match[1] + DRAW[match[2]]() + match[3], text)
    if options.check:
        return int(new != text)
    PAGE.write_text(new, encoding="utf-8")
    return 0


def paper() -> str:
    kept = json.loads((HERE / "results" / "quality_rsh.json").read_text(encoding="utf-8"))
    parts = []
    for name, title in SETS.items():
        parts += [f"| {title} | " + " | ".join(map(str, LENGTHS)) + " |", "|---" * (1 + len(LENGTHS)) + "|"]
        for method, label in METHODS.items():
            cells = [values(kept["rows"], name, method, n_symbols) for n_symbols in LENGTHS]
            parts.append(f"| {label} | " + " | ".join(f"{mean(v):.3f} ± {stdev(v):.3f}" for v in cells) + " |")
        parts.append("")
    splits = len(values(kept["rows"], "mnist", "WTA", 8))
    return "\n".join([*parts, f"_{splits} splits; {origin(kept['provenance'])}._"]) + "\n"


def values(rows: list[dict[str, Any]], name: str, method: str, n_symbols: int) -> list[float]:
    wanted = {"set": name, "method": method, "n_symbols": n_symbols}
    return [row["ap"] for row in rows if wanted.items() <= row.items()]


def sets() -> str:
    path = HERE / "results" / "quality_sets.json"
    if not path.exists():
        return "_Not measured yet._\n"
    kept = json.loads(path.read_text(encoding="utf-8"))
    rows = [row for part in kept.values() for row in part["rows"]]
    parts = ["| set | truth | " + " | ".join(map(str, LENGTHS)) + " |", "|---" * (2 + len(LENGTHS)) + "|"]
    for name, truth in dict.fromkeys((row["set"], row["truth"]) for row in rows):
        cells = []
        for n_symbols in LENGTHS:
            chosen = [r["scores"] for r in rows if (r["set"], r["truth"], r["n_symbols"]) == (name, truth, n_symbols)]
            means = [mean(scores[method] for scores in chosen) for method in ORDER]
            shown = " ".join(f"{value:.3f}" for value in means)
            cells.append(shown if means == sorted(means) else f"**{shown}**")
        parts.append(f"| {name} | {truth} | " + " | ".join(cells) + " |")
    origins = dict.fromkeys(origin(part["provenance"]) for part in kept.values())
    splits = len({row["seed"] for row in rows})
    return "\n".join([*parts, "", f"_{splits} splits; {'; '.join(origins)}._"]) + "\n"


def origin(facts: dict[str, Any]) -> str:
    changed = " with uncommitted changes" if facts["dirty"] else ""
    return f"commit {facts['commit'][:10]}{changed}, {facts['date'][:10]}"


DRAW = {"paper": paper, "sets": sets}

if __name__ == "__main__":
    sys.exit(main())
