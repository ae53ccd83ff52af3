"""JSDBoosting: the hasher contract, divergences against counting, and the choice against trying every candidate."""

import numpy as np
import pytest
from scipy.spatial.distance import jensenshannon
from sklearn.datasets import load_digits
from sklearn.metrics import mutual_info_score
from sklearn.utils.estimator_checks import parametrize_with_checks

from rankhash import LSH, JSDBoosting
from rankhash._ranking import average_precision
from rankhash.errors import InvalidInputError
from rankhash.hashers.jsd_boosting import Divergence

from .inputs import X
from .pairs import NeighborContract

SMALL = {"n_pairs": 300, "n_candidates": 20, "n_neighbors": 8, "random_state": 0}


class TestContract(NeighborContract):
    history_names = frozenset({"step", "divergence"})

    @pytest.fixture
    def hasher(self):
        return JSDBoosting(9, **SMALL)


@parametrize_with_checks([JSDBoosting(4, n_pairs=50, n_candidates=5, n_neighbors=4)])
def test_scikit_learn_accepts_it(estimator, check):
    check(estimator)


def draw(n=60, d=5, n_pairs=400):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n, d)).astype(np.float32)
    pairs = np.stack([rng.permutation(n)[:2] for _ in range(n_pairs)]).astype(np.int32)
    similar = np.abs(x[pairs[:, 0], 0] - x[pairs[:, 1], 0]) < 0.8
    return Divergence(x, pairs, similar), rng


def divergence_of(distances, similar):
    counts = [np.bincount(distances[chosen], minlength=distances.max() + 1) for chosen in (similar, ~similar)]
    shares = [count / count.sum() for count in counts]
    return jensenshannon(*shares, base=2) ** 2


def test_divergences_are_those_of_the_definition_in_every_round():
    choice, rng = draw()
    for _ in range(5):
        differ = rng.random((7, 400)) < 0.4
        expected = [divergence_of(choice.distances + bit, choice._similar) for bit in differ]
        np.testing.assert_allclose(choice.divergences(differ), expected, atol=1e-6)
        choice.choose(10, rng)


def test_the_divergence_is_the_information_about_the_label_at_equal_numbers():
    choice, rng = draw()
    kept = np.concatenate([np.flatnonzero(choice._similar == kind)[:80] for kind in (True, False)])
    equal = Divergence(choice._x, choice._pairs[kept], choice._similar[kept])
    equal.choose(10, rng)
    information = mutual_info_score(equal.distances, equal._similar) / np.log(2)
    assert equal.values[-1] == pytest.approx(information, abs=1e-6)


def test_the_best_candidate_is_chosen():
    choice, _ = draw()
    for seed in range(4):
        before = choice.distances.copy()
        normal, bias = choice.choose(30, np.random.default_rng(seed))
        bits = choice._x @ normal + bias > 0
        differ = bits[choice._pairs[:, 0]] != bits[choice._pairs[:, 1]]
        np.testing.assert_array_equal(choice.distances, before + differ)
        assert choice.values[-1] == pytest.approx(divergence_of(choice.distances, choice._similar), abs=1e-6)


def test_more_candidates_give_a_better_first_bit():
    values = []
    for n_candidates in (1, 10, 100):
        choice, _ = draw()
        choice.choose(n_candidates, np.random.default_rng(0))
        values.append(choice.values[0])
    assert values[0] < values[-1]


def test_bits_are_those_of_the_hyperplanes():
    hasher = JSDBoosting(9, **SMALL).fit(X)
    scores = (X - hasher.center_) @ hasher.projections_.T + hasher.bias_
    clear = np.abs(scores) > 1e-4
    np.testing.assert_array_equal(hasher.transform(X)[clear], (scores > 0)[clear])
    assert clear.mean() > 0.95


def test_learning_separates_pairs_and_finds_classes():
    digits, y = load_digits(return_X_y=True)
    train, queries, relevant = digits[:900], digits[900:1200], y[900:1200, None] == y[:900]
    hasher = JSDBoosting(16, n_pairs=5000, n_candidates=100, random_state=0).fit(train, y[:900])
    values = hasher.history_["divergence"]
    assert values[-1] > 2 * values[0]
    scores = []
    for found in (hasher, LSH(16, center=True, random_state=0).fit(train)):
        differ = (found.transform(queries)[:, None] != found.transform(train)).sum(axis=2)
        scores.append(average_precision(differ, relevant))
    assert scores[0] > scores[1] + 0.1


@pytest.mark.parametrize(("parameter", "value"), [("n_pairs", 1), ("n_candidates", 0), ("max_points", 2)])
def test_a_wrong_parameter_gets_one_sentence(parameter, value):
    with pytest.raises(InvalidInputError, match=f"{parameter} must be an integer from .*, got {value}"):
        JSDBoosting(**{parameter: value}).fit(X)
