"""Tables that compare all methods, for ``render.py``: neighbours, look-ups, classes, training."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from statistics import mean
from typing import Any

from markdown import NOT_MEASURED, SETS, head, line, load, methods, origin, runs, runs_origin, spread

BITS = (8, 16, 32, 64, 128)
LABEL_BITS = (16, 32, 64)
LABELLED = SETS | {
    "cifar10-gist, all labels": "CIFAR-10 Gist, all 59 000 labels",
    "mnist, unseen database": "MNIST, database of unseen images",
}
Run = dict[str, Any]


def neighbours(folder: Path) -> str:
    """Average precision of metric neighbours by the paper's protocol, mean ± standard deviation over splits."""
    return _by_bits(folder, {"": lambda run: run["ap"], ", weighted": lambda run: run.get("weighted_ap")})


def balls(folder: Path) -> str:
    """The precision within 2 differing symbols, empty balls counting 0."""
    return _by_bits(folder, {"": lambda run: run["ball"]["2"]["zero"]})


def _by_bits(folder: Path, metrics: dict[str, Callable[[Run], float | None]]) -> str:
    lines: list[str] = []
    kept: list[Run] = []
    for name, title in SETS.items():
        lines += ["", *head(f"{title}, bits", BITS)]
        for method in methods(folder):
            found = runs(folder, name, method)
            kept += found
            label = found[0]["method"] if found else method
            for suffix, metric in metrics.items():
                cells = [[metric(run) for run in found if run["bits"] == bits] for bits in BITS]
                known = [[value for value in cell if value is not None] for cell in cells]
                if any(known):
                    lines.append(line(label + suffix, map(spread, known)))
    return "\n".join([*lines[1:], "", runs_origin(kept)]) + "\n"


def classes(folder: Path) -> str:
    """Mean average precision of classes."""
    result = load(folder, "quality_labels")
    if result is None:
        return NOT_MEASURED
    lines: list[str] = []
    for name, title in LABELLED.items():
        lines += ["", *head(f"{title}, bits", LABEL_BITS)]
        for method in sorted({row["method"] for row in result["rows"]}, key=str.lower):
            cells = [_maps(result["rows"], name, method, bits) for bits in LABEL_BITS]
            if any(cells):
                lines.append(line(method, (f"{mean(cell):.3f}" if cell else "–" for cell in cells)))
    return "\n".join([*lines[1:], "", origin(result["provenance"], "one thread")]) + "\n"


def _maps(rows: list[Run], name: str, method: str, bits: int) -> list[float]:
    return [row["map"] for row in rows if (row["set"], row["method"], row["bits"]) == (name, method, bits)]


def training(folder: Path) -> str:
    """Seconds of CPU to fit and to encode, and the memory that a fit took beside its input."""
    result = load(folder, "train_baselines")
    if result is None:
        return NOT_MEASURED
    lines = ["| vectors | method | fit, s | encode, µs a vector | memory of the fit, MB |", "|---|---|--:|--:|--:|"]
    for row in result["rows"]:
        shape = f"{row['n']} × {row['d']}, {row['bits']} bits"
        numbers = f"{row['fit_seconds']:.2f} | {row['encode_microseconds']:.2f} | {row['fit_megabytes']:.0f}"
        lines.append(f"| {shape} | {row['method']} | {numbers} |")
    return "\n".join([*lines, "", origin(result["provenance"], "one thread")]) + "\n"


BLOCKS: dict[str, Callable[[Path], str]] = {
    "neighbours": neighbours,
    "balls": balls,
    "classes": classes,
    "training": training,
}
