"""Tables and figure of the scale benchmark."""

from __future__ import annotations

from collections.abc import Callable

from drawing.markdown import with_origin
from drawing.plot import Panel, draw
from harness.results import Results, Row

LARGEST = 100_000_000
KINDS = {"clustered": "clustered", "sift": "learned, SIFT"}
GOALS: tuple[tuple[str, str, str, Callable[[float], bool], str], ...] = (
    ("resident memory of the flat index", "resident_mb", "≤ 1,100 MB", lambda value: value <= 1100, "{:,.0f} MB"),
    ("opening by memory map, checksums compared", "open_s", "≤ 5 s", lambda value: value <= 5, "{:.2f} s"),
    ("a single exact query by scan", "single_ms", "≤ 60 ms", lambda value: value <= 60, "{:.1f} ms"),
    ("256 queries, × FAISS one-hot", "batch_ratio", "≥ 6", lambda value: value >= 6, "{:.1f}"),
)
"""What the project set out to reach at a hundred million codes of 64 bits."""

COLUMNS = (
    ("build, s", "build_s", "{:.2f}"),
    ("resident, MB", "resident_mb", "{:,.0f}"),
    ("file, MB", "file_mb", "{:,.0f}"),
    ("open, s", "open_s", "{:.3f}"),
    ("one query, ms", "single_ms", "{:.2f}"),
    ("1 % pass, ms", "filter_0.01_ms", "{:.2f}"),
    ("50 % pass, ms", "filter_0.5_ms", "{:.2f}"),
    ("256 queries, ms", "batch_ms", "{:,.0f}"),
    ("× FAISS", "batch_ratio", "{:.1f}"),
)
TABLE_COLUMNS = (
    ("tables", "n_tables", "{:d}"),
    ("build, s", "tables_build_s", "{:.1f}"),
    ("resident, MB", "tables_resident_mb", "{:,.0f}"),
    ("one query, ms", "tables_single_ms", "{:.3f}"),
    ("adding 10,000, ms", "tables_add_ms", "{:.0f}"),
    ("a query after it, ms", "tables_search_while_adding_ms", "{:.2f}"),
    ("flat: adding 10,000, ms", "flat_add_ms", "{:.0f}"),
    ("flat: a query after it, ms", "flat_search_while_adding_ms", "{:.2f}"),
)
BILLION_COLUMNS = (
    ("build, s", "build_s", "{:.1f}"),
    ("peak memory, × codes", "peak_of_codes", "{:.2f}"),
    ("save, s", "save_s", "{:.1f}"),
    ("open, checked, s", "open_s", "{:.2f}"),
    ("open, mapped, s", "open_unverified_s", "{:.4f}"),
    ("one query, ms", "single_ms", "{:.0f}"),
    ("all threads, ms", "single_all_threads_ms", "{:.0f}"),
    ("256 queries, ms", "batch_ms", "{:,.0f}"),
    ("mapped: one query, ms", "mapped_single_ms", "{:.0f}"),
    ("mapped: 256 queries, ms", "mapped_batch_ms", "{:,.0f}"),
)


def scale(results: Results) -> str:
    """One to a hundred million codes on one machine."""
    rows = results.rows
    parts = [_goals(rows), "By scan:\n", _table(rows, COLUMNS), "By tables, and adding:\n", _table(rows, TABLE_COLUMNS)]
    if not all(row["tables_agree"] for row in rows):
        parts.append("**Tables and scan disagreed.**\n")
    return with_origin([part.rstrip("\n") + "\n" for part in parts[:-1]] + [parts[-1].rstrip("\n")], rows, "one thread")


def _table(rows: list[Row], columns: tuple[tuple[str, str, str], ...]) -> str:
    lines = ["| codes | kind | " + " | ".join(title for title, _, _ in columns) + " |"]
    lines.append("|--:|---|" + "--:|" * len(columns))
    for row in rows:
        cells = " | ".join(shape.format(row[key]) for _, key, shape in columns)
        lines.append(f"| {row['n']:,} | {KINDS[row['kind']]} | {cells} |")
    return "\n".join(lines) + "\n"


def _goals(rows: list[Row]) -> str:
    largest = [row for row in rows if row["n"] == LARGEST]
    lines = ["| 100,000,000 codes of 64 bits | " + " | ".join(KINDS[row["kind"]] for row in largest) + " | goal |"]
    lines.append("|---|" + "--:|" * (len(largest) + 1))
    for title, key, goal, reached, shape in GOALS:
        cells = [shape.format(row[key]) + ("" if reached(row[key]) else " (not reached)") for row in largest]
        lines.append(f"| {title} | {' | '.join(cells)} | {goal} |")
    return "\n".join(lines) + "\n"


def billion(results: Results) -> str:
    """A hundred million and a billion codes from a generator, in memory and in a mapped file."""
    titles = ["| codes | " + " | ".join(title for title, _, _ in BILLION_COLUMNS) + " |"]
    titles.append("|--:|" + "--:|" * len(BILLION_COLUMNS))
    lines = []
    for row in results.rows:
        cells = " | ".join(shape.format(row[key]) for _, key, shape in BILLION_COLUMNS)
        lines.append(f"| {row['n']:,} | {cells} |" + ("" if row["agree"] else " **answers differ**"))
    return with_origin([*titles, *lines], results.rows, "one thread unless said otherwise")


def scale_growth(results: Results) -> str:
    """Time and memory over the number of codes."""

    def points(kind: str, key: str, scale: float) -> list[tuple[float, float]]:
        return [(row["n"], scale * row[key]) for row in results.having(kind=kind)]

    panels = []
    times = {"scan, one query": "single_ms", "scan, 256 queries": "batch_ms", "tables, one query": "tables_single_ms"}
    kinds = results.values_of("kind")
    for kind in kinds:
        lines = {name: points(kind, key, 1e-3) for name, key in times.items()}
        panels.append(Panel(f"{kind} codes: time of a call", "codes", lines))
    memory = {"scan": points(kinds[0], "resident_mb", 1), "tables": points(kinds[0], "tables_resident_mb", 1)}
    panels.append(Panel("resident memory", "codes", memory, unit="MB"))
    return draw(panels)


TABLES: dict[str, tuple[str, Callable[[Results], str]]] = {"scale": ("scale", scale), "billion": ("billion", billion)}
FIGURES: dict[str, tuple[str, Callable[[Results], str]]] = {"scale.svg": ("scale", scale_growth)}
