"""ForgivingHash: the hasher contract, slopes against differences, assignments and choices against trying everything."""

import itertools

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.metrics import mutual_info_score
from sklearn.utils.estimator_checks import parametrize_with_checks

from rankhash import LSH, ForgivingHash
from rankhash._ranking import average_precision
from rankhash.errors import InvalidInputError
from rankhash.hashers import _targets
from rankhash.similarity import label_source

from .inputs import X
from .pairs import NeighborContract

SMALL = {"n_hidden": 4, "n_rounds": 2, "n_steps": 3, "n_neighbors": 8, "random_state": 0}


class TestContract(NeighborContract):
    history_names = frozenset({"step", "loss", "moved"})

    @pytest.fixture
    def hasher(self):
        return ForgivingHash(9, **SMALL)


@parametrize_with_checks([ForgivingHash(4, **SMALL | {"n_neighbors": 4, "random_state": None})])
def test_scikit_learn_accepts_it(estimator, check):
    check(estimator)


def test_groups_are_similar_to_one_of_their_points_and_do_not_overlap(rng):
    y = rng.integers(0, 30, 300)
    rows, groups = _targets.similar_groups(label_source(y, None, 300), rng)
    assert len(set(rows)) == len(rows)
    assert sorted(set(groups)) == list(range(groups.max() + 1))
    for group in range(groups.max() + 1):
        assert len(set(y[rows[groups == group]])) == 1
        assert (groups == group).sum() >= 2


def test_slopes_are_those_of_small_differences(rng):
    network = _targets.random_network(5, 3, rng)
    x, wanted = rng.normal(size=(7, 5)), rng.integers(0, 2, (7, 8)).astype(float)

    def loss():
        return network.code_loss(x, lambda values: _targets.cross_entropy(wanted, values))

    value, slopes = loss()
    predicted = _targets.outputs(network, x)
    expected = -np.log(np.where(wanted == 1, predicted, 1 - predicted)).mean()
    assert value == pytest.approx(expected)
    for array, slope in zip(network.parameters(decoder=False), slopes, strict=True):
        for place in itertools.product(*map(range, array.shape)):
            before = array[place]
            sides = []
            for step in (1e-5, -1e-5):
                array[place] = before + step
                sides.append(loss()[0])
            array[place] = before
            assert slope[place] == pytest.approx((sides[0] - sides[1]) / 2e-5, abs=1e-7)


def test_groups_get_the_nearest_codes_of_which_no_two_are_the_same(rng):
    codes = np.array(list(itertools.product([0.0, 1.0], repeat=2)))
    means = rng.random((3, 2))
    found = _targets.assigned(means, codes)
    best = min(itertools.permutations(range(4), 3), key=lambda chosen: np.abs(means - codes[list(chosen)]).sum())
    assert found.tolist() == list(best)
    assert _targets.all_codes().shape == (256, 8)
    assert len({tuple(code) for code in _targets.all_codes()}) == 256


def test_chosen_outputs_vary_and_do_not_repeat_each_other(rng):
    bits = (rng.random((400, 6)) < [0.5, 0.5, 0.02, 0.5, 0.3, 0.5]).astype(np.uint8)
    bits[:, 1], bits[:, 5] = bits[:, 0], 1 - bits[:, 3]
    chosen = _targets.varied_bits(bits, 3).tolist()
    assert {tuple(sorted(pair)) for pair in itertools.combinations(chosen, 2)}.isdisjoint({(0, 1), (3, 5)})
    assert 2 not in chosen
    bits = (rng.random((400, 6)) < [0.2, 0.3, 0.02, 0.4, 0.35, 0.1]).astype(np.uint8)
    bits[:200, 3] = bits[:200, 4]
    entropies = [mutual_info_score(bit, bit) for bit in bits.T]
    expected = [int(np.argmax(entropies))]
    while len(expected) < 6:
        shared = [np.mean([mutual_info_score(bit, bits[:, other]) for other in expected]) for bit in bits.T]
        values = [-np.inf if place in expected else entropies[place] - shared[place] for place in range(6)]
        expected.append(int(np.argmax(values)))
    assert _targets.varied_bits(bits, 6).tolist() == expected


def test_bits_are_the_outputs_of_the_networks():
    hasher = ForgivingHash(9, **SMALL).fit(X)
    hidden = 1 / (1 + np.exp(-((X - hasher.center_) @ hasher.first_.T + hasher.first_bias_)))
    scores = hidden @ hasher.projections_.T + hasher.bias_
    clear = np.abs(scores) > 1e-4
    np.testing.assert_array_equal(hasher.transform(X)[clear], (scores > 0)[clear])
    assert clear.mean() > 0.95


def test_groups_may_change_their_codes_and_classes_are_found():
    digits, y = load_digits(return_X_y=True)
    train, queries, relevant = digits[:900], digits[900:1200], y[900:1200, None] == y[:900]
    hasher = ForgivingHash(16, random_state=0).fit(train, y[:900])
    assert np.mean(hasher.history_["moved"]) > 0.01
    scores = []
    for found in (hasher, LSH(16, center=True, random_state=0).fit(train)):
        differ = (found.transform(queries)[:, None] != found.transform(train)).sum(axis=2)
        scores.append(average_precision(differ, relevant))
    assert scores[0] > scores[1] + 0.2


@pytest.mark.parametrize(("parameter", "value"), [("n_rounds", 0), ("n_hidden", 0), ("max_points", 2)])
def test_a_wrong_parameter_gets_one_sentence(parameter, value):
    with pytest.raises(InvalidInputError, match=f"{parameter} must be an integer from .*, got {value}"):
        ForgivingHash(**{parameter: value}).fit(X)
