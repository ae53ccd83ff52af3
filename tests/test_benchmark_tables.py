"""Tables of benchmarks: drawn from raw results, with what failed and what was not reached."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from benchmark_scripts import ORIGIN, drawn, keep, run_script
from drawing import reproduced
from drawing.scale import BILLION_COLUMNS
from harness.ratios import lines_of
from harness.results import Row, read_results
from rankhash.evaluation.store import Store


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


def test_a_run_that_was_repeated_counts_once(tmp_path: Path) -> None:
    store, settings = Store(tmp_path), {"truth": "neighbors"}
    known = {"set": "mnist", "method": "LSH", "n_symbols": 16, "arity": 2, "bits": 16, "tuned_for": None}
    for seed, ap in ((100, 0.9), (100, 0.2), (101, 0.4)):
        store.add(known | {"seed": seed, "ap": ap, "settings": settings, "origin": {"commit": "0123"}})
    assert "| LSH | – | 0.300 ± 0.141 |" in reproduced.neighbours(reproduced.Runs(tmp_path))


def test_a_billion_codes_are_drawn(page: Path) -> None:
    values = dict.fromkeys((key for _, key, _ in BILLION_COLUMNS), 1.5) | {"batch_ms": 12345.6, "agree": False}
    keep(page.parent, "speed/billion", Row({"n": 1_000_000_000}, values, ORIGIN))
    text = drawn(page, "billion")
    assert "| 1,000,000,000 | 1.5 | 1.50 |" in text
    assert "| 12,346 |" in text
    assert "**answers differ**" in text
