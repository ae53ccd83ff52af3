"""Every benchmark runs on small data, gives right answers and can be drawn."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmark_scripts import BENCHMARKS, drawn, needs_faiss, run_script
from harness.comparison import Suite
from harness.results import Results, read_results
from harness.running import benchmarks, load_benchmark

SUITES = ("scan", "single", "lookup", "score_tables", "filter", "encode", "threads", "memory", "collection")
NO_PEER = (
    "filter",
    "memory",
    "encode",
    "collection",
    "rsh_start",
    "rsh_updates",
    "pstable_width",
    "cro",
    "many",
    "sentences",
    "rsh_fit",
    "jrsh_fit",
    "kill",
    "soak",
    "cli_memory",
    "first_minutes",
)


def quick_run(folder: Path, name: str, *options: str, **environment: str) -> Results:
    done = run_script("run.py", name, "--quick", "--out", folder, *options, **environment)
    assert done.returncode == 0, done.stdout + done.stderr
    results = read_results(benchmarks()[name], folder)
    assert results.rows
    assert all(row.origin["quick"] for row in results)
    return results


@needs_faiss
@pytest.mark.parametrize("name", SUITES)
def test_case_names_of_a_benchmark_differ(name: str) -> None:
    suite: Suite = load_benchmark(name).SUITE
    assert len({case.name for case in suite.cases}) == len(suite.cases)


@needs_faiss
@pytest.mark.parametrize(
    ("name", "only", "peer"),
    [
        ("scan", "64 bits, K=4, k=10,", "faiss"),
        ("single", "64 bits, K=2", "read"),
        ("lookup", "K=4, clustered", "scan"),
        ("lookup", "within 3, 1M", "faiss"),
        ("score_tables", "32 bits", "pq"),
    ],
)
def test_quick_run_keeps_raw_samples_and_compares_answers(tmp_path: Path, name: str, only: str, peer: str) -> None:
    for row in quick_run(tmp_path, name, "--only", only):
        times = row["samples"]["thread"]
        assert row["agree"] is True
        assert not row["goals"]
        assert {contender.split(":")[0] for contender in times} >= {"ours", peer}
        assert all(len(repetitions) == row["params"]["repeats"] for repetitions in times.values())


@pytest.mark.parametrize("name", NO_PEER)
def test_quick_run_needs_no_faiss_where_there_is_no_peer(tmp_path: Path, name: str) -> None:
    quick_run(tmp_path, name)
    assert "not a measurement" in drawn(tmp_path / "page.md", name)


def test_quick_run_without_out_writes_nothing() -> None:
    before = {path: path.stat().st_mtime_ns for path in BENCHMARKS.rglob("*.json")}
    done = run_script("run.py", "memory", "--quick", "--only", "L=20, K=3")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "L=20, K=3" in done.stdout
    assert {path: path.stat().st_mtime_ns for path in BENCHMARKS.rglob("*.json")} == before


def test_unknown_benchmark_is_refused_with_the_known_ones() -> None:
    done = run_script("run.py", "nothing")
    assert done.returncode != 0
    assert "scan" in done.stderr


def test_the_load_of_the_server_is_measured_and_drawn(tmp_path: Path) -> None:
    results = quick_run(tmp_path, "server")
    loads = [*results.having(what="closed"), *results.having(what="open")]
    assert len(loads) == 8
    assert all(row["requests"] > 0 and not row["errors"] and row["agree"] for row in loads)
    (idle,), (soak,) = results.having(what="idle"), results.having(what="soak")
    assert idle["connections"] == idle["open_at_the_end"] == 200
    assert soak["errors"] == 0
    text = drawn(tmp_path / "page.md", "server")
    assert "| binary, 64 vectors, 156 requests per second, at random times | 8 |" in text
    assert "| JSON, one vector, 750 requests per second, evenly | 64 |" in text
    assert "not a measurement" in text


def test_quick_run_against_postgres_is_right_and_drawn(tmp_path: Path, postgres: str) -> None:
    quick_run(tmp_path, "postgres", RANKHASH_POSTGRES=postgres)
    text = drawn(tmp_path / "page.md", "postgres")
    assert text.count("3,000 codes, L=32, K=4: 96 bits") == 4
    assert "answers differ" not in text


def test_quick_run_of_dask_gives_right_answers_and_tables(tmp_path: Path) -> None:
    results = quick_run(tmp_path, "dask_engine")
    assert {row["shards"] for row in results.having(part="merge")} == {10, 30}
    assert all(row["agree"] for part in ("encode", "search", "loss", "merge") for row in results.having(part=part))
    blocks = ["dask_goals", "dask_fanout", "dask_node", "dask_merge", "dask_scale"]
    text = drawn(tmp_path / "page.md", *blocks)
    assert text.count("Quick run on small data: not a measurement.") == len(blocks)
    assert "**Extrapolated**, not measured" in text
    assert "| 10^11 |" in text
