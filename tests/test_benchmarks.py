"""The benchmark harness: it runs, tells wrong answers from right ones, and draws tables from raw results."""

from __future__ import annotations

import importlib
import importlib.util
import json
import subprocess
import sys
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

BENCHMARKS = Path(__file__).parent.parent / "benchmarks"
GROUPS = sorted(path.stem for path in (BENCHMARKS / "configs").glob("*.json"))

needs_faiss = pytest.mark.skipif(
    importlib.util.find_spec("faiss") is None,
    reason="compares with FAISS, which is not installed: pip install 'rankhash[peers]'",
)


def run_script(name: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(BENCHMARKS / name), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)


def fabricated(ours: list[float], theirs: list[float], *, agree: bool = True) -> dict[str, Any]:
    """A result with one case, in which the peer has a slow and a fast mode."""
    samples = {"ours": ours, "faiss:heap": [9 * t for t in theirs], "faiss:counting": theirs}
    case = {
        "name": "64 bits",
        "goals": {"faiss": {"at_least": 6}},
        "unit": "ns per code·query",
        "scale": 1e9 / 1e6,
        "clock": "thread",
        "answers": {"agree": agree, "checked": ""},
        "comparisons": [{"peer": "faiss", "title": "FAISS", "kind": "speedup", "n_bytes": 0, "show_variant": True}],
        "samples": {"thread": samples},
    }
    return {
        "group": "scan",
        "quick": False,
        "machine": {"cpu": "Some CPU", "cores": 2},
        "isa": "avx2",
        "commit": "0123456789abcdef",
        "dirty": False,
        "versions": {"faiss-cpu": "1.0", "numpy": "2.0"},
        "date": "2026-01-01T00:00Z",
        "load_before": [0.1, 0, 0],
        "load_after": [0.2, 0, 0],
        "cases": [case],
    }


@pytest.fixture
def page(tmp_path: Path) -> Path:
    path = tmp_path / "page.md"
    path.write_text("above\n<!-- bench:scan -->\nold\n<!-- /bench:scan -->\nbelow\n", encoding="utf-8")
    return path


def draw(page: Path, result: dict[str, Any], *options: str) -> subprocess.CompletedProcess[str]:
    (page.parent / "scan.json").write_text(json.dumps(result), encoding="utf-8")
    return run_script("render.py", page, "--results", page.parent, *options)


def drawn(page: Path, *blocks: str) -> str:
    """The page with some blocks, drawn from the results beside it."""
    page.write_text("".join(f"<!-- bench:{name} -->\n<!-- /bench:{name} -->\n" for name in blocks), encoding="utf-8")
    done = draw(page, fabricated([1e-4], [7e-4]))
    assert done.returncode == 0, done.stderr
    return page.read_text(encoding="utf-8")


def test_table_is_drawn_from_the_median_and_the_better_mode(page: Path) -> None:
    done = draw(page, fabricated([1e-4, 9e-4, 1e-4], [7e-4, 7e-4, 1e-5]))
    text = page.read_text(encoding="utf-8")
    assert done.returncode == 0, done.stderr
    assert "| 64 bits | ns per code·query | 0.100 | FAISS (counting) 0.700 | 7.00 | ≥ 6 | yes |" in text
    assert "Some CPU, 2 cores, avx2; commit 0123456789;" in text
    assert text.startswith("above\n")
    assert text.endswith("below\n")
    assert "old" not in text


def test_missed_goal_and_wrong_answer_are_shown(page: Path) -> None:
    draw(page, fabricated([1e-4], [5e-4]))
    assert "| 5.00 | ≥ 6 | **no** |" in page.read_text(encoding="utf-8")
    draw(page, fabricated([1e-4], [7e-4], agree=False))
    assert "**answers differ**" in page.read_text(encoding="utf-8")


def test_check_finds_a_stale_page_and_leaves_it_alone(page: Path) -> None:
    before = page.read_text(encoding="utf-8")
    result = fabricated([1e-4], [7e-4])
    assert draw(page, result, "--check").returncode == 1
    assert page.read_text(encoding="utf-8") == before
    assert draw(page, result).returncode == 0
    assert draw(page, result, "--check").returncode == 0


@pytest.mark.parametrize("text", ["<!-- bench:scan -->\n", "<!-- bench:nothing -->\n<!-- /bench:nothing -->\n"])
def test_unclosed_or_unknown_marker_is_refused(page: Path, text: str) -> None:
    page.write_text(text, encoding="utf-8")
    done = draw(page, fabricated([1e-4], [7e-4]))
    assert done.returncode != 0
    assert "page.md" in done.stderr
    assert page.read_text(encoding="utf-8") == text


def test_reports_of_kills_and_of_memory_are_drawn(page: Path) -> None:
    origin = {
        "machine": {"cpu": "Some CPU", "cores": 2},
        "commit": "0123456789abcdef",
        "dirty": False,
        "date": "2026-01-01",
    }
    changes = {"acknowledged": 5, "the whole change under way was kept": 2}
    row = {"verb": "add", "rows": 10_000, "features": 128, "file_megabytes": 5, "megabytes": 99.7, "seconds": 1.5}
    results = {
        "kill": {"provenance": origin, "kills": 7, "seed": 0, "changes": changes, "failures": ["kill 3: lost"]},
        "bounded": {"provenance": origin, "records": [row]},
    }
    for name, result in results.items():
        (page.parent / f"{name}.json").write_text(json.dumps(result), encoding="utf-8")
    text = drawn(page, *results)
    assert "| kills | 7 |\n| acknowledged | 5 |" in text
    assert "damaged files** | **1** |" in text
    assert "| add | 10,000 × 128 | 5 | 100 | 1.5 |" in text
    assert text.count("Some CPU, 2 cores; commit 0123456789; 2026-01-01") == 2


def test_the_scale_run_is_drawn_with_what_was_not_reached(page: Path) -> None:
    kept = json.loads((BENCHMARKS / "results" / "scale.json").read_text(encoding="utf-8"))["rows"][0]
    row = {key: 61.5 if isinstance(value, float) else value for key, value in kept.items()}
    row |= {"kind": "sift", "n": 100_000_000, "commit": "0123456789ab", "tables_agree": False}
    facts = {"machine": {"cpu": "Some CPU"}, "commit": "0123456789ab", "dirty": False, "date": "2026-01-01T00:00Z"}
    (page.parent / "scale.json").write_text(json.dumps({"provenance": facts, "rows": [row]}), encoding="utf-8")
    text = drawn(page, "scale")
    assert "| a single exact query by scan | 61.5 ms (not reached) | ≤ 60 ms |" in text
    assert "| 256 queries, × FAISS one-hot | 61.5 | ≥ 6 |" in text
    assert "Tables and scan disagreed" in text
    assert "1,000,000,000 codes" in text


def test_the_load_of_the_server_is_measured_and_drawn(page: Path) -> None:
    out = page.parent / "serve.json"
    done = run_script("serve.py", "--quick", "--soak", 1, "--out", out)
    result = json.loads(out.read_text(encoding="utf-8"))
    assert done.returncode == 0, done.stdout + done.stderr
    assert result["agree"]
    assert all(record["requests"] > 0 and not record["errors"] for record in result["records"])
    assert result["idle"]["connections"] == result["idle"]["open_at_the_end"] == 200
    assert result["soak"]["errors"] == 0
    text = drawn(page, "serve")
    assert "| binary, 64 vectors, 156 requests a second, at random times | 8 |" in text
    assert "| JSON, one vector, 750 requests a second, evenly | 64 |" in text
    assert "not a measurement" in text


def test_quick_run_against_postgres_is_right_and_drawn(page: Path, postgres: str) -> None:
    kept = page.parent / "engines_postgres.json"
    done = run_script("engines_postgres.py", "--quick", "--server", postgres, "--out", kept)
    assert done.returncode == 0, done.stdout + done.stderr
    text = drawn(page, "engines_postgres")
    assert text.count("3,000 codes, L=32, K=4: 96 bits") == 4
    assert "answers differ" not in text


def test_every_group_has_a_module_and_a_place_in_the_tables() -> None:
    modules = sorted(path.stem for path in (BENCHMARKS / "groups").glob("[!_]*.py"))
    order = (BENCHMARKS / "render.py").read_text(encoding="utf-8")
    assert modules == GROUPS
    assert all(f'"{group}"' in order for group in GROUPS)


def test_wrong_answers_are_told_from_right_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(BENCHMARKS)
    answers = importlib.import_module("answers")
    whole, real = np.array([3.0, 1.0, 1.0, 2.0, np.inf]), np.array([3.5, 1.25, 1.5, 2.5, np.inf])
    assert answers.is_exact(np.array([1, 2, 3]), np.array([1, 1, 2]), whole)
    assert not answers.is_exact(np.array([2, 1, 3]), np.array([1, 1, 2]), whole)
    assert not answers.is_exact(np.array([1, 2, 3]), np.array([1, 1, 3]), whole)
    assert not answers.is_exact(np.array([1, 1, 3]), np.array([1, 1, 2]), whole)
    assert answers.is_exact(np.array([1, 2, 3, 0, -1]), np.array([1, 1, 2, 3, 99]), whole)
    assert not answers.is_exact(np.array([1, 2, 3, 0, 4]), np.array([1, 1, 2, 3, 99]), whole)
    assert answers.is_exact(np.array([1, 2]), np.array([1.25, 1.5 + 1e-6]), real)
    assert not answers.is_exact(np.array([1, 3]), np.array([1.25, 2.5]), real)


def test_peer_may_differ_only_at_the_last_distance(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(BENCHMARKS)
    answers = importlib.import_module("answers")
    ours = SimpleNamespace(ids=np.array([[4, 7, 8]]), distances=np.array([[1, 2, 2]], np.float32))
    assert answers.same_up_to_ties(ours, np.array([[4, 9, 7]]), np.array([[2, 4, 4]]), 2)
    assert not answers.same_up_to_ties(ours, np.array([[5, 7, 8]]), np.array([[2, 4, 4]]), 2)
    assert not answers.same_up_to_ties(ours, np.array([[4, 7, 8]]), np.array([[2, 4, 6]]), 2)


def test_work_in_another_thread_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(BENCHMARKS)
    measure = importlib.import_module("measure")

    def elsewhere() -> None:
        thread = threading.Thread(target=lambda: sum(range(1_000_000)))
        thread.start()
        thread.join()

    with pytest.raises(RuntimeError, match="other threads"):
        measure.one_thread({"ours": elsewhere}, repeats=3)


@pytest.mark.parametrize("group", GROUPS)
def test_case_names_of_a_group_differ(group: str) -> None:
    config = json.loads((BENCHMARKS / "configs" / f"{group}.json").read_text(encoding="utf-8"))
    names = [case["name"] for case in config["cases"]]
    assert len(set(names)) == len(names)


@needs_faiss
@pytest.mark.parametrize(
    ("group", "only", "peer"),
    [
        ("scan", "64 bits, K=4, k=10,", "faiss"),
        ("single", "64 bits, K=2", "read"),
        ("lookup", "K=4, clustered", "scan"),
        ("lookup", "within 3, 1M", "faiss"),
        ("tables", "32 bits", "pq"),
    ],
)
def test_quick_run_keeps_raw_samples_and_compares_answers(tmp_path: Path, group: str, only: str, peer: str) -> None:
    done = run_script("run.py", group, "--quick", "--only", only, "--out", tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    text = (tmp_path / f"{group}.json").read_text(encoding="utf-8")
    result = json.loads(text)
    assert result["commit"]
    assert result["machine"]["cpu"]
    assert str(BENCHMARKS.parent) not in text
    assert result["cases"]
    for case in result["cases"]:
        times = case["samples"]["thread"]
        assert case["answers"]["agree"] is True
        assert {name.split(":")[0] for name in times} >= {"ours", peer}
        assert all(len(repetitions) == case["params"]["repeats"] for repetitions in times.values())


@pytest.mark.parametrize("group", ["filter", "memory", "encode", "collection"])
def test_quick_run_needs_no_faiss_where_there_is_no_peer(tmp_path: Path, group: str) -> None:
    done = run_script("run.py", group, "--quick", "--out", tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    result = json.loads((tmp_path / f"{group}.json").read_text(encoding="utf-8"))
    assert result["quick"]
    assert all(case["answers"]["agree"] is not False for case in result["cases"])


def test_quick_run_without_out_writes_nothing() -> None:
    before = sorted(BENCHMARKS.rglob("*.json"))
    done = run_script("run.py", "memory", "--quick", "--only", "L=20, K=3")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "L=20, K=3" in done.stdout
    assert sorted(BENCHMARKS.rglob("*.json")) == before


def test_unknown_group_is_refused_with_the_known_ones() -> None:
    done = run_script("run.py", "nothing")
    assert done.returncode != 0
    assert "scan" in done.stderr


def test_quick_run_of_dask_gives_right_answers_and_tables(tmp_path: Path) -> None:
    out = tmp_path / "engines_dask.json"
    done = run_script("engines_dask.py", "--quick", "--out", out, "--folder", tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    result = json.loads(out.read_text(encoding="utf-8"))
    assert {row["shards"] for row in result["merge"]} == {10, 30}
    assert all(row["agree"] is True for part in ("encode", "search", "loss", "merge") for row in result[part])
    blocks = ["dask_goals", "dask_fanout", "dask_node", "dask_merge", "dask_scale"]
    page = tmp_path / "page.md"
    page.write_text("".join(f"<!-- bench:{name} -->\n<!-- /bench:{name} -->\n" for name in blocks), encoding="utf-8")
    done = run_script("render.py", page, "--results", tmp_path)
    assert done.returncode == 0, done.stderr
    text = page.read_text(encoding="utf-8")
    assert text.count("Quick run on small data: not a measurement.") == len(blocks)
    assert "**Extrapolated**, not measured" in text
    assert "| 10^11 |" in text
