"""Write docs/verdict.md from the raw results of ``rankhash reproduce``: ``python benchmarks/verdict.py [--check]``."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from rankhash.evaluation import Protocol
from rankhash.evaluation.store import Store
from rankhash.evaluation.verdict import verdict_page

HERE = Path(__file__).parent
SETS = ("mnist", "cifar10-gist")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--results", type=Path, default=HERE / "results" / "reproduce")
    parser.add_argument("--page", type=Path, default=HERE.parent / "docs" / "verdict.md")
    parser.add_argument("--check", action="store_true", help="change nothing; exit with 1 if the page is stale")
    options = parser.parse_args()
    store = Store(options.results)
    settings = Protocol().settings()
    found = {name: [row for row in store.rows(name) if row["settings"] == settings] for name in SETS}
    text = verdict_page(found)
    if options.check:
        stale = not options.page.is_file() or options.page.read_text(encoding="utf-8") != text
        print(f"{options.page.name} is {'stale: run benchmarks/verdict.py' if stale else 'up to date'}")
        return int(stale)
    options.page.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
