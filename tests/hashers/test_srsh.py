"""SRSH: the hasher contract, boosting, and its parameters."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.utils.estimator_checks import parametrize_with_checks

from rankhash import RSH, SRSH, FlatIndex
from rankhash.errors import InvalidInputError
from rankhash.hashers import srsh
from rankhash.hashers._pairwise.rank_function import Trace

from .inputs import X
from .learners import LearnerContract, average_precision_of_neighbors

SMALL = {"max_pairs": 400, "n_neighbors": 8, "random_state": 0}
VARIANTS = [SRSH(9, **SMALL), SRSH(4, 3, update="bound", center=False, **SMALL)]


class TestContract(LearnerContract):
    @pytest.fixture(params=VARIANTS, ids=["hinge", "bound"])
    def hasher(self, request):
        return clone(request.param)


@parametrize_with_checks([SRSH(8, n_neighbors=3, max_pairs=200)])
def test_scikit_learn_accepts_it(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def digits():
    return load_digits(return_X_y=True)


@pytest.mark.parametrize("n_symbols", [8, 24])
def test_codes_find_neighbours_better_than_those_of_rsh(digits, n_symbols):
    vectors, _ = digits
    rsh = average_precision_of_neighbors(RSH(n_symbols, random_state=0), vectors)
    for update, lead in (("hinge", 0.03), ("bound", 0.01)):
        mine = average_precision_of_neighbors(SRSH(n_symbols, update=update, random_state=0), vectors)
        assert mine > rsh + lead


def test_class_labels_are_learned_far_better_than_by_rsh(digits):
    vectors, y = digits
    scores = [
        method(16, random_state=0).fit(vectors[:1000], y[:1000]).score(vectors[1000:], y[1000:])
        for method in (RSH, SRSH)
    ]
    assert scores[1] > scores[0] + 0.1


def test_weights_are_the_log_odds_of_the_errors(digits):
    vectors, _ = digits
    hasher = SRSH(8, random_state=0).fit(vectors)
    assert (hasher.weights_ > 0).all()
    np.testing.assert_allclose(hasher.weights_, np.log((1 - hasher.errors_) / hasher.errors_), rtol=1e-4)


def test_an_index_takes_the_weights(digits):
    vectors, _ = digits
    hasher = SRSH(16, max_pairs=4000, random_state=0).fit(vectors)
    index = FlatIndex(hasher.layout_)
    index.add(hasher.encode(vectors))
    found = index.search(hasher.encode(vectors[:5]), 3, weights=hasher.weights_)
    symbols = hasher.transform(vectors)
    differ = symbols[:5, None] != symbols[found.ids]
    np.testing.assert_allclose(found.distances, differ @ hasher.weights_, rtol=1e-5)


def member(wrong, error):
    return srsh.Member(np.zeros((2, 8), np.float32), Trace(), np.array(wrong), error)


def test_wrong_pairs_weigh_more_within_their_kind():
    boosting = srsh.Boosting(np.array([1, 1, 0, 0], np.uint8))
    boosting.balance(0.5)
    np.testing.assert_allclose(boosting._alpha, 0.25)
    wrong = np.array([True, False, True, False])
    assert boosting.error(wrong) == pytest.approx(0.5)
    boosting.raise_wrong(wrong, np.log(3))
    boosting.balance(0.2)
    np.testing.assert_allclose(boosting._alpha, [0.15, 0.05, 0.6, 0.2])


def test_pairs_are_drawn_in_proportion_to_their_weight():
    boosting = srsh.Boosting(np.array([1] * 3 + [0] * 5, np.uint8))
    boosting.balance(0.3)
    boosting.raise_wrong(np.arange(8) == 0, np.log(9))
    drawn = np.bincount(boosting.draw(np.random.default_rng(0), 10_000), minlength=8) / 10_000
    np.testing.assert_allclose(drawn, boosting._alpha / boosting._alpha.sum(), atol=1e-3)


@pytest.mark.parametrize(("error", "weight"), [(0.5, 1e-3), (0.9, 1e-3), (1.0, 1e-3), (0.25, np.log(3))])
def test_a_weight_is_never_negative(error, weight):
    assert member([True], error).weight == pytest.approx(weight)


@pytest.mark.parametrize("error", [0.0, 1e-300, 1.0])
def test_an_extreme_error_gives_a_finite_weight(error):
    assert 0 < member([False], error).weight < 20


@pytest.mark.parametrize(
    ("errors", "chosen", "learned"), [([0.3], 0.3, 1), ([0.6, 0.4], 0.4, 2), ([0.7, 0.6, 0.8, 0.1], 0.6, 3)]
)
def test_a_function_no_better_than_guessing_is_drawn_again(monkeypatch, errors, chosen, learned):
    draws = iter([member([True], error) for error in errors])
    made = []

    def draw(*_):
        made.append(next(draws))
        return made[-1]

    hasher = SRSH()
    monkeypatch.setattr(hasher, "_draw_member", draw)
    assert hasher._better_than_guessing(None, None, None).error == chosen
    assert len(made) == learned


def test_labels_without_meaning_leave_small_positive_weights():
    rng = np.random.default_rng(0)
    hasher = SRSH(12, max_pairs=2000, random_state=0).fit(rng.normal(size=(300, 6)), rng.integers(0, 2, 300))
    assert np.isfinite(hasher.projections_).all()
    assert ((hasher.weights_ > 0) & (hasher.weights_ < 1)).all()


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ({"update": "best"}, "update must be 'hinge' or 'bound' or 'paper'"),
        ({"rho": -1}, "rho must be a number from 0"),
        ({"lam": None}, "lam must be a number from 0"),
        ({"learning_rate": np.inf}, "learning_rate must be a number from 0"),
        ({"init_scale": 0}, "init_scale must be a number between 0 and"),
        ({"boost": -0.1}, "boost must be a number from 0 to 1, got -0.1"),
        ({"similar_share": 0}, "similar_share must be a number between 0 and 1, got 0"),
    ],
)
def test_impossible_parameters_are_refused(parameters, sentence):
    with pytest.raises(InvalidInputError, match=sentence):
        SRSH(**parameters).fit(X)
