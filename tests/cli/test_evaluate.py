"""``rankhash evaluate``."""

from __future__ import annotations

import json

import numpy as np
import pytest
from click.testing import CliRunner
from sklearn.datasets import load_digits

from rankhash import ITQ
from rankhash.cli import main
from rankhash.evaluation.held_out import evaluate, hold_out


@pytest.fixture(scope="module")
def digits(tmp_path_factory):
    folder = tmp_path_factory.mktemp("digits")
    X, y = load_digits(return_X_y=True)
    np.save(folder / "X.npy", X.astype(np.float32))
    np.save(folder / "y.npy", y)
    return folder


def run(*args):
    return CliRunner().invoke(main, ["evaluate", *(str(arg) for arg in args)])


def test_better_codes_get_better_numbers(digits):
    short, long = (
        json.loads(run(digits / "X.npy", "--method", "itq", "--bits", bits, "--json").output) for bits in (8, 64)
    )
    for name in ("mean average precision", "precision@10", "recall@10", "recall@10 (asymmetric)", "NDCG@10"):
        assert 0 < short[name] < long[name] < 1, name
    assert long["recall@10"] <= long["recall@10, by distance"] + 1e-9
    assert long["database"] + long["queries"] == 1797
    assert long["bits"] == 64


def test_classes_are_the_truth_if_they_are_given(digits):
    found = json.loads(run(digits / "X.npy", "--labels", digits / "y.npy", "--bits", 32, "--json").output)
    assert found["precision@10"] > 0.9


def test_it_takes_the_options_of_fit(digits):
    options = ("--method", "itq", "--n-symbols", 24, "--set", "n_iterations=2", "--candidates", 50, "--json")
    found = json.loads(run(digits / "X.npy", *options).output)
    assert (found["method"], found["bits"]) == ("ITQ", 24)
    re_ranked = found["recall@10, 50 candidates re-ranked"]
    assert found["recall@10"] < re_ranked <= 1
    X = np.load(digits / "X.npy")
    kept, held = hold_out(len(X), 179, 0)
    hasher = ITQ(24, n_iterations=2, random_state=0).fit(X[kept])
    assert evaluate(hasher, X[kept], X[held], candidates=50)["recall@10, 50 candidates re-ranked"] == pytest.approx(
        re_ranked, abs=1e-5
    )
    assert "not both" in run(digits / "X.npy", "--bits", 8, "--n-symbols", 8).output
    assert "ITQ has no parameter 'speed'" in run(digits / "X.npy", "--method", "itq", "--set", "speed=9").output


def test_a_saved_hasher_is_evaluated_on_queries_of_their_own(digits, tmp_path):
    X = np.load(digits / "X.npy")
    ITQ(32, random_state=0).fit(X[:1500]).save(tmp_path / "itq.safetensors")
    np.save(tmp_path / "base.npy", X[:1500])
    np.save(tmp_path / "queries.npy", X[1500:])
    files = (tmp_path / "base.npy", "--queries", tmp_path / "queries.npy", "--hasher", tmp_path / "itq.safetensors")
    found = json.loads(run(*files, "--json").output)
    expected = evaluate(ITQ(32, random_state=0).fit(X[:1500]), X[:1500], X[1500:])
    assert {name: found[name] for name in expected} == pytest.approx(expected, abs=1e-5)
    assert "the 10 nearest (euclidean)" in run(*files).output


def test_every_metric_is_perfect_where_codes_are():
    X = np.eye(4, dtype=np.float32).repeat(5, axis=0) + np.float32(0.5)
    hasher = ITQ(64, random_state=0).fit(X)
    found = evaluate(hasher, X, X[::5], labels=(np.arange(20) // 5, np.arange(4)), k=5)
    for name, value in found.items():
        assert value == (0 if name.startswith("queries") else 1), name


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("digit",), "did you mean digits"),
        (("digits", "--method", "SRHS"), "did you mean SRSH"),
        (("digits", "-k", 5000), "between 1 and the"),
        (("digits", "--n-queries", 1797), "hold out 1 to 1796"),
        (("nowhere.npy",), "there is no file nowhere.npy"),
    ],
)
def test_a_mistake_is_one_line_and_exit_code_2(args, message):
    result = run(*args)
    assert result.exit_code == 2
    assert message in result.output
    assert "Traceback" not in result.output


def test_labels_of_another_length_are_refused(digits, tmp_path):
    np.save(tmp_path / "y.npy", np.zeros(3))
    assert "holds 3 labels, but there are 1797 vectors" in run(digits / "X.npy", "--labels", tmp_path / "y.npy").output
    np.save(tmp_path / "o.npy", np.array([{}], dtype=object), allow_pickle=True)
    assert "Python objects" in run(digits / "X.npy", "--labels", tmp_path / "o.npy").output
