"""The frontier benchmark: its recall, its curves, its sets; a quick run with what is installed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmark_scripts import ORIGIN, drawn, needs_faiss
from drawing.frontier import TABLES as FRONTIER_TABLES
from drawing.frontier import Curve
from frontier import _curves
from frontier._contenders import MODULES, contender, installed
from harness.prepared_sets import VectorSet, distances_of, load_set, quick_set, recall
from harness.results import Results, Row
from test_benchmark_runs import quick_run
from vector_sets import splits
from vector_sets.prepare import true_neighbors


def slow_neighbors(base: np.ndarray, queries: np.ndarray, metric: str, depth: int) -> list[list[int]]:
    found = []
    for query in queries.astype(float):
        points = base.astype(float)
        distances = ((points - query) ** 2).sum(axis=1) if metric == "euclidean" else -(points @ query)
        found.append(sorted(range(len(base)), key=lambda i, d=distances: (d[i], i))[:depth])
    return found


@pytest.mark.parametrize("metric", ["euclidean", "dot"])
@pytest.mark.parametrize("n", [1, 63, 2000])
def test_true_neighbors_are_those_of_sorting_everything(metric: str, n: int) -> None:
    rng = np.random.default_rng(n)  # small integers: ties reach far beyond the neighbours
    base, queries = (rng.integers(-3, 4, (rows, 5)).astype(np.float32) for rows in (n, 7))
    ids, distances = true_neighbors(base, queries, metric, depth=20)
    assert ids.tolist() == slow_neighbors(base, queries, metric, min(20, n))
    np.testing.assert_allclose(distances_of(base, queries, ids, metric), distances)
    assert (np.diff(distances, axis=1) >= 0).all()


def test_recall_counts_ties_but_no_repeats_and_no_missing_ids() -> None:
    base, queries = np.array([[0], [1], [1], [5]], np.float32), np.array([[0]], np.float32)
    data = VectorSet("", "euclidean", base, queries, np.array([[0.0, 1, 1, 25]]))
    for answer, share in (([0, 1], 1.0), ([0, 2], 1.0), ([0, 0], 0.5), ([0, 3], 0.5), ([-1, 0], 0.5), ([3, -1], 0.0)):
        assert recall(data, np.array([answer]), k=2) == share


def test_held_out_groups_leave_no_sibling_in_the_database() -> None:
    rng = np.random.default_rng(0)
    groups = rng.integers(0, 400, 20_000)
    X = np.column_stack([groups, rng.random(20_000)]).astype(np.float32)
    made = splits.hold_out_groups(X, groups, "euclidean", "", 0.2)
    assert len(made.queries) == splits.N_QUERIES
    assert not set(made.base[:, 0]) & set(np.concatenate([made.queries, made.tuning])[:, 0])
    assert 0.75 < len(made.base) / len(X) <= 0.8


def test_held_out_rows_and_the_database_are_a_partition_of_unit_vectors() -> None:
    X = np.random.default_rng(1).standard_normal((3000, 4)).astype(np.float32) * 50
    made = splits.hold_out_rows(X, "cosine", "")
    parts = np.concatenate([made.base, made.queries, made.tuning])
    np.testing.assert_allclose(np.linalg.norm(parts, axis=1), 1, rtol=1e-6)
    angles = [np.sort(np.arctan2(rows[:, 1], rows[:, 0])) for rows in (X, parts)]
    np.testing.assert_allclose(*angles, atol=1e-5)


def test_a_missing_set_is_named(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="no set 'glove400k'"):
        load_set(tmp_path, "glove400k")


def test_times_at_a_recall_lie_on_the_line_between_configurations() -> None:
    points = [(0.8, 10.0), (0.9, 20.0), (0.95, 50.0), (0.97, 40.0), (0.99, 80.0)]
    curve = Curve.of([Row({}, {"points": [{"recall": r, "us": us} for r, us in points]})])
    assert [recall for recall, _ in curve.points] == [0.8, 0.9, 0.97, 0.99]
    assert curve.at(0.9) == pytest.approx(20)
    assert curve.at(0.995) is None
    assert curve.at(0.7) == 10
    middle = 1 - np.sqrt(0.1 * 0.03)  # halfway on the logarithmic axis of 1 - recall
    assert curve.at(middle) == pytest.approx(np.sqrt(20 * 40))


def test_configurations_that_others_beat_clearly_are_not_timed() -> None:
    data = quick_set()

    class Index:
        def search(self, Q: np.ndarray, k: int, *, share: float, work: int) -> np.ndarray:
            for _ in range(work):
                np.linalg.eigvalsh(np.ones((60, 60)) + np.eye(60))
            far = ((Q[:, None] - data.base) ** 2).sum(axis=2)
            best = np.argsort(far, axis=1)[:, :k]
            best[:, int(k * share) :] = -1
            return best

    searches = [
        {"share": 0.9, "work": 0},
        {"share": 0.8, "work": 900},
        {"share": 1.0, "work": 900},
        {"share": 0.3, "work": 0},
    ]
    kept = _curves.points_of(Index(), searches, data)
    assert [(point.search["share"], point.recall) for point in kept] == [(0.9, 0.9), (1.0, 1.0)]


def test_missing_packages_are_named(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def none(module: str) -> object:
        if module == "vector_index":
            return contender(module)
        raise ModuleNotFoundError(f"No module named {module!r}", name=module)

    monkeypatch.setattr("frontier._contenders.contender", none)
    assert list(installed()) == ["vector_index"]
    assert capsys.readouterr().out.count("is left out") == len(MODULES) - 1


@needs_faiss
def test_quick_run_has_a_curve_per_contender_and_is_drawn(tmp_path: Path) -> None:
    results = quick_run(tmp_path, "frontier", "--only", "as it chooses")
    assert [(row["contender"], row["queries"]) for row in results] == [("VectorIndex", q) for q in ("batch", "single")]
    for row in results:
        assert all(point["recall"] == 1 and point["us"] > 0 for point in row["points"])  # few vectors: exact
        assert row["ram_per_vector"] > 4 * row["d"]
    graph = quick_run(tmp_path, "frontier", "--only", "FAISS HNSW")
    assert len(graph.rows) == 4
    assert "quick: FAISS HNSW" in drawn(tmp_path / "page.md", "frontier")


def test_quick_run_of_recall_asked_is_drawn(tmp_path: Path) -> None:
    results = quick_run(tmp_path, "recall_asked")
    assert [row["set"] for row in results][:2] == ["tight clusters", "heavy tails"]
    assert "| heavy tails, 5,000 × 48, euclidean |" in drawn(tmp_path / "page.md", "recall_asked")


def test_quick_run_of_growth_is_drawn(tmp_path: Path) -> None:
    results = quick_run(tmp_path, "growth")
    assert all(row["recall_0.95"] == 1 for row in results)
    assert "| 4,000 × 16, 0.99 |" in drawn(tmp_path / "page.md", "growth")


def test_goals_are_ratios_at_equal_recall() -> None:
    def row(contender: str, us: float, ram: float, cpu: float) -> Row:
        points = [{"recall": 0.9, "us": us}, {"recall": 0.99, "us": 4 * us}]
        values = {"points": points, "ram_per_vector": ram, "cpu_s": cpu, "peak_mb": None}
        return Row({"set": "glove400k", "contender": contender, "build": "", "queries": "batch"}, values, ORIGIN)

    versions = {"hnswlib": "1", "scann": "1", "usearch": "1", **ORIGIN["versions"]}
    rows = [row("VectorIndex", 10, 25, 8), row("ScaNN", 30, 250, 20), row("hnswlib", 100, 350, 80)]
    results = Results("frontier/frontier", [Row(r.key, r.values, ORIGIN | {"versions": versions}) for r in rows])
    text = FRONTIER_TABLES["frontier_goals"][1](results)
    assert "| GloVe, 398k × 50 | 3.0 | 3.0 | 10.0 | 10.0 | 14.0 | 10.0 |" in text
