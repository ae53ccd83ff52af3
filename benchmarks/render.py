"""Draw tables, figures and the verdict from the raw results: ``python benchmarks/render.py [--check] [FILE ...]``.

What stands between ``<!-- bench:scan -->`` and ``<!-- /bench:scan -->`` is replaced by the table ``scan``. A benchmark
that compares with peers has a table of its own name, and with ``_goals`` behind it one of the lines that have a goal.
Any other benchmark without a table in ``drawing/`` has one with its keys and numbers. Below each table stands a link to
the raw results that it was drawn from.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path

from drawing import choices, dask_engine, frontier, quality, reproduced, scale, systems, training
from drawing.comparisons import comparison_table
from drawing.markdown import NOT_MEASURED, heading, line, with_origin
from drawing.verdict import read_verdict
from harness.results import RESULTS, Results, read_results
from harness.running import benchmarks

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
IMAGES = DOCS / "images"
TABLES = frontier.TABLES | quality.TABLES | choices.TABLES | training.TABLES
TABLES |= scale.TABLES | systems.TABLES | dask_engine.TABLES
FIGURES = systems.FIGURES | frontier.FIGURES | training.FIGURES | scale.FIGURES
REPRODUCED = "reproduce"
"""Folder of the runs of ``rankhash reproduce``, below the folder of the results"""

BLOCK = re.compile(r"(<!-- bench:(\w+) -->\n).*?(<!-- /bench:\2 -->)", re.DOTALL)
MARKER = re.compile(r"<!-- /?bench:\w+ -->")


def main() -> int:
    """0 if everything is up to date (or now is), 1 if ``--check`` found something stale."""
    args = _arguments()
    if args.show:
        print("\n".join(table(name, args.results)[0] for name in args.show))
        return 0
    stale = False
    for path, text in drawn_files(args.files, args.results).items():
        if path.exists() and path.read_text(encoding="utf-8") == text:
            continue
        stale |= args.check
        if not args.check:
            path.write_text(text, encoding="utf-8")
        print(f"{path.name} is stale: run python benchmarks/render.py" if args.check else f"{path.name}: drawn")
    return 1 if stale else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Draw tables, figures and the verdict from the raw results.")
    parser.add_argument("files", nargs="*", type=Path, metavar="FILE", help="Markdown files; all and figures if none")
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder of the results: benchmarks/results")
    parser.add_argument("--check", action="store_true", help="change nothing; exit with 1 if something is stale")
    parser.add_argument("--show", nargs="+", metavar="TABLE", help="only print these tables")
    return parser.parse_args()


def drawn_files(files: list[Path], folder: Path) -> dict[Path, str]:
    """What the files must hold; without names, all pages, figures and the verdict."""
    pages = files or [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]
    drawn = {path: render(path, folder) for path in pages if path.exists()}
    if not files:
        drawn[DOCS / "verdict.md"] = read_verdict(folder / REPRODUCED)
        for name, (benchmark, draw) in FIGURES.items():
            if (results := _results(benchmark, folder)).rows:
                drawn[IMAGES / name] = draw(results)
    return drawn


def render(page: Path, folder: Path) -> str:
    """The text of a page with every block between markers drawn anew."""
    text = page.read_text(encoding="utf-8")
    markers, blocks = len(MARKER.findall(text)), len(BLOCK.findall(text))
    if markers != 2 * blocks:
        raise SystemExit(
            f"{page.name} has {markers} bench markers but {blocks} closed blocks; close each with its own name"
        )
    try:
        return BLOCK.sub(lambda match: match[1] + _block(match[2], page, folder) + match[3], text)
    except LookupError as error:
        raise SystemExit(f"{page.name} asks for {error.args[0]}") from None


def _block(name: str, page: Path, folder: Path) -> str:
    """The table, and a link from the page to its raw results."""
    text, raw = table(name, folder)
    if raw is None:
        return text
    return f"{text.rstrip()} [Raw results]({os.path.relpath(folder / raw, page.parent)}).\n"


def table(name: str, folder: Path) -> tuple[str, str | None]:
    """The table of that name as Markdown and its raw results in ``folder``; a sentence and None if there are none."""
    if name in reproduced.TABLES:
        return reproduced.TABLES[name](reproduced.Runs(folder / REPRODUCED)), REPRODUCED
    benchmark, draw = TABLES.get(name) or _default(name)
    results = _results(benchmark, folder)
    return (draw(results), f"{results.benchmark}.json") if results.rows else (NOT_MEASURED, None)


def _default(name: str) -> tuple[str, Callable[[Results], str]]:
    benchmark = name.removesuffix("_goals")
    if benchmark not in benchmarks():
        known = sorted({*benchmarks(), *TABLES, *reproduced.TABLES})
        raise LookupError(f"bench:{name}; there are {', '.join(known)}")
    return (
        benchmark,
        lambda results: (
            comparison_table(results, only_goals=name != benchmark)
            if "comparisons" in results.rows[0].values
            else plain_table(results)
        ),
    )


def plain_table(results: Results) -> str:
    """Keys and numbers, one line per row."""
    first = results.rows[0]
    names = [name for name, value in first.values.items() if isinstance(value, (int, float)) and name != "agree"]
    title, *keys = first.key
    lines = heading(title, [*keys, *names])
    for row in results:
        numbers = (f"{row[name]:,.4g}" if isinstance(row[name], float) else str(row[name]) for name in names)
        lines.append(line(str(row[title]), [*(str(row[key]) for key in keys), *numbers]))
    return with_origin(lines, results)


def _results(benchmark: str, folder: Path) -> Results:
    return read_results(benchmarks()[benchmark], folder)


if __name__ == "__main__":
    sys.exit(main())
