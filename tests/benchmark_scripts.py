"""Scripts of the benchmarks, run as programs, and raw results made up for tests."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

from harness.results import Results, Row

BENCHMARKS = Path(__file__).parent.parent / "benchmarks"

needs_faiss = pytest.mark.skipif(
    importlib.util.find_spec("faiss") is None,
    reason="compares with FAISS, which is not installed: pip install 'rankhash[peers]'",
)


def run_script(name: str, *arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(BENCHMARKS / name), *map(str, arguments)]
    return subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=300, env=os.environ | environment
    )


ORIGIN = {
    "version": "0.1.0",
    "commit": "0123456789abcdef",
    "cpu": "Some CPU",
    "cores": 2,
    "isa": "avx2",
    "date": "2026-01-01T00:00Z",
    "quick": False,
    "versions": {"faiss-cpu": "1.0", "numpy": "2.0"},
    "load_before": [0.1, 0, 0],
    "load_after": [0.2, 0, 0],
}


def keep(folder: Path, name: str, *rows: Row) -> None:
    path = folder / f"{name}.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(Results(name, list(rows)).text(), encoding="utf-8")


def drawn(page: Path, *blocks: str) -> str:
    """The page with some blocks, drawn from the results in its folder."""
    page.write_text("".join(f"<!-- bench:{name} -->\n<!-- /bench:{name} -->\n" for name in blocks), encoding="utf-8")
    done = run_script("render.py", page, "--results", page.parent)
    assert done.returncode == 0, done.stderr
    return page.read_text(encoding="utf-8")
