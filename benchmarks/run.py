"""Measure, and keep the raw results: ``python benchmarks/run.py [benchmark ...] [--quick] [--only TEXT] [--again]``.

Rows that are kept already are measured again only with ``--again``. A quick run keeps nothing without ``--out``.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from harness.results import RESULTS
from harness.running import DATA, Run, agrees, benchmarks, measure


def main() -> int:
    """0 if all answers that were compared agreed, else 1."""
    args = _arguments()
    fine = True
    for name in args.benchmarks or benchmarks():
        run = Run(args.data, args.quick, tuple(args.only), args.again)
        fine &= agrees(measure(name, run, args.out))
    return 0 if fine else 1


def _arguments() -> argparse.Namespace:
    known = ", ".join(benchmarks())
    parser = argparse.ArgumentParser(description="Measure rankhash and its peers, and keep the raw results.")
    parser.add_argument("benchmarks", nargs="*", metavar="benchmark", help=f"of {known}; all if none is named")
    parser.add_argument("--quick", action="store_true", help="small data: shows that it runs, measures nothing")
    parser.add_argument(
        "--only",
        nargs="+",
        default=[],
        metavar="TEXT",
        help="only rows whose name contains every TEXT; n=100, (with a comma) is not in n=1000",
    )
    parser.add_argument("--again", action="store_true", help="measure also the rows that are kept already")
    parser.add_argument(
        "--data", type=Path, default=DATA, help="folder of data sets; default: RANKHASH_DATA, or benchmarks/data"
    )
    parser.add_argument("--out", type=Path, help="folder for the results; default: benchmarks/results, none if --quick")
    args = parser.parse_args()
    unknown = [name for name in args.benchmarks if name not in benchmarks()]
    if unknown:
        parser.error(f"no benchmark {', '.join(unknown)}; there are {known}")
    if args.out is None and not args.quick:
        args.out = RESULTS
    return args


if __name__ == "__main__":
    sys.exit(main())
