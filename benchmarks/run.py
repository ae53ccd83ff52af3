"""Measure, and keep the raw results: ``python benchmarks/run.py [group ...] [--quick] [--only …] [--out …]``.

Without ``--out``, a full run writes ``benchmarks/results/<group>.json``; a quick or partial run only prints.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits

import machine
from case import Case, Outcome, group_names, load_cases
from summary import Row, rows

FORMAT = 1
RESULTS = Path(__file__).parent / "results"
NEED_FAISS = {"scan", "single", "lookup", "tables"}


def main() -> int:
    """0 if every case ran and every answer agreed, else 1."""
    args = _arguments()
    origin = machine.provenance()
    fine = True
    for group in args.groups or group_names():
        title, cases = load_cases(group, quick=args.quick, only=args.only)
        if not cases:
            continue
        print(f"\n{group}: {title}", flush=True)
        result = _measure_group(group, cases, {"title": title, "quick": args.quick, **origin})
        fine &= all(case["answers"]["agree"] is not False for case in result["cases"])
        if args.out:
            _write(args.out / f"{group}.json", result)
    return 0 if fine else 1


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Measure ours beside its peers and keep the raw results.")
    parser.add_argument("groups", nargs="*", metavar="group", help=f"one of {', '.join(group_names())}; all if none")
    parser.add_argument("--quick", action="store_true", help="small data: shows that it runs, measures nothing")
    parser.add_argument("--only", default="", metavar="TEXT", help="only cases whose name contains TEXT")
    parser.add_argument("--out", type=Path, help="folder for the results; a full run has benchmarks/results")
    args = parser.parse_args()
    unknown = set(args.groups) - set(group_names())
    if unknown:
        parser.error(f"no group {', '.join(sorted(unknown))}; there are {', '.join(group_names())}")
    if args.out is None and not args.quick and not args.only:
        args.out = RESULTS
    return args


def _measure_group(group: str, cases: list[Case], head: dict[str, Any]) -> dict[str, Any]:
    run = _group_module(group).run
    before = list(os.getloadavg())
    with threadpool_limits(limits=1):  # also between measurements: idle BLAS threads spin for a while
        records = [_measure_case(run, case) for case in cases]
    load = {"load_before": before, "load_after": list(os.getloadavg())}
    return {"format": FORMAT, "group": group, **head, **load, "cases": records}


def _measure_case(run: Callable[[Case], Outcome], case: Case) -> dict[str, Any]:
    record = run(case).as_json(case)
    record["rows"] = [vars(row) for row in rows(record)]
    _print(record)
    return record


def _group_module(group: str) -> Any:
    try:
        return importlib.import_module(f"groups.{group}")
    except ModuleNotFoundError as error:
        if error.name != "faiss" or group not in NEED_FAISS:
            raise
        sys.exit(f"the group {group} compares with FAISS: pip install 'rankhash[peers]'")


def _print(record: dict[str, Any]) -> None:
    for row in rows(record):
        print("  " + _line(row), flush=True)
    if record["answers"]["agree"] is False:
        print(f"  ANSWERS DIFFER in {record['name']}: {record['answers']['checked']}", flush=True)


def _line(row: Row) -> str:
    verdict = {None: "", True: f"{row.goal}: yes", False: f"{row.goal}: NO"}[row.reached]
    return (
        f"{row.case:<44} {row.ours:9.4g} {row.unit:<18} {row.peer}: {row.theirs:.4g}  ratio {row.ratio:.2f}  {verdict}"
    )


def _write(path: Path, result: dict[str, Any]) -> None:
    text = json.dumps(result, indent=1, ensure_ascii=False) + "\n"
    machine.refuse_private_names(text)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
