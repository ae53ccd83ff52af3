"""Splits are those of the paper; methods come from the library; results add up."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.metrics import mutual_info_score

from rankhash import LSH, InvalidInputError
from rankhash._ranking import average_precision
from rankhash.datasets import Dataset, load_dataset
from rankhash.evaluation import Counts, Protocol, split
from rankhash.evaluation._perturbation import noisy, redundancy
from rankhash.evaluation.measure import measure, summary, symbol_distances
from rankhash.evaluation.methods import ARITIES, METHODS, SCANNED, choose_methods
from rankhash.evaluation.run import Experiment, _trials, run_task
from rankhash.evaluation.store import Store
from rankhash.evaluation.summaries import METRICS, Point, at_length, curves, pooled_precision
from rankhash.hashers import HASHERS


@pytest.fixture(scope="module")
def digits():
    return load_dataset("digits")


def test_split_is_the_papers(digits):
    data = split(digits, Protocol(), 3)
    assert data.train.shape == (1000, 40)
    assert data.queries.shape == (797, 40)
    assert data.database is not None
    np.testing.assert_array_equal(data.database, data.train)
    rows = np.random.default_rng(3).permutation(1797)
    np.testing.assert_array_equal(data.database_rows, rows[:1000])
    unit = digits.vectors[rows].astype(float) - digits.vectors.mean(axis=0, dtype=float)
    unit /= np.linalg.norm(unit, axis=1, keepdims=True)
    far = cdist(unit[:1000], unit[:1000])
    radius = np.sort(far, axis=1)[:, 49].mean()
    np.testing.assert_array_equal(data.similarity, far < radius)
    near = cdist(unit[1000:1100], unit[:1000]) < radius
    np.testing.assert_array_equal(data.truth.block(slice(0, 100), slice(0, 1000)), near)
    lengths = np.linalg.norm(data.train, axis=1)
    assert lengths.max() <= 1 + 1e-5
    assert lengths.mean() > 0.9


def test_splits_differ_by_seed_and_are_repeatable(digits):
    a, b, c = (split(digits, Protocol(), seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(a.train, b.train)
    assert (a.query_rows != c.query_rows).any()


def test_a_split_does_not_depend_on_the_signs_that_a_processor_gives_its_axes(digits, monkeypatch):
    real, expected = np.linalg.svd, split(digits, Protocol(), 1)

    def mirrored(points, **options):
        left, spread, axes = real(points, **options)
        signs = np.where(np.arange(len(axes)) % 2, -1.0, 1.0)
        return left * signs[: left.shape[1]], spread, axes * signs[:, None]

    monkeypatch.setattr(np.linalg, "svd", mirrored)
    found = split(digits, Protocol(), 1)
    np.testing.assert_array_equal(found.train, expected.train)
    np.testing.assert_array_equal(found.queries, expected.queries)


def test_strict_split_has_three_different_parts(digits):
    data = split(digits, Protocol(500, 300, 700), 0)
    assert (len(data.train), len(data.database), len(data.queries)) == (500, 700, 300)
    assert not set(data.database_rows) & set(data.query_rows)
    assert data.similarity.shape == (500, 500)


def test_raw_split_has_the_sets_own_vectors_and_the_same_truth(digits):
    reduced = split(digits, Protocol(n_train=100, n_queries=20, n_database=50), 3)
    raw = reduced.raw(digits)
    for part, rows in ((raw.train, raw.train_rows), (raw.database, raw.database_rows), (raw.queries, raw.query_rows)):
        assert part.dtype == np.float32
        assert (part == digits.vectors[rows]).all()
    assert len(np.unique(np.concatenate([raw.train_rows, raw.database_rows, raw.query_rows]))) == 170
    assert raw.truth is reduced.truth


def test_methods_on_raw_vectors_see_raw_vectors(digits):
    rows = {}
    for name in ("WTA", "WTA raw", "WTA p=4", "WTA raw p=4"):
        experiment = Experiment(digits, tuple(choose_methods([name])), (8,), ("symbols",), (0,), Protocol(200, 50))
        rows[name] = run_task(experiment, experiment.tasks()[0])
    assert rows["WTA"]["found"] != rows["WTA raw"]["found"]
    assert rows["WTA raw"]["parameters"] == rows["WTA"]["parameters"]
    assert rows["WTA raw p=4"]["parameters"] == rows["WTA p=4"]["parameters"]
    assert rows["WTA raw p=4"]["ap"] > rows["WTA p=4"]["ap"] + 0.05  # products of signed numbers do not rank


def test_truth_by_classes_needs_classes(digits):
    data = split(digits, Protocol(truth="classes"), 0)
    labels = digits.labels
    whole = labels[data.query_rows][:, None] == labels[data.database_rows]
    np.testing.assert_array_equal(data.truth.block(slice(0, 797), slice(0, 1000)), whole)
    with pytest.raises(InvalidInputError, match="has no classes"):
        split(Dataset("plain", digits.vectors), Protocol(truth="classes"), 0)


def test_wrong_settings_are_refused(digits):
    for wrong in ({"truth": "labels"}, {"n_train": 1}, {"n_neighbors": 0}):
        with pytest.raises(InvalidInputError):
            Protocol(**wrong)
    with pytest.raises(InvalidInputError, match="at least one method"):
        Experiment(digits, ())


def test_every_hasher_of_the_library_is_compared():
    assert set(HASHERS) - SCANNED == {method.hasher for method in choose_methods()}
    assert set(HASHERS) <= {method.hasher for method in METHODS.values()}
    for method in METHODS.values():
        layout = method.layout("bits", 48)
        assert 48 - layout.bits_per_symbol < layout.bits <= 48
        hasher = method.make(layout, 7)
        assert hasher.n_symbols == layout.n_symbols
        assert hasher.get_params().get("random_state", 7) == 7


def test_codes_that_stand_on_both_axes_are_made_once(digits):
    both = Experiment(digits, tuple(choose_methods(["ITQ", "SRSH"])), lengths=(8, 16), seeds=(1,))
    assert sorted((task.method, task.layout.n_symbols) for task in both.tasks()) == [
        ("ITQ", 8),
        ("ITQ", 16),
        ("SRSH", 4),
        ("SRSH", 8),
        ("SRSH", 16),
    ]


def test_a_code_stands_at_the_bits_that_it_fills():
    row = {"n_symbols": 5, "bits": 15, "seed": 0, "method": "X", "ap": 1.0}
    assert at_length(row, "bits", (8, 16)) == 16
    assert at_length(row | {"bits": 10}, "bits", (8, 16)) is None
    assert at_length(row, "symbols", (5, 8)) == 5
    tuned = row | {"tuned_for": "bits", "length": 16}
    assert at_length(tuned, "bits", (8, 16)) == 16
    assert at_length(tuned, "symbols", (5, 16)) is None
    assert [*curves([tuned], "bits", (16,), "ap")] == ["X (tuned)"]


def test_leads_are_paired_by_seed():
    ours, theirs = Point({1: 0.5, 2: 0.7, 3: 0.9}), Point({1: 0.4, 2: 0.6, 3: 0.8, 4: 0.0})
    lead, error = ours.lead(theirs)
    assert lead == pytest.approx(0.1)
    assert error == pytest.approx(0, abs=1e-9)
    assert ours.std == pytest.approx(0.2)


def test_a_run_that_finds_nothing_counts_0_and_is_reported():
    runs = [
        {"method": "LSH", "n_symbols": 8, "bits": 8, "seed": seed, "found": [0, 0, found, 5], "hits": [0, 0, hits, 2]}
        for seed, (found, hits) in enumerate([(0, 0), (4, 3), (1, 1)])
    ]
    pooled = curves(runs, "bits", [8], "pooled2")["LSH"][8]
    assert pooled.by_seed == {0: 0.0, 1: 0.75, 2: 1.0}
    assert curves(runs, "bits", [8], "none2")["LSH"][8].mean == pytest.approx(1 / 3)
    assert curves(runs, "bits", [8], "none3")["LSH"][8].mean == 0


def test_summary_of_a_run_is_made_of_the_metrics(rng):
    distances, relevant = rng.integers(0, 9, (30, 200)), rng.random((30, 200)) < 0.1
    counts = Counts.of(distances, relevant)
    row = summary(counts)
    assert row["ap"] == pytest.approx(counts.average_precision(), abs=1e-5)
    assert row["precision_at"]["50"] == pytest.approx(counts.precision_at(50).mean(), abs=1e-5)
    assert row["ball"]["2"]["zero"] == pytest.approx(counts.ball_precision(2).mean(), abs=1e-5)
    inside = distances <= 2
    assert pooled_precision(row, 2) == pytest.approx(relevant[inside].mean())
    assert counts.pooled_ball_precision(2) == pooled_precision(row, 2)
    assert sum(row["found"]) == 30 * 200
    assert sum(row["hits"]) == relevant.sum()


def test_a_split_has_axes_whose_largest_entry_is_positive(digits):
    data = split(digits, Protocol(500, 100, n_components=10), 0)
    unit = digits.vectors - digits.mean()
    unit = unit / np.linalg.norm(unit, axis=1, keepdims=True)
    axes = np.linalg.lstsq(unit[data.train_rows], data.train, rcond=None)[0].T
    largest = axes[np.arange(10), np.abs(axes).argmax(axis=1)]
    assert (largest > 0).all()


def test_redundancy_is_the_mutual_information_of_pairs_of_symbols(rng):
    symbols = rng.integers(0, 3, (400, 4)).astype(np.uint8)
    symbols[:, 1] = symbols[:, 0]
    symbols[:200, 2] = symbols[:200, 3]
    shared = [mutual_info_score(a, b) for a, b in itertools.combinations(symbols.T, 2)]
    entropies = [mutual_info_score(a, a) for a in symbols.T]
    assert redundancy(symbols, 3) == pytest.approx(np.mean(shared) / np.mean(entropies))
    assert redundancy(symbols[:, :1], 3) == 0
    assert redundancy(np.zeros((5, 3), np.uint8), 3) == 0


def test_noise_is_measured_by_the_truth_of_the_queries_without_it(digits):
    data = split(digits, Protocol(500, 100), 0)
    hasher = LSH(16, random_state=0).fit(data.train)
    row = measure(hasher, data)
    moved = noisy(data.queries)
    lengths = np.linalg.norm(moved - data.queries, axis=1) / np.linalg.norm(data.queries, axis=1)
    assert lengths.mean() == pytest.approx(0.3, abs=0.03)
    assert row["noise"]["changed"] == pytest.approx((hasher.transform(moved) != hasher.transform(data.queries)).mean())
    distances = symbol_distances(hasher.transform(moved), hasher.transform(data.database))
    relevant = data.truth.block(slice(0, 100), slice(0, 500))
    assert row["noise"]["ap"] == pytest.approx(average_precision(distances, relevant), abs=1e-5)
    assert METRICS["kept"].value(row) == pytest.approx(row["noise"]["ap"] / row["ap"])
    assert METRICS["kept"].value({"ap": 0.5}) is None


def test_tuned_runs_have_the_best_parameters_by_cross_validation_at_each_length(digits):
    method = METHODS["SRSH"]
    experiment = Experiment(digits, (method,), (4, 6), ("symbols", "bits"), (3,), Protocol(150, 50), tuned=True)
    tasks = experiment.missing(Store(Path("unused")))
    assert [len(group) for group in experiment.groups(tasks)] == [4]
    trials = _trials(digits, experiment.protocol, 3, "SRSH", (("symbols", 4), ("symbols", 6), ("bits", 4), ("bits", 6)))
    for task in tasks:
        row = run_task(experiment, task)
        possible = [
            trial
            for trial in trials
            for layout in (method.layout(task.axis, task.length, arity) for arity in ARITIES)
            if (trial.parameters["n_symbols"], trial.parameters["arity"]) == (layout.n_symbols, layout.arity)
        ]
        assert len(possible) == 27, "three values each of the arity, rho and lam"
        best = max(possible, key=lambda trial: trial.mean).parameters
        assert (row["n_symbols"], row["arity"]) == (best["n_symbols"], best["arity"])
        assert (row["parameters"]["rho"], row["parameters"]["lam"]) == (best["rho"], best["lam"])


def test_methods_without_a_grid_are_not_searched(digits, monkeypatch):
    monkeypatch.setattr("rankhash.evaluation.run.tune", None)
    experiment = Experiment(digits, (METHODS["WTA"],), (4,), ("bits",), (3,), Protocol(150, 50), tuned=True)
    row = run_task(experiment, experiment.tasks()[0])
    assert (row["tuned_for"], row["arity"], row["n_symbols"]) == ("bits", METHODS["WTA"].arity, 2)
