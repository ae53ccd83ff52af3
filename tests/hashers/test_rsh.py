"""RSH: the hasher contract, what it learns, its parameters and its streams."""

import distributed
import joblib
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.utils.estimator_checks import parametrize_with_checks

import oracles
from rankhash import RSH, WTA, load_hasher
from rankhash.errors import InvalidInputError
from rankhash.hashers._pairwise import start as rsh_start
from rankhash.hashers.training import PairPool

from .inputs import X
from .learners import LearnerContract, average_precision_of_neighbors

SMALL = {"max_pairs": 400, "n_neighbors": 8, "random_state": 0}
VARIANTS = [
    RSH(9, **SMALL),
    RSH(5, 3, mode="batch", center=False, **SMALL),
    RSH(33, 16, similar_share=0.3, **SMALL),
]


class TestContract(LearnerContract):
    @pytest.fixture(params=VARIANTS, ids=["online", "batch", "arity 16"])
    def hasher(self, request):
        return clone(request.param)


@parametrize_with_checks([RSH(8, n_neighbors=3, max_pairs=200), RSH(4, 3, n_neighbors=3, max_pairs=200, mode="batch")])
def test_scikit_learn_accepts_it(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def digits():
    return load_digits(return_X_y=True)


@pytest.mark.parametrize("mode", ["online", "batch"])
def test_codes_find_neighbours_far_better_than_those_of_wta(digits, mode):
    vectors, _ = digits
    rsh = average_precision_of_neighbors(RSH(16, mode=mode, random_state=0), vectors)
    wta = average_precision_of_neighbors(WTA(16, random_state=0), vectors)
    assert rsh > wta + 0.2


def test_learning_improves_on_the_random_start(digits):
    vectors, _ = digits
    for n_symbols in (8, 48):
        start = average_precision_of_neighbors(RSH(n_symbols, learning_rate=0.0, random_state=0), vectors)
        assert average_precision_of_neighbors(RSH(n_symbols, random_state=0), vectors) > start


def test_class_labels_are_learned(digits):
    vectors, y = digits
    learned = RSH(16, random_state=0).fit(vectors[:1000], y[:1000]).score(vectors[1000:], y[1000:])
    unlabelled = RSH(16, random_state=0).fit(vectors[:1000]).score(vectors[1000:], y[1000:])
    assert learned > unlabelled + 0.02


@pytest.mark.parametrize(("backend", "n_jobs"), [("threading", 2), ("threading", -1), ("loky", 2)])
def test_the_number_of_jobs_does_not_matter(backend, n_jobs):
    one = clone(VARIANTS[0]).fit(X)
    with joblib.parallel_config(backend=backend):
        many = clone(VARIANTS[0]).set_params(n_jobs=n_jobs).fit(X)
    assert many.fingerprint == one.fingerprint


def test_a_dask_cluster_learns_the_functions():
    def finished(dask_scheduler):
        return [name for name, tasks in dask_scheduler.task_prefixes.items() if tasks.state_counts["memory"]]

    alone = clone(VARIANTS[0]).fit(X)
    cluster = {"n_workers": 2, "threads_per_worker": 1, "processes": False, "dashboard_address": ":0"}
    with distributed.Client(**cluster) as client, joblib.parallel_config(backend="dask"):
        spread = clone(VARIANTS[0]).fit(X)
        assert any("learn_one" in name for name in client.run_on_scheduler(finished))
    assert spread.fingerprint == alone.fingerprint


def by_function(hasher, name):
    """The entries of a history, one array per function."""
    functions, values = (np.array(hasher.history_[key]) for key in ("function", name))
    return [values[functions == function] for function in range(hasher.n_symbols)]


def test_a_function_stops_when_its_symbols_no_longer_change(digits):
    vectors, _ = digits
    patient = RSH(4, tol=0, random_state=0).fit(vectors)
    hasty = RSH(4, tol=0.05, random_state=0).fit(vectors)
    assert patient.n_iter_ == 40_000
    assert hasty.n_iter_ < 40_000
    for changed in by_function(hasty, "changed"):
        assert changed[-1] < 0.05
        assert (changed[:-1] >= 0.05).all()


def test_the_bound_falls(digits):
    vectors, _ = digits
    for bound in by_function(RSH(8, tol=0, random_state=0).fit(vectors), "bound"):
        assert bound[-1] < bound[0]


def test_the_start_is_larger_for_longer_codes_and_fewer_dimensions():
    scales = [rsh_start.neighbor_scale(20, n) for n in (1, 8, 16, 32, 64, 128, 4096)]
    assert scales == sorted(scales)
    assert rsh_start.neighbor_scale(10, 32) > rsh_start.neighbor_scale(30, 32)


@pytest.mark.parametrize("dimension", [1, 3, 20])
def test_the_effective_dimension_is_that_of_isotropic_points(dimension):
    x = np.zeros((3000, 24), np.float32)
    x[:, :dimension] = np.random.default_rng(0).normal(size=(3000, dimension))
    assert rsh_start.effective_dimension(x) == pytest.approx(dimension, rel=0.1)


def test_the_start_is_small_for_pairs_that_do_not_follow_the_distance():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(500, 16)).astype(np.float32) / 4
    pairs = rng.integers(0, 500, (4000, 2)).astype(np.int32)
    close = pairs[np.argsort(((x[pairs[:, 0]] - x[pairs[:, 1]]) ** 2).sum(axis=1))]
    labels = (np.arange(4000) < 400).astype(np.uint8)
    by_distance = PairPool(x, np.zeros(16, np.float32), 1.0, close, labels)
    by_chance = PairPool(x, np.zeros(16, np.float32), 1.0, pairs, labels)
    assert rsh_start.separation(by_distance) > 0.99
    assert rsh_start.separation(by_chance) == pytest.approx(0.5, abs=0.05)
    assert rsh_start.start_scale(by_chance, 64) == pytest.approx(0.6)
    assert rsh_start.start_scale(by_distance, 64) > 1.5


def test_a_stream_of_batches_is_learned(digits):
    vectors, _ = digits
    first, last = [], []
    for seed in range(12):
        hasher = RSH(12, random_state=seed, n_neighbors=15, verbose=False).partial_fit(vectors[:300])
        first.append(hasher.score(vectors[1400:]))
        for start in (300, 600, 900, 1200):
            hasher.partial_fit(vectors[start : start + 300])
        last.append(hasher.score(vectors[1400:]))
        assert hasher.stream_.tolist() == [5, 5 * 300 * 40]
    assert np.mean(last) > np.mean(first) + 0.005


def test_a_batch_keeps_the_frame_of_the_first_one(digits):
    vectors, _ = digits
    hasher = RSH(**SMALL).partial_fit(vectors[:300])
    first = hasher.fingerprint
    center, scale = hasher.center_.copy(), hasher.scale_.copy()
    hasher.partial_fit(vectors[300:600] * 2 + 1)
    np.testing.assert_array_equal(hasher.center_, center)
    np.testing.assert_array_equal(hasher.scale_, scale)
    assert hasher.fingerprint != first


def test_a_loaded_hasher_learns_on(digits, tmp_path):
    vectors, _ = digits
    hasher = RSH(**SMALL).partial_fit(vectors[:300])
    hasher.save(tmp_path / "hasher")
    loaded = load_hasher(tmp_path / "hasher")
    assert loaded.partial_fit(vectors[300:600]).fingerprint == hasher.partial_fit(vectors[300:600]).fingerprint


def test_batches_of_another_shape_are_refused(digits):
    vectors, _ = digits
    hasher = RSH(**SMALL).partial_fit(vectors[:300])
    with pytest.raises(InvalidInputError, match="has 3 features, but RSH is expecting 64"):
        hasher.partial_fit(vectors[:, :3])
    with pytest.raises(InvalidInputError, match="cannot change between batches"):
        hasher.set_params(arity=3).partial_fit(vectors)


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ({"arity": 17}, "arity must be an integer from 2 to 16, got 17"),
        ({"rho": -1}, "rho must be a number from 0 to 1e.06, got -1"),
        ({"lam": np.nan}, "lam must be a number from 0"),
        ({"learning_rate": "fast"}, "learning_rate must be a number from 0"),
        ({"init_scale": 0}, "init_scale must be a number between 0 and"),
        ({"similar_share": 1}, "similar_share must be a number between 0 and 1, got 1"),
        ({"tol": 2}, "tol must be a number from 0 to 1, got 2"),
        ({"max_pairs": 0}, "max_pairs must be an integer from 1"),
        ({"n_neighbors": 0}, "n_neighbors must be an integer from 1"),
        ({"max_points": 1}, "max_points must be an integer from 3"),
        ({"mode": "fast"}, "mode must be 'online' or 'batch', got 'fast'"),
        ({"center": 1}, "center must be True or False, got 1"),
        ({"verbose": "yes"}, "verbose must be True, False or an integer from 0, got 'yes'"),
        ({"verbose": -1}, "verbose must be True, False or an integer from 0, got -1"),
        ({"callback": 1}, "callback must be a function or None, got 1"),
    ],
)
def test_impossible_parameters_are_refused(parameters, sentence):
    with pytest.raises(InvalidInputError, match=sentence):
        RSH(**parameters).fit(X)


def test_the_score_is_the_area_under_the_curve():
    hasher = clone(VARIANTS[0]).fit(X)
    y = np.arange(len(X)) % 3
    first, second = np.triu_indices(len(X), 1)
    symbols = hasher.transform(X)
    distances = (symbols[first] != symbols[second]).sum(axis=1)
    expected = oracles.average_precision(distances, y[first] == y[second])
    assert hasher.score(X, y) == pytest.approx(expected)
