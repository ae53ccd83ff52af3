"""Groups of near-duplicates as CSV, JSON lines or an HTML page with pictures side by side."""

from __future__ import annotations

import base64
import csv
import html
import io
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO

import click
import numpy as np

from .._files import written_whole
from .._types import F32
from ..duplicates import DuplicateGroups
from ..duplicates.images import pillow_image
from ._dedup_sources import Found

FIELDS = ("group", "keep", "name", "distance")
MOST_SHOWN = 500
THUMBNAIL = 220

Row = dict[str, Any]


def write_list(path: str, found: Found, groups: DuplicateGroups) -> None:
    """Write every member of every group, then the unreadable inputs, as CSV or JSON lines by the file's suffix."""
    if Path(path).suffix.lower() not in (".csv", ".jsonl"):
        raise click.UsageError(f"{path} must end with .csv or .jsonl.")
    with written_whole(path) as temporary, open(temporary, "x", encoding="utf-8", newline="") as file:
        (_write_csv if path.lower().endswith(".csv") else _write_lines)(file, found, groups)
        file.flush()
        os.fsync(file.fileno())


def rows(found: Found, groups: DuplicateGroups) -> Iterator[Row]:
    """Every member of every group: whether it is kept, its name, and its distance to the kept member."""
    distances = to_kept(found, groups)
    for number, (ids, kept) in enumerate(zip(groups.groups, groups.keep.tolist(), strict=True)):
        for place in ids.tolist():
            distance = float(distances[place])
            name = found.names[place]
            yield {
                "group": number,
                "keep": place == kept,
                "name": name if isinstance(name, str) else int(name),
                "distance": None if np.isnan(distance) else distance,
                "place": place,
            }


def to_kept(found: Found, groups: DuplicateGroups) -> F32:
    """Each item's distance to the kept member of its group; NaN if the two are not a near pair."""
    same = np.arange(len(found.names)) if found.copies is None else found.copies.same
    n_codes = int(same.max()) + 1 if len(same) else 0
    distances, labels = np.full(n_codes, np.nan, np.float32), np.full(n_codes, -1, np.int64)
    kept = np.zeros(n_codes, dtype=bool)
    for number, ids in enumerate(groups.groups):
        labels[same[ids]] = number
    kept[same[groups.keep]] = True
    first, second, values = found.pairs
    together = labels[first] == labels[second]
    for one, other in ((first, second), (second, first)):
        chosen = together & kept[one]
        distances[other[chosen]] = values[chosen]
    distances[kept] = 0
    return distances[same]


def _write_csv(file: TextIO, found: Found, groups: DuplicateGroups) -> None:
    writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
    writer.writeheader()
    for row in rows(found, groups):
        writer.writerow({name: row[name] for name in FIELDS} | {"keep": "yes" if row["keep"] else "no"})
    for name, _ in found.unreadable:
        writer.writerow({"group": "unreadable", "keep": "", "name": name, "distance": ""})


def _write_lines(file: TextIO, found: Found, groups: DuplicateGroups) -> None:
    for row in rows(found, groups):
        file.write(json.dumps({name: row[name] for name in FIELDS}, ensure_ascii=False) + "\n")
    for name, reason in found.unreadable:
        file.write(json.dumps({"unreadable": name, "reason": reason}, ensure_ascii=False) + "\n")


def write_page(path: str, found: Found, groups: DuplicateGroups, facts: Row) -> None:
    """Write a self-contained HTML page of the groups, members side by side."""
    with written_whole(path) as temporary, open(temporary, "x", encoding="utf-8") as file:
        shown = ", ".join(f"{name.replace('_', ' ')}: {value}" for name, value in facts.items())
        file.write(_HEAD + f"<h1>Near-duplicates</h1>\n<p>{html.escape(shown)}</p>\n")
        members: list[Row] = []
        for row in rows(found, groups):
            if row["group"] >= MOST_SHOWN:
                file.write(f"<p>The first {MOST_SHOWN} groups are shown.</p>\n")
                break
            if members and members[-1]["group"] != row["group"]:
                file.write(_section(members, found))
                members = []
            members.append(row)
        if members:
            file.write(_section(members, found))
        if found.unreadable:
            listed = "".join(f"<li>{html.escape(f'{name}: {why}')}</li>\n" for name, why in found.unreadable)
            file.write(f"<h2>Unreadable</h2>\n<ul>\n{listed}</ul>\n")


def _section(members: list[Row], found: Found) -> str:
    figures = "".join(_figure(row, found) for row in members)
    return f"<h2>Group {members[0]['group']}</h2>\n<section>\n{figures}</section>\n"


def _figure(row: Row, found: Found) -> str:
    name = html.escape(str(row["name"]))
    what = "kept" if row["keep"] else "" if row["distance"] is None else f"distance {row['distance']:.4g}"
    is_image = found.kind == "images"
    body = _picture(str(row["name"])) if is_image else f"<pre>{html.escape(found.shown(row['place']))}</pre>"
    mark = ' class="keep"' if row["keep"] else ""
    return f"<figure{mark}>{body}<figcaption>{name}<br>{what}</figcaption></figure>\n"


def _picture(path: str) -> str:
    """A thumbnail of an image, embedded in the page."""
    try:
        with pillow_image().open(path) as image:
            image.thumbnail((THUMBNAIL, THUMBNAIL))
            data = io.BytesIO()
            image.convert("RGB").save(data, "JPEG", quality=80)
    except (OSError, ValueError, SyntaxError):
        return "<p>cannot be shown</p>"
    return f'<img alt="" src="data:image/jpeg;base64,{base64.b64encode(data.getvalue()).decode()}">'


_HEAD = """<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Near-duplicates</title>
<style>
:root { color-scheme: light dark; font-family: system-ui, sans-serif; }
body { margin: 2rem; }
section { display: flex; flex-wrap: wrap; gap: 1rem; }
figure { margin: 0; padding: .5rem; border: 2px solid #8886; border-radius: .5rem; max-width: 24rem; }
figure.keep { border-color: #2a8; }
figcaption { font-size: .85rem; overflow-wrap: anywhere; }
pre { white-space: pre-wrap; margin: 0 0 .5rem; max-height: 16rem; overflow: auto; }
</style>
"""
