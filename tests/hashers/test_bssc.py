"""BSSC: the hasher contract, its choices against trying every threshold, and its weights against AdaBoost's."""

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.utils.estimator_checks import parametrize_with_checks

from rankhash import BSSC, FlatIndex, _files, load_hasher
from rankhash._ranking import average_precision
from rankhash.errors import FileFormatError, InvalidInputError
from rankhash.hashers.bssc import ThresholdBoosting, vote

from .inputs import X
from .pairs import NeighborContract

SMALL = {"n_pairs": 300, "n_neighbors": 8, "random_state": 0}


class TestContract(NeighborContract):
    @pytest.fixture
    def hasher(self):
        return BSSC(9, **SMALL)

    def test_duplicates_are_no_problem(self, hasher):
        assert np.isfinite(hasher.fit(np.repeat(X, 3, axis=0)).thresholds_).all()

    def test_too_many_neighbours_are_reduced_with_a_warning(self, hasher):
        with pytest.warns(UserWarning, match="n_neighbors=60 is too many among 67 vectors; 33 are used"):
            hasher.set_params(n_neighbors=60).fit(X)

    def test_an_outlier_leaves_no_nan(self, hasher):
        rows = X.copy()
        rows[3] = 1e30
        assert np.isfinite(hasher.fit(rows, np.arange(len(X)) % 4).thresholds_).all()


@parametrize_with_checks([BSSC(4, n_pairs=50, n_neighbors=4)])
def test_scikit_learn_accepts_it(estimator, check):
    check(estimator)


def draw(n=50, d=4, n_pairs=120, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 12, size=(n, d)).astype(np.float32)
    pairs = np.stack([rng.permutation(n)[:2] for _ in range(n_pairs)]).astype(np.int32)
    similar = np.abs(x[pairs[:, 0], 0] - x[pairs[:, 1], 0]) < 4
    return ThresholdBoosting(x, pairs, similar, 0.5, 20), x, pairs, similar


def error_of(x, pairs, similar, weights, dimension, threshold):
    above = x[:, dimension] > threshold
    together = above[pairs[:, 0]] == above[pairs[:, 1]]
    return weights[together != similar].sum()


def test_errors_are_those_of_the_definition_in_every_round():
    boosting, x, pairs, similar = draw()
    for _ in range(4):
        errors = boosting.errors()
        for dimension, edges in enumerate(boosting.thresholds):
            expected = [error_of(x, pairs, similar, boosting.pair_weights, dimension, edge) for edge in edges]
            np.testing.assert_allclose(errors[dimension], expected, atol=1e-12)
        boosting.choose()


def test_the_best_threshold_is_chosen_and_then_is_as_good_as_guessing():
    boosting, x, pairs, similar = draw()
    for _ in range(5):
        weights, least = boosting.pair_weights, boosting.errors()[boosting.candidates].min()
        dimension, level, error = boosting.choose()
        assert error >= least - 1e-12
        threshold = boosting.thresholds[dimension, level]
        np.testing.assert_allclose(error_of(x, pairs, similar, weights, dimension, threshold), error, atol=1e-12)
        again = error_of(x, pairs, similar, boosting.pair_weights, dimension, threshold)
        np.testing.assert_allclose(again, 0.5, atol=1e-9)


def test_no_threshold_is_taken_twice_while_there_are_others():
    boosting, _, _, _ = draw(d=2)
    n = int(boosting.candidates.sum())
    chosen = [boosting.choose()[:2] for _ in range(2 * n)]
    assert len(set(chosen[:n])) == len(set(chosen[n:])) == n


def test_weights_are_those_of_adaboost():
    hasher = BSSC(9, **SMALL).fit(X)
    np.testing.assert_allclose(hasher.weights_, np.log((1 - hasher.errors_) / hasher.errors_) / 2, rtol=1e-4)
    assert (vote(np.array([0.0, 0.5, 0.9])) > 0).all()
    assert np.isfinite(vote(np.array([0.0, 0.5, 1.0]))).all()


def test_bits_are_those_of_the_thresholds():
    hasher = BSSC(9, **SMALL).fit(X)
    np.testing.assert_array_equal(hasher.transform(X), X[:, hasher.dimensions_] > hasher.thresholds_)


def test_weighted_distances_find_classes_better_than_unweighted_ones():
    digits, y = load_digits(return_X_y=True)
    hasher = BSSC(48, n_pairs=5000, random_state=0).fit(digits[:1000], y[:1000])
    database, queries = hasher.transform(digits[:1000]), hasher.transform(digits[1000:1200])
    differ = queries[:, None] != database
    relevant = y[1000:1200, None] == y[:1000]
    plain = average_precision(differ.sum(axis=2), relevant)
    weighted = average_precision(differ @ hasher.weights_.astype(np.float64), relevant)
    assert weighted > plain > relevant.mean() + 0.1


def test_weights_go_to_the_search():
    hasher = BSSC(9, **SMALL).fit(X)
    index = FlatIndex(hasher.layout_)
    index.add(hasher.encode(X))
    found = index.search(hasher.encode(X[:5]), k=3, weights=hasher.weights_)
    symbols = hasher.transform(X)
    expected = np.sort((symbols[:5, None] != symbols) @ hasher.weights_.astype(np.float64), axis=1)[:, :3]
    np.testing.assert_allclose(found.distances, expected, rtol=1e-5, atol=1e-6)


def test_a_file_with_impossible_arrays_is_refused(tmp_path):
    path = tmp_path / "hasher"
    BSSC(9, **SMALL).fit(X).save(path)
    header, tensors = _files.read_file(path, "hasher")
    for name, value in [("weights_", 0), ("dimensions_", 12), ("dimensions_", -1), ("thresholds_", np.nan)]:
        changed = np.full_like(tensors[name], value)
        _files.write_file(path, tensors | {name: changed}, header, "hasher")
        with pytest.raises(FileFormatError, match="does not describe a usable BSSC"):
            load_hasher(path)


@pytest.mark.parametrize(
    ("parameter", "value"),
    [("n_pairs", 1), ("n_thresholds", 256), ("n_neighbors", 0), ("max_points", 2)],
)
def test_a_wrong_parameter_gets_one_sentence(parameter, value):
    with pytest.raises(InvalidInputError, match=f"{parameter} must be an integer from .*, got {value}"):
        BSSC(**{parameter: value}).fit(X)
    with pytest.raises(InvalidInputError, match="similar_share must be a number between"):
        BSSC(similar_share=1.0).fit(X)
