"""``rankhash compare``."""

from __future__ import annotations

import json
from html import escape

import numpy as np
import pytest
from click.testing import CliRunner

from rankhash.cli import main
from rankhash.evaluation import Compared, recommend


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    path = tmp_path_factory.mktemp("compare") / "X.npy"
    rng = np.random.default_rng(0)
    np.save(path, (rng.normal(size=(40, 24))[rng.integers(0, 40, 900)] + rng.normal(size=(900, 24))).astype(np.float32))
    return path


def run(*args):
    return CliRunner().invoke(main, ["compare", *(str(arg) for arg in args)])


def test_methods_are_compared_and_one_is_recommended(path, tmp_path):
    plot = tmp_path / "plot.html"
    options = ["--method", "RankQuantizer", "--method", "LSH", "--bytes", 2, 8, "--plot", plot]
    result = run(path, *options)
    assert result.exit_code == 0, result.output
    lines = result.output.splitlines()
    assert lines[0].split()[:3] == ["method", "bytes", "recall@10"]
    assert [line.split()[:2] for line in lines[1:6]] == [
        ["RankQuantizer", "2"],
        ["LSH", "2"],
        ["RankQuantizer", "8"],
        ["LSH", "8"],
        ["VectorIndex", "96"],
    ]
    assert lines[6].startswith("recall ≥ 0.95 at ≤ 16 bytes: RankQuantizer, 8 bytes, 100 candidates re-ranked")
    page = plot.read_text(encoding="utf-8")
    assert page.count("<svg class=plot") == 1
    assert page.count("<tr>") == 6
    assert escape(lines[6]) in page
    assert "http" not in page
    assert "<script" not in page
    assert len(page) < 10_000


def test_bytes_are_given_together_or_one_by_one(path):
    for options in (["--bytes", 1, 2], ["--bytes", 1, "--bytes", 2], ["--json", "--bytes", 2, 1]):
        found = json.loads(run(*options, path, "--method", "LSH", *([] if "--json" in options else ["--json"])).output)
        assert sorted(row["n_bytes"] for row in found["rows"][:2]) == [1, 2]
    assert "extra argument" in run(path, "--method", "LSH", 8, "--bytes", 8).output


def test_the_fewest_bytes_then_the_best_recall_are_recommended():
    def row(method, n_bytes, found, search):
        return Compared(method, n_bytes, 0.5, found, 1.0, 1.0, search)

    short = [row("A", 8, 0.94, 1), row("B", 8, 0.961, 1), row("C", 8, 0.999, 3), row("D", 8, 0.996, 2)]
    assert recommend([*short, row("E", 16, 1.0, 0.1), row("VectorIndex", 4, 1.0, 0.1)]).method == "D"
    assert recommend(short[:1], 0.95) is None
    assert recommend(short, 0.9, 4) is None


def test_programs_get_numbers(path):
    found = json.loads(run(path, "--method", "ITQ", "--bytes", 1, "--recall", 1, "--metric", "cosine", "--json").output)
    assert found["best"] is None
    itq, index = found["rows"]
    assert 0 < itq["recall"] < itq["recall_reranked"] < 1
    assert index["recall"] == 1
    assert itq["fit_seconds"] > 0


def test_nothing_that_fits_names_the_index(path):
    result = run(path, "--method", "LSH", "--bytes", 1, "--recall", 1)
    assert "no codes alone; VectorIndex reaches 1.000 with 96 bytes" in result.output


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--method", "RankQuantiser"], "did you mean RankQuantizer"),
        (["-k", 10_000], "k must be an integer from 1 to 810"),
        (["--candidates", 5], "candidates must be"),
        (["--n-queries", 900], "cannot hold out"),
    ],
)
def test_mistakes_are_one_line(path, options, message):
    result = run(path, *options)
    assert result.exit_code == 2
    assert message in result.output
    assert len(result.output.splitlines()) == 1


def test_zero_vectors_have_no_cosine(tmp_path):
    np.save(tmp_path / "zero.npy", np.vstack([np.zeros((1, 4)), np.eye(4)] * 5).astype(np.float32))
    result = run(tmp_path / "zero.npy", "--metric", "cosine")
    assert result.exit_code == 2
    assert "vector 0 is zero" in result.output
