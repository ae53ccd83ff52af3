"""PermutationCodes: the hasher contract, and symbols against the nearest pivots by definition."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.utils.estimator_checks import parametrize_with_checks

from rankhash import LSH, PermutationCodes
from rankhash.errors import InvalidInputError

from .contract import HasherContract
from .inputs import X
from .learners import average_precision_of_neighbors

VARIANTS = [PermutationCodes(7, random_state=0), PermutationCodes(33, 3, random_state=0)]


class TestContract(HasherContract):
    @pytest.fixture(params=VARIANTS, ids=str)
    def hasher(self, request):
        return clone(request.param)


@parametrize_with_checks([PermutationCodes(8), PermutationCodes(8, 2)])
def test_scikit_learn_accepts_it(estimator, check):
    check(estimator)


def pivots_of(hasher):
    """The pivots, recovered from the arrays: |p - c|² = -2 · bias · size with size = |p - c| / |projection|."""
    lengths = np.square(hasher.projections_.astype(float)).sum(axis=1)
    sizes = -2 * hasher.bias_ / np.where(lengths > 0, lengths, 1)
    return hasher.center_ + hasher.projections_ * np.median(sizes[lengths > 0])


@pytest.mark.parametrize("arity", [2, 3, 16])
def test_symbols_name_the_nearest_pivot(arity):
    rows = 5 + np.random.default_rng(0).normal(size=(200, 9)).astype(np.float32)
    hasher = PermutationCodes(21, arity, random_state=0).fit(rows)
    pivots = pivots_of(hasher)
    assert cdist(pivots, rows).min(axis=1).max() < 1e-4
    squares = cdist(rows, pivots, "sqeuclidean").reshape(200, 21, arity)
    ahead = np.diff(np.sort(squares, axis=2)[:, :, :2], axis=2)[:, :, 0]
    clear = ahead > 1e-3
    np.testing.assert_array_equal(hasher.transform(rows)[clear], squares.argmin(axis=2)[clear])
    assert clear.mean() > 0.95


def test_pivots_of_a_symbol_differ_while_there_are_vectors():
    hasher = PermutationCodes(50, 16, random_state=0).fit(X)
    for pivots in hasher.projections_.reshape(50, 16, -1):
        assert len(np.unique(pivots, axis=0)) == 16


def test_repeated_pivots_never_win():
    hasher = PermutationCodes(50, 16, random_state=0).fit(X[:3])
    assert set(hasher.transform(X).flat) == {0, 1, 2}


@pytest.mark.parametrize("factor", [2.0**-50, 2.0**50])
def test_the_scale_of_the_vectors_does_not_matter(factor):
    plain, scaled = (PermutationCodes(9, random_state=0).fit(X * np.float32(f)) for f in (1, factor))
    np.testing.assert_array_equal(scaled.encode(X * np.float32(factor)), plain.encode(X))


def test_pivots_find_neighbours_better_than_random_hyperplanes():
    digits = load_digits().data[:1200]
    pivots = average_precision_of_neighbors(PermutationCodes(8, 16, random_state=0), digits)
    assert pivots > average_precision_of_neighbors(LSH(32, center=True, random_state=0), digits)


def test_constant_vectors_have_one_code():
    assert len(np.unique(PermutationCodes(random_state=0).fit_transform(np.ones((9, 4))))) == 1


def test_an_impossible_arity_is_refused():
    with pytest.raises(InvalidInputError, match="arity must be an integer from 2 to 16, got 17"):
        PermutationCodes(8, 17).fit(X)
