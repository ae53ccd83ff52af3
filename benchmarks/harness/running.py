"""One run of some benchmarks: which rows are wanted, and how each is kept as soon as it is measured.

A benchmark is a module of one of the folders of FOLDERS with a generator::

    def rows(run: Run) -> Iterator[Row]:
        for key in run.wanted({"bits": bits, "method": method} for bits in BITS for method in METHODS):
            yield Row(key, measure(**key))

``wanted`` leaves out what was measured before, so that an interrupted run goes on where it was.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits

from harness.provenance import provenance, refuse_private_names
from harness.ratios import lines_of
from harness.results import Facts, Results, Row, name_of, read_results

HERE = Path(__file__).parents[1]
FOLDERS = ("frontier", "speed", "quality", "training", "systems")
EXTRAS = {"faiss": "peers", "pybktree": "peers", "datasketch": "peers", "dask": "dask", "distributed": "dask"} | {
    "psycopg": "postgres",
    "fastapi": "server",
}
DATA = Path(os.environ.get("RANKHASH_DATA", HERE / "data"))
"""Folder of the real data sets, unless --data names another."""

SHOWN = 200
"""Characters of a row's values that are printed."""


@dataclass
class Run:
    """What was asked for, and what is done already."""

    data: Path = DATA
    """Folder of the real data sets."""

    quick: bool = False
    """Whether data are small: a quick run shows that a benchmark works, and measures nothing."""

    only: tuple[str, ...] = ()
    """Texts that the name of a wanted row, and a comma behind it, contains: ``n=100,`` is not in ``n=1000,``."""

    again: bool = False
    """Whether rows that are kept already are measured again."""

    done: set[str] = field(default_factory=set)
    seen: list[Facts] = field(default_factory=list)

    def wanted(self, keys: Iterable[Facts]) -> Iterator[Facts]:
        """The keys of the rows to measure, each when it is its turn."""
        for key in keys:
            self.seen.append(key)
            name = name_of(key)
            if (self.again or name not in self.done) and all(text in f"{name}," for text in self.only):
                yield key


def benchmarks() -> dict[str, str]:
    """Every benchmark as ``folder/name``, by its name."""
    paths = [path for folder in FOLDERS for path in sorted((HERE / folder).glob("[!_]*.py"))]
    return {path.stem: f"{path.parent.name}/{path.stem}" for path in paths}


def load_benchmark(name: str) -> Any:
    """The module of a benchmark; names the extra that has to be installed if an import fails."""
    try:
        return importlib.import_module(benchmarks()[name].replace("/", "."))
    except ModuleNotFoundError as error:
        extra = EXTRAS.get((error.name or "").partition(".")[0])
        if extra is None:
            raise
        raise SystemExit(f"the benchmark {name} needs {error.name}: pip install 'rankhash[{extra}]'") from None


def measure(name: str, run: Run, folder: Path | None) -> Results:
    """The rows of a benchmark, kept and measured ones; each is written to ``folder`` as soon as it is there."""
    module = load_benchmark(name)
    results = Results(benchmarks()[name]) if folder is None else read_results(benchmarks()[name], folder)
    run.done, run.seen = {name_of(row.key) for row in results}, []
    origin = provenance(quick=run.quick)
    measured: list[Facts] = []
    with threadpool_limits(limits=getattr(module, "BLAS_THREADS", 1)):  # idle BLAS threads spin for a while
        for row in module.rows(run):
            measured.append(row.key)
            _show(name, row)
            origin = origin | {"load_after": list(os.getloadavg())}
            results.keep(row)
            results.rows = [Row(r.key, r.values, origin) if r.key in measured else r for r in results.rows]
            _write(results, folder)
    results.sort(run.seen)
    if measured:
        _write(results, folder)
    else:
        print(f"{name}: nothing to measure; --again measures what is kept already", flush=True)
    return results


def _show(name: str, row: Row) -> None:
    if "comparisons" in row.values:
        shown = [f"{one.ours:.4g} {one.unit}, {one.peer} {one.theirs:.4g}: {one.ratio:.2f}" for one in lines_of(row)]
    else:
        shown = [f"{key} {value}" for key, value in row.values.items() if key != "samples"]
    wrong = "ANSWERS DIFFER: " if row.get("agree") is False else ""
    print(f"{name} | {name_of(row.key)} | {wrong}{'; '.join(shown)[:SHOWN]}", flush=True)


def _write(results: Results, folder: Path | None) -> None:
    if folder is None:
        return
    text = results.text()
    refuse_private_names(text)
    path = folder / f"{results.benchmark}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def agrees(results: Results) -> bool:
    """Whether no row says that its answers were wrong."""
    return all(row.get("agree") is not False for row in results)
