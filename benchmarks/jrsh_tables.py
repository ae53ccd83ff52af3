"""Tables of JRSH from the runs of ``rankhash reproduce`` and of ``train_jrsh.py``, for ``render.py``."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from statistics import mean, stdev
from typing import Any

BITS = (8, 16, 32, 64)
BALL_BITS = (16, 32, 64)
SETS = {"mnist": "MNIST", "cifar10-gist": "CIFAR-10 Gist"}
RIVALS = ("SRSH", "RSH", "ITQ", "MLH", "KSH", "LSH")
BALLS = ("JRSH radius 2", "JRSH radius 3", "JRSH", "SRSH", "ITQ", "MLH")
NOT_MEASURED = "_Not measured yet._\n"


def ranking(folder: Path) -> str:
    """Average precision at equal bits, mean ± standard deviation over the runs."""
    lines = []
    for name, title in SETS.items():
        lines += ["", *_head(f"{title}, bits", [str(bits) for bits in BITS])]
        for method in ("JRSH", *RIVALS):
            rows = read(folder, name, method)
            cells = [_spread([row["ap"] for row in rows if row["bits"] == bits]) for bits in BITS]
            if rows:
                lines.append(_line(f"**{method}**" if method == "JRSH" else method, cells))
    return "\n".join(lines[1:]) + f"\n\n{_origin(folder)}\n"


def balls(folder: Path) -> str:
    """Precision within a radius at equal bits, empty balls counting 0."""
    lines = []
    for name, title in SETS.items():
        columns = [f"{bits} bits, R={radius}" for bits in BALL_BITS for radius in (2, 3)]
        lines += ["", *_head(title, columns)]
        for method in BALLS:
            rows = read(folder, name, method)
            wanted = [(bits, radius) for bits in BALL_BITS for radius in ("2", "3")]
            cells = [_spread([row["ball"][r]["zero"] for row in rows if row["bits"] == bits]) for bits, r in wanted]
            if rows:
                lines.append(_line(method, cells))
    return "\n".join(lines[1:]) + f"\n\n{_origin(folder)}\n"


def training(folder: Path) -> str:
    """Time and memory of learning."""
    path = folder / "train_jrsh.json"
    if not path.exists():
        return NOT_MEASURED
    result = json.loads(path.read_text(encoding="utf-8"))
    lines = _head("vectors", ["threads of BLAS", "seconds", "CPU seconds", "peak memory, MB"])
    for row in result["rows"]:
        lines.append(_line(row["case"], [str(row[key]) for key in ("threads", "seconds", "cpu_seconds", "peak_mb")]))
    origin = result["provenance"]
    commit = origin["commit"][:10] + (" with uncommitted changes" if origin["dirty"] else "")
    machine = f"{origin['machine']['cpu']}, {origin['machine']['cores']} cores"
    return "\n".join([*lines, "", f"_{machine}; commit {commit}; load {origin['load'][0]:.1f} after._"]) + "\n"


BLOCKS: dict[str, Callable[[Path], str]] = {"jrsh": ranking, "jrsh_balls": balls, "train_jrsh": training}


def read(folder: Path, name: str, method: str) -> list[dict[str, Any]]:
    """The runs of a method by the paper's protocol; untuned, the database being the training vectors."""
    path = folder / "reproduce" / name / f"{method.replace(' ', '-')}.jsonl"
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []
    return [row for row in rows if row["tuned_for"] is None and row["settings"]["truth"] == "neighbors"]


def _spread(values: list[float]) -> str:
    if not values:
        return "–"
    return f"{mean(values):.3f} ± {stdev(values):.3f}" if len(values) > 1 else f"{values[0]:.3f}"


def _head(title: str, columns: list[str]) -> list[str]:
    return [_line(title, columns), _line("---", ["--:"] * len(columns))]


def _line(label: str, cells: list[str]) -> str:
    return "| " + " | ".join([label, *cells]) + " |"


def _origin(folder: Path) -> str:
    counts = [len({row["seed"] for row in read(folder, name, "JRSH")}) for name in SETS]
    commits = sorted({row["origin"]["commit"] for name in SETS for row in read(folder, name, "JRSH")})
    made = ", ".join(commits) or "none"
    return f"_JRSH: {min(counts)} runs a set, one thread, commit {made}. The others: see the raw results._"
