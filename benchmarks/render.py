"""Draw the tables from the raw results: ``python benchmarks/render.py [--check] [--results DIR] [FILE ...]``.

What stands between ``<!-- bench:scan -->`` and ``<!-- /bench:scan -->`` is replaced by the table of the group
``scan``; ``bench:scan_goals`` takes only its lines that have a goal. Further ones are named by
``BLOCKS`` of ``quality_tables``, ``rsh_tables``, ``jrsh_tables`` and ``engines_tables``, and by ``reports.REPORTS``.
Needs nothing but Python.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from pathlib import Path
from typing import Any

import engines_tables
import jrsh_tables
import quality_tables
import rsh_tables
from reports import REPORTS
from summary import Row, rows

HERE = Path(__file__).parent
DOCS = HERE.parent / "docs"
PAGES = ("benchmarks.md", "guide/methods.md", "hashers/jrsh.md", "hashers/srsh.md", "guide/dask.md", "explain/scale.md")
FILES = [HERE.parent / "README.md", *(DOCS / page for page in PAGES)]
BLOCKS = quality_tables.BLOCKS | rsh_tables.BLOCKS | jrsh_tables.BLOCKS | engines_tables.BLOCKS
BLOCK = re.compile(r"(<!-- bench:(\w+) -->\n).*?(<!-- /bench:\2 -->)", re.DOTALL)
MARKER = re.compile(r"<!-- /?bench:\w+ -->")
HEADER = "| case | unit | ours | peer | ratio | goal | reached |\n|---|---|--:|--:|--:|--:|---|"
GROUPS = ["scan", "single", "lookup", "tables", "filter", "encode", "threads", "memory", "collection"]


def main() -> int:
    """0 if every file is up to date (or now is), 1 if ``--check`` found a stale one."""
    parser = argparse.ArgumentParser(description="Draw the benchmark tables from the raw results.")
    parser.add_argument("files", nargs="*", type=Path, metavar="FILE", help="Markdown files with bench markers")
    parser.add_argument("--results", type=Path, default=HERE / "results")
    parser.add_argument("--check", action="store_true", help="change nothing; exit with 1 if a file is stale")
    args = parser.parse_args()
    results = load_results(args.results)
    drawn = {name: draw(args.results) for name, draw in BLOCKS.items()}
    stale = False
    for path in args.files or [path for path in FILES if path.exists()]:
        text = path.read_text(encoding="utf-8")
        new = render(text, results, path.name, drawn)
        if new != text and args.check:
            stale = True
            print(f"{path.name} is stale: run python benchmarks/render.py")
        elif new != text:
            path.write_text(new, encoding="utf-8")
            print(f"{path.name}: tables drawn")
    return 1 if stale else 0


def load_results(folder: Path) -> dict[str, dict[str, Any]]:
    """The results of every group that was measured."""
    paths = {name: folder / f"{name}.json" for name in (*GROUPS, *REPORTS)}
    return {group: json.loads(path.read_text(encoding="utf-8")) for group, path in paths.items() if path.exists()}


def render(text: str, results: dict[str, dict[str, Any]], name: str, drawn: dict[str, str] | None = None) -> str:
    """``text`` with every block between markers drawn anew; ``drawn`` are tables that are not of a group."""
    markers, blocks = len(MARKER.findall(text)), len(BLOCK.findall(text))
    if markers != 2 * blocks:
        raise SystemExit(f"{name} has {markers} bench markers but {blocks} closed blocks; close each with its own name")
    known = drawn or {}
    return BLOCK.sub(lambda match: match[1] + (known.get(match[2]) or _block(match[2], results, name)) + match[3], text)


def _block(block: str, results: dict[str, dict[str, Any]], name: str) -> str:
    """The table of a group, or with ``_goals`` behind its name only the lines that have a goal."""
    group = block.removesuffix("_goals")
    if group not in GROUPS and block not in REPORTS:
        known = f"{', '.join(GROUPS)}, each also with _goals, and {', '.join(REPORTS)}"
        raise SystemExit(f"{name} asks for bench:{block}; there are {known}")
    if group not in results:
        return "_Not measured yet._\n"
    if block in REPORTS:
        return REPORTS[block](results[block])
    lines = _lines(results[group], only_goals=block != group)
    return "\n".join([HEADER, *lines, "", _origin(results[group])]) + "\n"


def _lines(result: dict[str, Any], *, only_goals: bool) -> list[str]:
    out = []
    for case in result["cases"]:
        wrong = case["answers"]["agree"] is False
        out += [_line(row, wrong=wrong) for row in rows(case) if row.reached is not None or not only_goals]
    return out


def _line(row: Row, *, wrong: bool) -> str:
    reached = {None: "", True: "yes", False: "**no**"}[row.reached]
    cells = [
        row.case,
        row.unit,
        _number(row.ours),
        f"{row.peer} {_number(row.theirs)}",
        f"{row.ratio:.2f}",
        row.goal,
        "**answers differ**" if wrong else reached,
    ]
    return "| " + " | ".join(cells) + " |"


def _number(value: float) -> str:
    """Three significant digits, and no fewer than stand before the point."""
    return f"{value:.0f}" if value >= 100 else f"{value:#.3g}"


def _origin(result: dict[str, Any]) -> str:
    machine, versions = result["machine"], result["versions"]
    facts = [
        f"{machine['cpu']}, {machine['cores']} cores, {result['isa']}",
        f"commit {result['commit'][:10]}" + (" with uncommitted changes" if result["dirty"] else ""),
        f"FAISS {versions['faiss-cpu']}, NumPy {versions['numpy']}",
        result["date"][:10],
        f"load {result['load_before'][0]:.1f} before, {result['load_after'][0]:.1f} after",
    ]
    warning = "**Quick run on small data: not a measurement.** " if result["quick"] else ""
    return f"{warning}_{'; '.join(facts)}._"


if __name__ == "__main__":
    sys.exit(main())
