"""How far searches go: settings between measured ones, the reach for unlike queries, and the length of codes."""

from __future__ import annotations

import numpy as np
import pytest

from rankhash import VectorIndex, _kernels
from rankhash.vector_index import _trial
from rankhash.vector_index._calibration import Calibration, Reach, Setting
from rankhash.vector_index._coder import CODE_ERROR, enough_bytes
from rankhash.vector_index._held_out import LONELY, HeldOut

from . import brute


def setting(effort, recall, n_candidates=50, k=10):
    return Setting(k, effort, 4, n_candidates, recall, 10 * effort)


def test_efforts_between_measured_ones_are_chosen():
    calibration = Calibration((setting(2.0, 0.9), setting(8.0, 0.99)), Reach())
    chosen = calibration.choose(10, 0.95)
    assert chosen.recall == pytest.approx(0.96)
    share = np.log(0.1 / 0.04) / np.log(0.1 / 0.01)
    assert chosen.effort == pytest.approx(2 * 4**share)
    assert calibration.choose(10, 0.999).effort == 8.0
    assert calibration.choose(10, 0.1).effort == 2.0


def test_the_cheapest_setting_is_chosen_over_one_between_others():
    cheap = Setting(10, 1.0, 4, 20, 0.97, 1.0)
    calibration = Calibration((setting(2.0, 0.9), setting(8.0, 0.99), cheap), Reach())
    assert calibration.choose(10, 0.95) == cheap


def test_a_calibration_survives_its_state():
    calibration = Calibration((setting(2.0, 0.9), setting(8.0, 0.99, k=100)), Reach(1.5, 2.5, 3))
    assert Calibration.restore(calibration.state()) == calibration


def test_a_calibration_of_a_file_from_before_has_one_slack_for_all_settings():
    calibration = Calibration((setting(2.0, 0.9), setting(8.0, 0.99)), Reach())
    state = calibration.state()[:, :6]
    state[0, 5] = 1.3
    assert [s.slack for s in Calibration.restore(state).settings] == [1.3, 1.3]


def test_inner_products_with_queries_of_another_kind_reach_the_recall(rng, monkeypatch):
    monkeypatch.setattr("rankhash.vector_index._engine.FEW_PASSING", 0)
    axes = rng.normal(size=(24, 24)) * np.logspace(0, -1.5, 24)
    X = (rng.normal(size=(8000, 24)) @ axes * rng.lognormal(0, 0.5, (8000, 1))).astype(np.float32)
    index = VectorIndex("dot", n_cells=64, bytes_per_vector=6, verbose=False).fit(X)
    index.add(X)
    Q = rng.normal(size=(200, 24)).astype(np.float32)
    assert brute.recall(index.search(Q).ids, Q, X, "dot") >= 0.94


def test_unlike_queries_go_farther_and_stored_ones_do_not():
    X = brute.clustered(5, 4000)
    index = VectorIndex("euclidean", n_cells=32, bytes_per_vector=4, verbose=False).fit(X)
    index.add(X)
    reach = index._engine.calibration.reach
    unlikeness = index._engine.cells.coder.unlikeness(X)
    assert reach.growth > 0
    assert 0.8 < (unlikeness < reach.usual).mean() < 0.97
    assert (unlikeness > reach.far).mean() < 0.03


@pytest.mark.parametrize("d", [64, 128, 192])
def test_codes_have_the_rate_of_normal_residuals(rng, d):
    residuals = rng.normal(size=(8000, d)).astype(np.float32)
    assert enough_bytes(residuals) == 8 * round(d * np.log2(1 / CODE_ERROR) / 2 / 64)


def test_codes_have_16_to_64_bytes(rng):
    assert enough_bytes(rng.normal(size=(500, 2)).astype(np.float32)) == 16
    assert enough_bytes(np.zeros((50, 3), np.float32)) == 16
    assert enough_bytes(rng.normal(size=(2000, 900)).astype(np.float32)) == 64
    few_directions = rng.normal(size=(2000, 400)) * 0.5 ** np.arange(400)
    assert enough_bytes(few_directions.astype(np.float32)) == 16


def test_copies_do_not_make_other_queries_look_easy(rng, monkeypatch):
    monkeypatch.setattr("rankhash.vector_index._engine.FEW_PASSING", 0)
    X = np.repeat(rng.normal(size=(500, 16)).astype(np.float32), 10, axis=0)
    index = VectorIndex("euclidean", n_cells=32, bytes_per_vector=5, verbose=False).fit(X)
    index.add(X)
    Q = rng.normal(size=(200, 16)).astype(np.float32)
    assert brute.recall(index.search(Q).ids, Q, X, "euclidean") >= 0.94


def test_queries_for_which_no_growth_is_enough_are_compared_with_all_vectors(rng, tmp_path, monkeypatch):
    monkeypatch.setattr("rankhash.vector_index._engine.FEW_PASSING", 0)
    centres = 10 * rng.normal(size=(300, 16))
    X = (centres[rng.integers(0, 300, 6000)] + 0.01 * rng.normal(size=(6000, 16))).astype(np.float32)
    index = VectorIndex("euclidean", n_cells=32, bytes_per_vector=8, verbose=False).fit(X)
    index.add(X)
    assert min(index._engine.calibration.reach.beyond) > 0
    between = ((X[:100] + X[100:200]) / 2).astype(np.float32)
    assert brute.recall(index.search(between).ids, between, X, "euclidean") == 1
    index.save(tmp_path / "index")
    same = VectorIndex.load(tmp_path / "index", mmap=True).search(between)
    np.testing.assert_array_equal(same.ids, index.search(between).ids)


def test_near_copies_do_not_make_other_queries_look_easy(rng):
    base = rng.normal(size=(6000, 40)).astype(np.float32)
    stored, queries = base[:5800], base[5800:]
    X = np.repeat(stored, 20, axis=0) + 0.5 * rng.normal(size=(116_000, 40)).astype(np.float32)
    index = VectorIndex("euclidean", verbose=False)
    index.add(X)
    assert brute.recall(index.search(queries).ids, queries, X, "euclidean") >= 0.94


def test_many_candidates_are_also_tried_with_a_slack(rng):
    X = rng.normal(size=(8000, 64)).astype(np.float32)
    index = VectorIndex("euclidean", n_cells=32, bytes_per_vector=4, verbose=False).fit(X)
    index.add(X)
    most = 10 * _trial.MOST_CANDIDATES[10]
    many = [s for s in index._engine.calibration.settings if s.k == 10 and s.n_candidates > most]
    assert many
    assert {s.slack for s in many} >= {float("inf"), *_trial.SLACKS[:2]}
    chosen = index._engine.calibration.choose(10, 0.99)
    assert chosen.cost < min(s.cost for s in many if s.slack == float("inf") and s.recall >= chosen.recall)


@pytest.mark.parametrize("n_means", [2, 8])
def test_means_of_vectors_reach_the_recall(n_means):
    rng = np.random.default_rng(1)
    centers = 1.5 * rng.normal(size=(40, 24))
    X = (centers[rng.integers(0, 40, 20_000)] + rng.normal(size=(20_000, 24))).astype(np.float32)
    index = VectorIndex("euclidean", n_cells=128, bytes_per_vector=8, verbose=False).fit(X)
    index.add(X)
    assert index._engine.calibration.reach.more > 1
    Q = X[rng.integers(0, len(X), (200, n_means))].mean(axis=1)
    assert brute.recall(index.search(Q).ids, Q, X, "euclidean") >= 0.93


def test_a_query_whose_candidates_run_out_gets_more():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 24)).astype(np.float32)
    index = VectorIndex("euclidean", n_cells=16, bytes_per_vector=4, verbose=False).fit(X)
    index.add(X)
    engine, Q = index._engine, np.ascontiguousarray(X[:100] / 20)
    points, view, rows = engine.cells.coder.points(Q), engine.cells.view(), engine.rows.view()

    def found(slack, n_candidates=20):
        how = _kernels.CellSearch(10, 16.0, 0, n_candidates, 1.0, 1.0, 0, slack)
        ids, _, stats = _kernels.search_cells(view, rows, None, None, points, Q, how, 1)
        return brute.recall(ids, Q, X, "euclidean"), stats.candidates / len(Q)

    few, more, all_of_them = found(float("inf")), found(1.5), found(float("inf"), 20 * 16)
    assert few[1] < 40
    assert more[1] > 80
    assert few[0] + 0.1 < more[0] <= all_of_them[0] + 0.01


def test_effort_for_queries_between_vectors_survives_its_state():
    calibration = Calibration((setting(2.0, 0.9),), Reach(1.5, 2.5, 3, more=4.0))
    assert Calibration.restore(calibration.state()) == calibration
    assert calibration.reach.search(setting(2.0, 0.9)).effort == 8.0
    before = calibration.state()
    before[0, 5] = 0.0
    assert Calibration.restore(before).reach.more == 1.0


def test_a_hundred_copies_of_each_vector_are_noticed():
    rng = np.random.default_rng(0)
    X = np.repeat(4 * rng.normal(size=(80, 24)), 130, axis=0) + 0.3 * rng.normal(size=(80 * 130, 24))
    index = VectorIndex("euclidean", n_cells=32, bytes_per_vector=8, verbose=False).fit(X)
    index.add(X)
    engine = index._engine
    held = HeldOut.of(engine.cells, engine.rows, np.arange(len(X)), None, engine._prepared, 0)
    assert (held.families == LONELY).any()
