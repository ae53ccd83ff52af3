"""Tables of the kept quality and training results, for ``render.py``; needs nothing but Python."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from statistics import mean, stdev
from typing import Any

BITS = (8, 16, 32, 64, 128)
LABEL_BITS = (16, 32, 64)
SETS = {"mnist": "MNIST", "cifar10-gist": "CIFAR-10 Gist"}
LABELLED = SETS | {
    "cifar10-gist, all labels": "CIFAR-10 Gist, all 59 000 labels",
    "mnist, unseen database": "MNIST, database of unseen images",
}


def neighbours(folder: Path) -> str:
    """Average precision of metric neighbours by the paper's protocol, mean ± standard deviation over splits."""
    result = _load(folder, "quality_baselines")
    if result is None:
        return "_Not measured yet._\n"
    lines = []
    for name, title in SETS.items():
        lines += ["", *_head(f"{title}, bits", BITS)]
        for method in _methods(result["rows"]):
            for key, label in (("ap", method), ("weighted_ap", f"{method}, weighted")):
                cells = [_values(result["rows"], name, method, bits, key) for bits in BITS]
                if any(cells):
                    lines.append(_line(label, map(_spread, cells)))
    return "\n".join([*lines[1:], "", _origin(result)]) + "\n"


def balls(folder: Path) -> str:
    """The precision within 2 differing symbols, empty balls counting 0."""
    result = _load(folder, "quality_baselines")
    if result is None:
        return "_Not measured yet._\n"
    lines = []
    for name, title in SETS.items():
        lines += ["", *_head(f"{title}, bits", BITS)]
        for method in _methods(result["rows"]):
            cells = [[ball[2] for ball in _values(result["rows"], name, method, bits, "ball")] for bits in BITS]
            lines.append(_line(method, map(_spread, cells)))
    return "\n".join([*lines[1:], "", _origin(result)]) + "\n"


def classes(folder: Path) -> str:
    """Mean average precision of classes."""
    result = _load(folder, "quality_labels")
    if result is None:
        return "_Not measured yet._\n"
    lines = []
    for name, title in LABELLED.items():
        lines += ["", *_head(f"{title}, bits", LABEL_BITS)]
        for method in _methods(result["rows"]):
            cells = [_values(result["rows"], name, method, bits, "map") for bits in LABEL_BITS]
            if any(cells):
                lines.append(_line(method, (f"{mean(cell):.3f}" if cell else "–" for cell in cells)))
    return "\n".join([*lines[1:], "", _origin(result)]) + "\n"


def training(folder: Path) -> str:
    """Seconds of CPU to fit and to encode, and the memory that a fit took beside its input."""
    result = _load(folder, "train_baselines")
    if result is None:
        return "_Not measured yet._\n"
    lines = ["| vectors | method | fit, s | encode, µs a vector | memory of the fit, MB |", "|---|---|--:|--:|--:|"]
    for row in result["rows"]:
        shape = f"{row['n']} × {row['d']}, {row['bits']} bits"
        numbers = f"{row['fit_seconds']:.2f} | {row['encode_microseconds']:.2f} | {row['fit_megabytes']:.0f}"
        lines.append(f"| {shape} | {row['method']} | {numbers} |")
    return "\n".join([*lines, "", _origin(result)]) + "\n"


BLOCKS: dict[str, Callable[[Path], str]] = {
    "neighbours": neighbours,
    "balls": balls,
    "classes": classes,
    "training": training,
}


def _load(folder: Path, name: str) -> Any:
    path = folder / f"{name}.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None


def _methods(rows: list[dict[str, Any]]) -> list[str]:
    return sorted({row["method"] for row in rows}, key=str.lower)


def _values(rows: list[dict[str, Any]], name: str, method: str, bits: int, key: str) -> list[Any]:
    return [row[key] for row in rows if (row["set"], row["method"], row["bits"]) == (name, method, bits) and key in row]


def _spread(values: list[float]) -> str:
    if not values:
        return "–"
    return f"{mean(values):.3f} ± {stdev(values):.3f}" if len(values) > 1 else f"{values[0]:.3f}"


def _head(title: str, columns: tuple[int, ...]) -> list[str]:
    return [_line(title, map(str, columns)), _line("---", ("--:" for _ in columns))]


def _line(label: str, cells: Any) -> str:
    return "| " + " | ".join([label, *cells]) + " |"


def _origin(result: dict[str, Any]) -> str:
    origin = result["provenance"]
    facts = [
        f"{origin['machine']['cpu']}, {origin['machine']['cores']} cores, {origin['isa']}, one thread",
        f"commit {origin['commit'][:10]}" + (" with uncommitted changes" if origin["dirty"] else ""),
        origin["date"][:10],
        f"load {origin['load'][0]:.1f}",
    ]
    return f"_{'; '.join(facts)}._"
