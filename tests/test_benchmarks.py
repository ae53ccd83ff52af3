"""The benchmark harness: it resumes, tells wrong answers from right ones, and draws tables from raw results."""

from __future__ import annotations

import importlib.util
import os
import re
import socket
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from drawing.scale import BILLION_COLUMNS
from harness import answers, timing
from harness.provenance import refuse_private_names
from harness.ratios import lines_of
from harness.results import RESULTS, Results, Row, read_results
from harness.running import FOLDERS, Run, agrees, benchmarks, measure
from rankhash import Collection
from systems import soak
from systems._soak_clients import Ledger, Tally, vectors_of

BENCHMARKS = Path(__file__).parent.parent / "benchmarks"
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

needs_faiss = pytest.mark.skipif(
    importlib.util.find_spec("faiss") is None,
    reason="compares with FAISS, which is not installed: pip install 'rankhash[peers]'",
)


def run_script(name: str, *arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(BENCHMARKS / name), *map(str, arguments)]
    return subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=300, env=os.environ | environment
    )


def keep(folder: Path, name: str, *rows: Row) -> None:
    path = folder / f"{name}.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(Results(name, list(rows)).text(), encoding="utf-8")


def fabricated(ours: list[float], theirs: list[float], *, agree: bool = True) -> Row:
    """A case in which the peer has a slow and a fast mode."""
    samples = {"ours": ours, "faiss:heap": [9 * t for t in theirs], "faiss:counting": theirs}
    values = {
        "goals": {"faiss": {"at_least": 6}},
        "unit": "ns per code·query",
        "scale": 1e9 / 1e6,
        "clock": "thread",
        "agree": agree,
        "comparisons": [{"peer": "faiss", "title": "FAISS", "kind": "speedup", "n_bytes": 0, "show_variant": True}],
        "samples": {"thread": samples},
    }
    return Row({"case": "64 bits"}, values, ORIGIN)


@pytest.fixture
def page(tmp_path: Path) -> Path:
    path = tmp_path / "page.md"
    path.write_text("above\n<!-- bench:scan -->\nold\n<!-- /bench:scan -->\nbelow\n", encoding="utf-8")
    return path


def draw(page: Path, row: Row, *options: str) -> subprocess.CompletedProcess[str]:
    keep(page.parent, "speed/scan", row)
    return run_script("render.py", page, "--results", page.parent, *options)


def drawn(page: Path, *blocks: str) -> str:
    """The page with some blocks, drawn from the results beside it."""
    page.write_text("".join(f"<!-- bench:{name} -->\n<!-- /bench:{name} -->\n" for name in blocks), encoding="utf-8")
    done = run_script("render.py", page, "--results", page.parent)
    assert done.returncode == 0, done.stderr
    return page.read_text(encoding="utf-8")


# -- results ---------------------------------------------------------------------------------------------------------


def test_results_are_read_as_they_were_written(tmp_path: Path) -> None:
    rows = [Row({"n": n}, {"ms": n / 3, "agree": None}, ORIGIN | {"commit": f"{n % 2}"}) for n in range(5)]
    keep(tmp_path, "speed/some", *rows)
    kept = read_results("speed/some", tmp_path)
    assert kept.rows == rows
    assert [origin["commit"] for origin in kept.origins] == ["0", "1"]
    assert not read_results("speed/other", tmp_path).rows


@pytest.mark.parametrize("path", sorted(RESULTS.glob("[!r]*/*.json")), ids=lambda path: path.stem)
def test_kept_results_have_one_shape_and_name_their_origin(path: Path) -> None:
    name = f"{path.parent.name}/{path.stem}"
    kept = read_results(name)
    assert benchmarks()[path.stem] == name
    assert path.read_text(encoding="utf-8") == kept.text()
    assert len({str(row.key) for row in kept}) == len(kept.rows) > 0
    assert all(origin["commit"] for origin in kept.origins)
    assert any({"cpu", "isa", "date", "versions", "cores"} <= origin.keys() for origin in kept.origins)
    assert agrees(kept)


def test_names_of_benchmarks_differ_and_each_has_rows() -> None:
    paths = [path for folder in FOLDERS for path in (BENCHMARKS / folder).iterdir()]
    names = [path.stem for path in paths if path.suffix == ".py" and not path.name.startswith("_")]
    assert sorted(names) == sorted(benchmarks())
    assert all("\ndef rows(run: Run)" in path.read_text() for path in paths if path.stem in benchmarks())


def test_the_readme_lists_every_benchmark_and_file_of_the_harness() -> None:
    text = (BENCHMARKS / "README.md").read_text(encoding="utf-8")
    assert sorted(re.findall(r"^\| (\w+/\w+) \|", text, re.M)) == sorted(benchmarks().values())
    for folder in ("harness", "drawing"):
        for path in (BENCHMARKS / folder).glob("[!_]*.py"):
            assert path.name in text, path.name


def test_private_names_are_refused() -> None:
    refuse_private_names('{"cpu": "Some CPU"}')
    for private in (socket.gethostname(), str(Path.home()), str(BENCHMARKS.parent)):
        if len(private) > 3:
            with pytest.raises(RuntimeError, match="must not name this machine"):
                refuse_private_names(f"measured at {private}")


@pytest.fixture
def counting(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """A benchmark of three rows that notes what it measures, in the place of ``memory``."""
    measured: list[int] = []

    def rows(run: Run) -> Any:
        for key in run.wanted({"n": n} for n in (1, 2, 3)):
            measured.append(key["n"])
            yield Row(key, {"twice": 2 * key["n"], "agree": key["n"] != 3})

    monkeypatch.setattr("harness.running.load_benchmark", lambda _: SimpleNamespace(rows=rows))
    return measured


def test_an_interrupted_run_goes_on_where_it_was(tmp_path: Path, counting: list[int]) -> None:
    measure("memory", Run(only=("n=2",)), tmp_path)
    assert counting == [2]
    found = measure("memory", Run(), tmp_path)
    assert counting == [2, 1, 3]
    assert [row["n"] for row in found] == [1, 2, 3]
    assert [row["n"] for row in read_results("speed/memory", tmp_path)] == [1, 2, 3]
    measure("memory", Run(), tmp_path)
    assert counting == [2, 1, 3]
    measure("memory", Run(again=True, only=("n=1",)), tmp_path)
    assert counting == [2, 1, 3, 1]
    assert not agrees(found)


def test_every_row_has_the_origin_of_its_own_run(tmp_path: Path, counting: list[int]) -> None:
    old = Row({"n": 1}, {"twice": 2}, ORIGIN)
    keep(tmp_path, "speed/memory", old)
    found = measure("memory", Run(), tmp_path).rows
    assert counting == [2, 3]
    assert found[0] == old
    assert found[1].origin == found[2].origin != ORIGIN
    assert {"load_before", "load_after", "kernel", "blas", "cpu", "commit", "isa"} <= found[1].origin.keys()


def test_a_benchmark_without_a_table_gets_one_of_its_keys_and_numbers(page: Path) -> None:
    keep(page.parent, "speed/memory", Row({"kind": "flat", "n": 5}, {"ms": 1.25, "agree": True}, ORIGIN))
    text = drawn(page, "memory", "kill")
    assert "| kind | n | ms |\n| --- | --: | --: |\n| flat | 5 | 1.25 |\n" in text
    assert "_Not measured yet._" in text


# -- tables ----------------------------------------------------------------------------------------------------------


def test_table_is_drawn_from_the_median_and_the_better_mode(page: Path) -> None:
    done = draw(page, fabricated([1e-4, 9e-4, 1e-4], [7e-4, 7e-4, 1e-5]))
    text = page.read_text(encoding="utf-8")
    assert done.returncode == 0, done.stderr
    assert "| 64 bits | ns per code·query | 0.100 | FAISS (counting) 0.700 | 7.00 | ≥ 6 | yes |" in text
    assert "Some CPU, 2 cores, avx2; commit 0123456789; FAISS 1.0, NumPy 2.0;" in text
    assert "load 0.1 before, 0.2 after" in text
    assert text.startswith("above\n")
    assert text.endswith("below\n")
    assert "old" not in text


def test_missed_goal_and_wrong_answer_are_shown() -> None:
    (missed,) = lines_of(fabricated([1e-4], [5e-4]))
    assert (round(missed.ratio, 2), missed.goal, missed.reached) == (5.0, "≥ 6", False)
    (wrong,) = lines_of(fabricated([1e-4], [7e-4], agree=False))
    assert wrong.reached is False


def test_check_finds_a_stale_page_and_leaves_it_alone(page: Path) -> None:
    before = page.read_text(encoding="utf-8")
    row = fabricated([1e-4], [7e-4], agree=False)
    assert draw(page, row, "--check").returncode == 1
    assert page.read_text(encoding="utf-8") == before
    assert draw(page, row).returncode == 0
    assert draw(page, row, "--check").returncode == 0
    assert "**answers differ**" in page.read_text(encoding="utf-8")


@pytest.mark.parametrize("text", ["<!-- bench:scan -->\n", "<!-- bench:nothing -->\n<!-- /bench:nothing -->\n"])
def test_unclosed_or_unknown_marker_is_refused(page: Path, text: str) -> None:
    page.write_text(text, encoding="utf-8")
    done = draw(page, fabricated([1e-4], [7e-4]))
    assert done.returncode != 0
    assert "page.md" in done.stderr
    assert page.read_text(encoding="utf-8") == text


def test_kills_and_memory_are_drawn_with_what_failed_and_with_notes(page: Path) -> None:
    changes = {"acknowledged": 5, "the whole change under way was kept": 2}
    values = {"kills": 7, "changes": changes, "failures": ["kill 3: lost"]}
    keep(page.parent, "systems/kill", Row({"seed": 0}, values, ORIGIN | {"note": "an old disk"}))
    key = {"verb": "add", "rows": 10_000, "features": 128}
    values = {"file_megabytes": 5, "megabytes": 99.7, "seconds": 1.5}
    keep(page.parent, "systems/cli_memory", Row(key, values, ORIGIN | {"commit": "abc+", "quick": True}))
    text = drawn(page, "kill", "cli_memory")
    assert "| kills | 7 |\n| acknowledged | 5 |" in text
    assert "damaged files** | **1** |" in text
    assert " Note: an old disk. [Raw results](systems/kill.json).\n" in text
    assert "| add | 10,000 × 128 | 5 | 100 | 1.5 |" in text
    assert "not a measurement.** _Some CPU, 2 cores, avx2; commit abc+ with uncommitted changes;" in text


def test_the_scale_run_is_drawn_with_what_was_not_reached(page: Path) -> None:
    kept = read_results("speed/scale").rows[0].values
    values = {key: 61.5 if isinstance(value, float) else value for key, value in kept.items()}
    key = {"kind": "sift", "n": 100_000_000}
    keep(page.parent, "speed/scale", Row(key, values | {"tables_agree": False}, ORIGIN))
    text = drawn(page, "scale")
    assert "| a single exact query by scan | 61.5 ms (not reached) | ≤ 60 ms |" in text
    assert "| 256 queries, × FAISS one-hot | 61.5 | ≥ 6 |" in text
    assert "Tables and scan disagreed" in text


def test_a_billion_codes_are_drawn(page: Path) -> None:
    values = dict.fromkeys((key for _, key, _ in BILLION_COLUMNS), 1.5) | {"batch_ms": 12345.6, "agree": False}
    keep(page.parent, "speed/billion", Row({"n": 1_000_000_000}, values, ORIGIN))
    text = drawn(page, "billion")
    assert "| 1,000,000,000 | 1.5 | 1.50 |" in text
    assert "| 12,346 |" in text
    assert "**answers differ**" in text


# -- answers and clocks ----------------------------------------------------------------------------------------------


def test_wrong_answers_are_told_from_right_ones() -> None:
    whole, real = np.array([3.0, 1.0, 1.0, 2.0, np.inf]), np.array([3.5, 1.25, 1.5, 2.5, np.inf])
    assert answers.is_exact(np.array([1, 2, 3]), np.array([1, 1, 2]), whole)
    assert not answers.is_exact(np.array([2, 1, 3]), np.array([1, 1, 2]), whole)
    assert not answers.is_exact(np.array([1, 2, 3]), np.array([1, 1, 3]), whole)
    assert not answers.is_exact(np.array([1, 1, 3]), np.array([1, 1, 2]), whole)
    assert answers.is_exact(np.array([1, 2, 3, 0, -1]), np.array([1, 1, 2, 3, 99]), whole)
    assert not answers.is_exact(np.array([1, 2, 3, 0, 4]), np.array([1, 1, 2, 3, 99]), whole)
    assert answers.is_exact(np.array([1, 2]), np.array([1.25, 1.5 + 1e-6]), real)
    assert not answers.is_exact(np.array([1, 3]), np.array([1.25, 2.5]), real)


def test_peer_may_differ_only_at_the_last_distance() -> None:
    ours = SimpleNamespace(ids=np.array([[4, 7, 8]]), distances=np.array([[1, 2, 2]], np.float32))
    assert answers.same_up_to_ties(ours, np.array([[4, 9, 7]]), np.array([[2, 4, 4]]), 2)
    assert not answers.same_up_to_ties(ours, np.array([[5, 7, 8]]), np.array([[2, 4, 4]]), 2)
    assert not answers.same_up_to_ties(ours, np.array([[4, 7, 8]]), np.array([[2, 4, 6]]), 2)


def test_work_in_another_thread_is_refused() -> None:
    def elsewhere() -> None:
        thread = threading.Thread(target=lambda: sum(range(1_000_000)))
        thread.start()
        thread.join()

    with pytest.raises(RuntimeError, match="other threads"):
        timing.one_thread({"ours": elsewhere}, repeats=3)


def test_the_soak_notices_what_is_lost_or_changed(tmp_path: Path) -> None:
    sizes = replace(soak.QUICK, base=20)
    ledger = Ledger(1, {"w1-0": 2})
    soak.create(tmp_path / "items.rankhash", sizes)

    def failures() -> list[str]:
        tally = Tally()
        soak.verify(tmp_path / "items.rankhash", [ledger], sizes, tally)
        return tally.failures

    assert failures() == ["lost w1-0"]
    with Collection.open(tmp_path / "items.rankhash", "rw") as items:
        fields = {"writer": 1, "n": 0, "version": 1}
        items.add(vectors_of(["w1-0"], [1], sizes.n_features), ["w1-0"], [fields])
        assert failures() == ["w1-0 is not of version 2"]
        items.upsert(vectors_of(["w1-0"], [1], sizes.n_features), ["w1-0"], [fields | {"version": 2}])
        assert failures() == ["w1-0 is not of version 2"]
        items.upsert(vectors_of(["w1-0"], [2], sizes.n_features), ["w1-0"], [fields | {"version": 2}])
        assert failures() == []
        items.delete(["base-3"])
        assert failures() == ["lost base-3"]
        items.add(vectors_of(["x"], [0], sizes.n_features), ["x"])
        assert failures() == ["lost base-3", "x was deleted"]
