"""PStableLSH: the hasher contract, its theory, and its parameters."""

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from oracles import slices
from rankhash.errors import FileFormatError, InvalidInputError
from rankhash.hashers import PStableLSH, load_hasher

from .contract import HasherContract
from .inputs import X

VARIANTS = [
    PStableLSH(random_state=0, n_symbols=9),
    PStableLSH(65, 2, random_state=0),
    PStableLSH(7, 5, width=0.3, random_state=0),
    PStableLSH(5, 16, random_state=0),
]


class TestContract(HasherContract):
    @pytest.fixture(params=VARIANTS, ids=str)
    def hasher(self, request):
        return clone(request.param)


@parametrize_with_checks([PStableLSH(8)])
def test_scikit_learn_accepts_it(estimator, check):
    check(estimator)


@pytest.mark.parametrize("hasher", VARIANTS, ids=str)
@pytest.mark.parametrize("d", [1, 2, 8, 65])
def test_symbols_and_tables_are_those_of_the_slow_twin(hasher, d):
    rows = np.random.default_rng(d).normal(size=(40, d)).astype(np.float32)
    hasher = clone(hasher).fit(rows)
    symbols, tables = slices(rows, hasher.projections_, hasher.bias_, hasher.width_[0], hasher.arity)
    np.testing.assert_array_equal(hasher.transform(rows), symbols)
    np.testing.assert_allclose(hasher.score_tables(rows), tables, atol=1e-5)


def test_a_vector_on_a_border_is_in_the_upper_slice_only():
    hasher = PStableLSH(2, 4, random_state=0).fit([[0.0], [1.0]])
    arrays = {"projections_": np.ones((2, 1)), "bias_": np.array([0.0, 1.0]), "width_": np.array([2.0])}
    hasher._adopt({k: v.astype(np.float32) for k, v in arrays.items()}, hasher.layout_, 1, None)
    rows = [[2.0], [-2.0], [0.0], [8.0], [7.0]]
    assert hasher.transform(rows).tolist() == [[1, 1], [3, 3], [0, 0], [0, 0], [3, 0]]
    np.testing.assert_array_equal(hasher.score_tables(rows).argmin(axis=2), hasher.transform(rows))


def one_slice(c, r):
    """The probability that two vectors at the distance c lie in one slice of width r, as Datar et al. give it."""
    return 1 - 2 * norm.cdf(-r / c) - np.sqrt(2 / np.pi) * c / r * (1 - np.exp(-(r**2) / (2 * c**2)))


@pytest.mark.parametrize("distance", [0.1, 0.5, 1.0, 3.0])
def test_pairs_agree_with_the_probability_of_their_distance(distance):
    pair = np.zeros((2, 10))
    pair[1] = distance / np.sqrt(10)
    hasher = PStableLSH(4096, 16, random_state=0).fit(np.random.default_rng(0).normal(size=(500, 10)))
    agreed = np.equal(*hasher.transform(pair)).mean()
    expected = one_slice(distance, float(hasher.width_[0]))  # 16 slices away is beyond 9 standard deviations
    assert abs(agreed - expected) < 4.5 * np.sqrt(expected * (1 - expected) / 4096)


def test_the_width_follows_the_spread_of_the_vectors():
    center = X.mean(axis=0, dtype=np.float64)
    spread = np.sqrt(((X - center) ** 2).sum(axis=1).mean())
    for arity, width in ((2, 3.0), (3, 2.0), (4, 1.5), (16, 1.5)):
        assert PStableLSH(4, arity).fit(X).width_[0] == pytest.approx(width * spread, rel=1e-6)
    hasher = PStableLSH(32, width=0.5, random_state=0).fit(X)
    assert hasher.width_[0] == pytest.approx(0.5 * spread, rel=1e-6)
    assert ((hasher.bias_ >= 0) & (hasher.bias_ <= hasher.width_)).all()
    larger = PStableLSH(32, width=0.5, random_state=0).fit(X * 1024)
    np.testing.assert_array_equal(larger.encode(X * 1024), hasher.encode(X))


def test_equal_vectors_get_slices_of_their_own_unit():
    assert PStableLSH(8, random_state=0).fit(np.ones((5, 3))).width_[0] == 1.5


@pytest.mark.parametrize("width", [0, -1, np.nan, "wide", True])
def test_impossible_widths_are_refused(width):
    with pytest.raises(InvalidInputError, match="width must be a number from 1e-06 to"):
        PStableLSH(width=width).fit(X)


@pytest.mark.parametrize("width", [0.0, -1.0, np.inf])
def test_a_file_without_a_usable_width_is_refused(width, tmp_path):
    hasher = PStableLSH(8, random_state=0).fit(X)
    arrays = {"projections_": hasher.projections_, "bias_": hasher.bias_, "width_": np.float32([width])}
    hasher._adopt(arrays, hasher.layout_, hasher.n_features_in_, None)
    hasher.save(tmp_path / "hasher")
    with pytest.raises(FileFormatError, match="does not describe a usable PStableLSH: its arrays do not fit together"):
        load_hasher(tmp_path / "hasher")
