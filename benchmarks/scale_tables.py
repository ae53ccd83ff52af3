"""Tables of the scale run: from results/scale.json to Markdown, for render.py."""

from __future__ import annotations

from typing import Any

Row = dict[str, Any]

LARGEST, BILLION = 100_000_000, 1_000_000_000
KINDS = {"clustered": "clustered", "sift": "learned, SIFT"}
GOALS = (
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


def scale(result: dict[str, Any]) -> str:
    """One to a hundred million codes on one machine, and what ten times as many would take."""
    rows: list[Row] = result["rows"]
    parts = [_goals(rows), "By scan:\n", _table(rows, COLUMNS), "By tables, and adding:\n", _table(rows, TABLE_COLUMNS)]
    if not all(row["tables_agree"] for row in rows):
        parts.append("**Tables and scan disagreed.**\n")
    facts, commits = result["provenance"], sorted({row["commit"][:10] for row in rows})
    origin = f"_{facts['machine']['cpu']}, one thread; commit {', '.join(commits)}"
    parts.append(f"{origin}{' with uncommitted changes' if facts['dirty'] else ''}; {facts['date'][:10]}._\n")
    return "\n".join([*parts, _extrapolated(rows)])


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


def _extrapolated(rows: list[Row]) -> str:
    """Ten times the largest size, as far as things grow in proportion."""
    row = max(rows, key=lambda row: (row["n"], row["kind"] == "clustered"))
    times = BILLION / row["n"]
    memory, single, batch = (times * row[key] for key in ("resident_mb", "single_ms", "batch_ms"))
    return (
        f"**Not measured**: {BILLION:,} codes, if all grows in proportion from {row['n']:,}, take "
        f"{memory / 1000:.1f} GB of memory, {single / 1000:.2f} s a single query by scan and "
        f"{batch / 1000:.0f} s 256 of them, on one thread.\n"
    )
