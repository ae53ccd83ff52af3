"""The raw results of a benchmark: keyed rows, each with the origin of its numbers, in one shape for all benchmarks.

::

    {"format": 2,
     "benchmark": "speed/scan",
     "origins": [{"date": …, "commit": …, "cpu": …, "isa": …, "versions": {…}, "load_before": […], …}, …],
     "rows": [{"key": {"case": "64 bits, K=4, k=10"}, "origin": 0, "values": {…}}, …]}

Every row stands on a line of its own. ``origin`` is the place of the row's origin in ``origins``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

FORMAT = 2
RESULTS = Path(__file__).parents[1] / "results"

Facts = dict[str, Any]


@dataclass(frozen=True)
class Row:
    """One measurement: ``key`` says of what, ``values`` what came out, ``origin`` where it was measured."""

    key: Facts
    values: Facts
    origin: Facts = field(default_factory=dict)

    def __getitem__(self, name: str) -> Any:
        return self.values[name] if name in self.values else self.key[name]

    def get(self, name: str, default: Any = None) -> Any:
        """The value, or the part of the key, of that name; ``default`` (None) if there is none."""
        return self.values.get(name, self.key.get(name, default))

    def matches(self, **wanted: Any) -> bool:
        """Whether values and key have all of the wanted facts."""
        return all(self.get(name) == value for name, value in wanted.items())


def name_of(key: Facts) -> str:
    """A key as text, for messages and for ``--only``.

    >>> name_of({"set": "mnist", "bits": 16})
    'set=mnist, bits=16'
    """
    return ", ".join(f"{name}={value}" for name, value in key.items())


@dataclass
class Results:
    """The rows of one benchmark, each key once."""

    benchmark: str
    rows: list[Row] = field(default_factory=list)

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    def having(self, **wanted: Any) -> list[Row]:
        """The rows that have all of the wanted facts."""
        return [row for row in self.rows if row.matches(**wanted)]

    def values_of(self, name: str) -> list[Any]:
        """The different values of one fact, in the order of the rows."""
        return [*dict.fromkeys(row[name] for row in self.rows)]

    @property
    def origins(self) -> list[Facts]:
        """The different origins of the rows, in the order of the rows."""
        return [json.loads(text) for text in dict.fromkeys(json.dumps(row.origin) for row in self.rows)]

    def keep(self, row: Row) -> None:
        """Add a row, or put it in the place of the row that has the same key."""
        places = [place for place, kept in enumerate(self.rows) if kept.key == row.key]
        if places:
            self.rows[places[0]] = row
        else:
            self.rows.append(row)

    def sort(self, keys: list[Facts]) -> None:
        """Put the rows into the order of these keys; rows of other keys follow."""
        places = {name_of(key): place for place, key in enumerate(keys)}
        self.rows.sort(key=lambda row: places.get(name_of(row.key), len(places)))

    def text(self) -> str:
        """The file's contents."""
        origins = self.origins
        lines = [
            json.dumps({"key": row.key, "origin": origins.index(row.origin), "values": row.values}, ensure_ascii=False)
            for row in (_as_json(row) for row in self.rows)
        ]
        head = json.dumps({"format": FORMAT, "benchmark": self.benchmark, "origins": origins}, ensure_ascii=False)
        return head[:-1] + ', "rows": [\n' + ",\n".join(lines) + "\n]}\n"


def _as_json(row: Row) -> Row:
    """The row with lists for tuples, so that its origin equals one that was read."""
    return replace(row, origin=json.loads(json.dumps(row.origin)))


def read_results(benchmark: str, folder: Path = RESULTS) -> Results:
    """The kept rows of a benchmark such as ``speed/scan``; none if nothing was kept."""
    path = folder / f"{benchmark}.json"
    if not path.exists():
        return Results(benchmark)
    kept = json.loads(path.read_text(encoding="utf-8"))
    if kept.get("format") != FORMAT:
        raise SystemExit(f"{path.name} has format {kept.get('format')}, but this harness reads format {FORMAT}")
    origins = kept["origins"]
    return Results(benchmark, [Row(row["key"], row["values"], origins[row["origin"]]) for row in kept["rows"]])
