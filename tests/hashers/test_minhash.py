"""MinHash: the hasher contract, and how often symbols agree against theory."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from rankhash import MinHash
from rankhash.errors import InvalidInputError

from .contract import HasherContract
from .inputs import X

VARIANTS = [MinHash(9, 4, threshold=15, random_state=0), MinHash(65, 3, threshold=20, random_state=0)]


class TestContract(HasherContract):
    @pytest.fixture(params=VARIANTS, ids=str)
    def hasher(self, request):
        return clone(request.param)


@parametrize_with_checks([MinHash(8)])
def test_scikit_learn_accepts_it(estimator, check):
    check(estimator)


def sets_with(shared, first, second, d=60):
    """Two sets with as many members in common and of their own."""
    rows = np.zeros((2, d))
    rows[:, :shared] = 1
    rows[0, shared : shared + first] = 1
    rows[1, shared + first : shared + first + second] = 1
    return rows


@pytest.mark.parametrize("arity", [2, 3, 4, 16])
@pytest.mark.parametrize(("shared", "first", "second"), [(10, 10, 10), (1, 30, 2), (20, 0, 5), (0, 7, 9), (13, 0, 0)])
def test_symbols_agree_as_often_as_theory_says(arity, shared, first, second):
    rows = sets_with(shared, first, second)
    bits = MinHash(4096, arity, random_state=arity).fit(rows).transform(rows)
    jaccard = shared / (shared + first + second)
    expected = 1 / arity + (1 - 1 / arity) * jaccard
    error = np.sqrt(expected * (1 - expected) / 4096)
    assert abs((bits[0] == bits[1]).mean() - expected) <= 4 * error


def test_the_estimate_of_the_similarity_is_that_of_the_sets():
    rng = np.random.default_rng(0)
    rows = rng.random((40, 200)) < rng.uniform(0.05, 0.6, size=(40, 1))
    symbols = MinHash(4096, 8, random_state=0).fit(rows).transform(rows)
    differing = (symbols[:, None] != symbols).mean(axis=2)
    both = (rows[:, None] & rows).sum(axis=2)
    jaccard = both / (rows[:, None] | rows).sum(axis=2)
    estimate = 1 - differing * 8 / 7
    assert np.abs(estimate - jaccard).max() < 0.06
    assert abs((estimate - jaccard).mean()) < 0.005


def test_a_symbol_is_the_label_of_the_sets_first_member():
    rows = np.random.default_rng(0).random((30, 17)) < 0.2
    hasher = MinHash(20, 5, random_state=0).fit(rows)
    symbols = hasher.transform(rows)
    for row, found in zip(rows, symbols, strict=True):
        for symbol, order, labels in zip(found, hasher.orders_, hasher.labels_, strict=True):
            places = [place for place, dimension in enumerate(order) if row[dimension]]
            assert symbol == labels[places[0] if places else 17]


def test_empty_sets_agree_with_each_other_and_hardly_with_others():
    rows = np.zeros((3, 30))
    rows[2, 5] = 1
    symbols = MinHash(4096, 4, random_state=0).fit(rows).transform(rows)
    assert (symbols[0] == symbols[1]).all()
    assert abs((symbols[0] == symbols[2]).mean() - 0.25) < 0.03


@given(st.floats(0.1, 1e30))
def test_only_membership_counts(value):
    rows = np.random.default_rng(0).random((9, 12)) < 0.4
    hasher = MinHash(33, 4, random_state=0).fit(rows)
    np.testing.assert_array_equal(hasher.encode(rows * value), hasher.encode(rows))


@pytest.mark.parametrize(("parameter", "value"), [("arity", 17), ("arity", 1), ("threshold", np.nan)])
def test_a_wrong_parameter_gets_one_sentence(parameter, value):
    with pytest.raises(InvalidInputError, match=f"{parameter} must be a.* from .*, got {value}"):
        MinHash(**{parameter: value}).fit(X)
