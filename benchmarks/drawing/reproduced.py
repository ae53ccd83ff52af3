"""Tables of the runs of ``rankhash reproduce``: all methods, and JRSH among its rivals, by the paper's protocol."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path

from drawing.markdown import SETS, heading, line, spread
from harness.results import Facts
from rankhash.evaluation.store import identity, read_lines
from rankhash.evaluation.summaries import pooled_precision

BITS = (8, 16, 32, 64, 128)
RANKED_BITS = BITS[:-1]
BALL_BITS = (16, 32, 64)
RIVALS = ("SRSH", "RSH", "ITQ", "MLH", "KSH", "LSH")
RANK_CODES = (
    "LSH",
    "WTA",
    "RSH untrained",
    "RSH paper",
    "RSH",
    "SRSH paper",
    "SRSH paper sampling",
    "SRSH bound",
    "SRSH",
)
ARITIES = ("JRSH", "JRSH K=4", "JRSH K=16")
BALLS = ("JRSH radius 2", "JRSH radius 3", "JRSH radius 2 K=4", "JRSH", "SRSH", "ITQ", "MLH", "MLH rho=3")
Metric = Callable[[Facts], "float | None"]


class Runs:
    """The untuned runs with metric neighbours that a folder holds."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def of(self, name: str, method: str) -> list[Facts]:
        """The runs of a method on a set; of repeated runs only the last."""
        path = self.folder / name / f"{re.sub(r'[^A-Za-z0-9]+', '-', method)}.jsonl"
        rows = {identity(row): row for row in read_lines(path)} if path.exists() else {}
        return [row for row in rows.values() if row["tuned_for"] is None and row["settings"]["truth"] == "neighbors"]

    @property
    def methods(self) -> list[str]:
        """The names of all files, which are those of the methods but for signs."""
        names = {path.stem for path in self.folder.glob("*/*.jsonl")}
        return sorted((name.replace("-", " ") for name in names), key=str.lower)


def precision(run: Facts) -> float:
    """Average precision."""
    return float(run["ap"])


def ball(radius: str) -> Callable[[Facts], float]:
    """Precision within a radius, empty balls counting 0."""
    return lambda run: float(run["ball"][radius]["zero"])


def neighbours(runs: Runs) -> str:
    """Average precision of all methods, mean ± standard deviation over splits."""
    return _by_bits(runs, {"": precision, ", weighted": lambda run: run.get("weighted_ap")})


def balls(runs: Runs) -> str:
    """Precision within 2 differing symbols of all methods."""
    return _by_bits(runs, {"": ball("2")})


def balls_pooled(runs: Runs) -> str:
    """Precision within 2 differing symbols over all pairs of a run, for all methods."""
    return _by_bits(runs, {"": lambda run: pooled_precision(run, 2)})


def _by_bits(runs: Runs, metrics: dict[str, Metric]) -> str:
    lines: list[str] = []
    for name, title in SETS.items():
        lines += ["", *heading(f"{title}, bits", BITS)]
        for method in runs.methods:
            found = runs.of(name, method)
            label = found[0]["method"] if found else method
            for suffix, metric in metrics.items():
                cells = _cells(found, [(bits, metric) for bits in BITS])
                if any(cell != "–" for cell in cells):
                    lines.append(line(label + suffix, cells))
    return _with_commits(lines[1:], runs, runs.methods)


def ranking(runs: Runs) -> str:
    """Average precision of JRSH and its rivals at equal bits."""
    columns: dict[str, tuple[int, Metric]] = {str(bits): (bits, precision) for bits in RANKED_BITS}
    return _with_commits(_by_method(runs, "{}, bits", columns, ("JRSH", *RIVALS), bold="JRSH"), runs, BALLS)


def rank_codes(runs: Runs) -> str:
    """Average precision of RSH and SRSH with all their updates at equal symbols."""
    columns: dict[str, tuple[int, Metric]] = {str(length): (length, precision) for length in (8, 16, 32, 64)}
    lines = _by_method(runs, "{}, symbols", columns, RANK_CODES, key="n_symbols")
    return _with_commits(lines, runs, RANK_CODES)


def jrsh_balls(runs: Runs) -> str:
    """Precision within a radius at equal bits."""
    wanted = [(bits, radius) for bits in BALL_BITS for radius in ("2", "3")]
    columns: dict[str, tuple[int, Metric]] = {f"{bits} bits, R={r}": (bits, ball(r)) for bits, r in wanted}
    return _with_commits(_by_method(runs, "{}", columns, BALLS), runs, BALLS)


def arities(runs: Runs) -> str:
    """Average precision, and precision within a radius, of JRSH with more values per symbol at equal bits."""
    columns: dict[str, tuple[int, Metric]] = {str(bits): (bits, precision) for bits in RANKED_BITS}
    columns |= {f"{bits}, within 2": (bits, ball("2")) for bits in BALL_BITS}
    return _with_commits(_by_method(runs, "{}, bits", columns, ARITIES), runs, ARITIES)


def _by_method(
    runs: Runs,
    title: str,
    columns: dict[str, tuple[int, Metric]],
    methods: Iterable[str],
    bold: str = "",
    key: str = "bits",
) -> list[str]:
    lines: list[str] = []
    for name, shown in SETS.items():
        lines += ["", *heading(title.format(shown), columns)]
        for method in methods:
            if found := runs.of(name, method):
                label = f"**{method}**" if method == bold else method
                lines.append(line(label, _cells(found, columns.values(), key)))
    return lines[1:]


def _cells(runs: list[Facts], columns: Iterable[tuple[int, Metric]], key: str = "bits") -> list[str]:
    cells = []
    for length, metric in columns:
        values = (metric(run) for run in runs if run[key] == length)
        cells.append(spread([value for value in values if value is not None]))
    return cells


def _with_commits(lines: list[str], runs: Runs, methods: Iterable[str]) -> str:
    """The lines, then how many runs, and of which commits."""
    kept = [run for name in SETS for method in methods for run in runs.of(name, method)]
    seeds = len({run["seed"] for run in kept})
    commits = sorted({run["origin"]["commit"] + (" (changed)" if run["origin"].get("dirty") else "") for run in kept})
    return (
        "\n".join([*lines, "", f"_Up to {seeds} runs, one thread each; commit {', '.join(commits) or 'none'}._"]) + "\n"
    )


TABLES: dict[str, Callable[[Runs], str]] = {
    "neighbours": neighbours,
    "balls": balls,
    "balls_pooled": balls_pooled,
    "rank_codes": rank_codes,
    "jrsh": ranking,
    "jrsh_balls": jrsh_balls,
    "jrsh_arities": arities,
}
