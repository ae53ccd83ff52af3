"""Tables of benchmarks that compare with peers."""

from __future__ import annotations

from drawing.markdown import line, with_origin
from harness.ratios import Line, lines_of
from harness.results import Results

HEADER = ["| case | unit | ours | peer | ratio | goal | reached |", "|---|---|--:|--:|--:|--:|---|"]


def comparison_table(results: Results, *, only_goals: bool = False) -> str:
    """All lines, or only those that have a goal."""
    lines = [
        _text(one, wrong=row["agree"] is False)
        for row in results
        for one in lines_of(row)
        if one.reached is not None or not only_goals
    ]
    return with_origin([*HEADER, *lines], results, libraries=("faiss-cpu", "numpy"))


def _text(one: Line, *, wrong: bool) -> str:
    reached = "**answers differ**" if wrong else {None: "", True: "yes", False: "**no**"}[one.reached]
    peer = f"{one.peer} {_number(one.theirs)}"
    return line(one.case, [one.unit, _number(one.ours), peer, f"{one.ratio:.2f}", one.goal, reached])


def _number(value: float) -> str:
    """Three significant digits, and no fewer than stand before the point."""
    return f"{value:.0f}" if value >= 100 else f"{value:#.3g}"
