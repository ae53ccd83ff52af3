"""Tables of JRSH: ``rankhash reproduce``, ``train_jrsh.py``, ``quality_recall.py``, ``quality_many.py``."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from markdown import NOT_MEASURED, SETS, head, line, load, origin, runs, runs_origin, spread

BITS = (8, 16, 32, 64)
BALL_BITS = (16, 32, 64)
RIVALS = ("SRSH", "RSH", "ITQ", "MLH", "KSH", "LSH")
ARITIES = ("JRSH", "JRSH K=4", "JRSH K=16")
BALLS = ("JRSH radius 2", "JRSH radius 3", "JRSH radius 2 K=4", "JRSH", "SRSH", "ITQ", "MLH", "MLH rho=3")
VECTORS = {"trivia": "trivia, text, 10k × 1536", "glove": "GloVe, words, 100k × 50", "sift": "SIFT, patches, 93k × 128"}

MANY = {
    ("mnist", 1): "MNIST",
    ("cifar10-gist", 1): "CIFAR-10 Gist",
    ("glove", 1): "GloVe",
    ("sift", 1): "SIFT",
    ("sift", 0): "SIFT, other photographs",
    ("trivia-text", 1): "trivia",
}
"""Sets and the seeds of their splits."""
MANY_METRICS = ("pairs", "queries", "recall", "ball")


def ranking(folder: Path) -> str:
    """Average precision at equal bits, mean ± standard deviation over the runs."""
    lines: list[str] = []
    for name, title in SETS.items():
        lines += ["", *head(f"{title}, bits", BITS)]
        for method in ("JRSH", *RIVALS):
            rows = runs(folder, name, method)
            cells = [spread([row["ap"] for row in rows if row["bits"] == bits]) for bits in BITS]
            if rows:
                lines.append(line(f"**{method}**" if method == "JRSH" else method, cells))
    return "\n".join(lines[1:]) + f"\n\n{_origin(folder)}\n"


def balls(folder: Path) -> str:
    """Precision within a radius at equal bits, empty balls counting 0."""
    lines: list[str] = []
    wanted = [(bits, radius) for bits in BALL_BITS for radius in ("2", "3")]
    for name, title in SETS.items():
        lines += ["", *head(title, (f"{bits} bits, R={radius}" for bits, radius in wanted))]
        for method in BALLS:
            rows = runs(folder, name, method)
            cells = [spread([row["ball"][r]["zero"] for row in rows if row["bits"] == bits]) for bits, r in wanted]
            if rows:
                lines.append(line(method, cells))
    return "\n".join(lines[1:]) + f"\n\n{_origin(folder)}\n"


def arities(folder: Path) -> str:
    """Average precision, and the precision within a radius, of JRSH with more values a symbol, at equal bits."""
    lines: list[str] = []
    kept = []
    for name, title in SETS.items():
        lines += ["", *head(f"{title}, bits", [*BITS, *(f"{bits}, within 2" for bits in BALL_BITS)])]
        for method in ARITIES:
            rows = runs(folder, name, method)
            kept += rows
            cells = [spread([row["ap"] for row in rows if row["bits"] == bits]) for bits in BITS]
            cells += [spread([row["ball"]["2"]["zero"] for row in rows if row["bits"] == bits]) for bits in BALL_BITS]
            if rows:
                lines.append(line(method, cells))
    return "\n".join(lines[1:]) + f"\n\n{runs_origin(kept)}\n"


def training(folder: Path) -> str:
    """Time and memory of learning."""
    result = load(folder, "train_jrsh")
    if result is None:
        return NOT_MEASURED
    lines = head("vectors", ["threads of BLAS", "seconds", "CPU seconds", "peak memory, MB"])
    for row in result["rows"]:
        lines.append(line(row["case"], [str(row[key]) for key in ("threads", "seconds", "cpu_seconds", "peak_mb")]))
    facts = result["provenance"]
    return "\n".join([*lines, "", origin(facts, f"load {facts['load'][0]:.1f} after")]) + "\n"


def recall(folder: Path) -> str:
    """How many of the ten nearest vectors are found, by bytes of a code."""
    result = load(folder, "quality_recall")
    if result is None:
        return NOT_MEASURED
    rows = result["rows"]
    sizes, names, methods = ([*dict.fromkeys(row[key] for row in rows)] for key in ("bytes", "data", "method"))
    wanted = [(n_bytes, depth) for n_bytes in sorted(sizes) for depth in (10, 100)]
    lines: list[str] = []
    for name in names:
        lines += ["", *head(VECTORS[name], (f"{n_bytes} bytes, of {depth}" for n_bytes, depth in wanted))]
        for method in methods:
            found = {row["bytes"]: row for row in rows if (row["data"], row["method"]) == (name, method)}
            cells = [f"{found[b][f'recall_{depth}']:.3f}" if b in found else "–" for b, depth in wanted]
            lines.append(line(method, cells))
    commits = ", ".join(sorted({row["commit"] for row in rows}))
    return "\n".join([*lines[1:], "", f"{origin(result['origin'])} Rows of commit {commits}."]) + "\n"


def many(folder: Path) -> str:
    """The quality of codes that are learned from many vectors, by set, length and method."""
    result = load(folder, "quality_many")
    if result is None:
        return NOT_MEASURED
    rows = result["rows"]
    lengths, methods = ([*dict.fromkeys(row[key] for row in rows)] for key in ("bits", "method"))
    lines: list[str] = []
    for bits in sorted(lengths):
        lines += ["", *head(f"{bits} bits", MANY.values())]
        for method in methods:
            of = [row for row in rows if (row["bits"], row["method"]) == (bits, method)]
            found = {(row["data"], row["seed"]): row for row in of}
            values = [[f"{found[name][metric]:.3f}"[1:] for metric in MANY_METRICS if name in found] for name in MANY]
            lines.append(line(method, [" / ".join(cell) or "–" for cell in values]))
    commits = ", ".join(sorted({row["commit"] for row in rows}))
    return "\n".join([*lines[1:], "", f"{origin(result['origin'])} Rows of commit {commits}."]) + "\n"


BLOCKS: dict[str, Callable[[Path], str]] = {
    "jrsh": ranking,
    "jrsh_balls": balls,
    "jrsh_arities": arities,
    "train_jrsh": training,
    "jrsh_recall": recall,
    "jrsh_many": many,
}


def _origin(folder: Path) -> str:
    return runs_origin([row for name in SETS for method in BALLS for row in runs(folder, name, method)])
