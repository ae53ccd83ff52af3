"""WTA: the hasher contract, its theory, and its parameters."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from oracles import order_agreement, window_scores, winners
from rankhash.errors import FileFormatError, InvalidInputError
from rankhash.hashers import WTA, load_hasher

from .contract import HasherContract
from .inputs import X

VARIANTS = [
    WTA(random_state=0),
    WTA(65, 2, random_state=0),
    WTA(7, 5, degree=2, random_state=0),
    WTA(9, 16, random_state=0),
]


class TestContract(HasherContract):
    @pytest.fixture(params=VARIANTS, ids=str)
    def hasher(self, request):
        return clone(request.param)


@parametrize_with_checks([WTA(8), WTA(8, 3, degree=2)])
def test_scikit_learn_accepts_it(estimator, check):
    check(estimator)


@pytest.mark.parametrize("degree", [1, 2, 4])
@pytest.mark.parametrize("arity", [2, 3, 4, 7, 8, 13, 16])
def test_symbols_are_those_of_the_slow_twin(arity, degree):
    rows = np.random.default_rng(arity).uniform(0.1, 1, (40, 20)).astype(np.float32)
    hasher = WTA(33, arity, degree=degree, random_state=0).fit(rows)
    scores = window_scores(rows, hasher.windows_)
    expected, lead = winners(scores)
    clear = lead > (0 if degree == 1 else 1e-6)
    np.testing.assert_array_equal(hasher.transform(rows)[clear], expected[clear])
    assert clear.mean() > 0.95
    tables = scores.max(axis=2, keepdims=True) - scores
    np.testing.assert_allclose(hasher.score_tables(rows), tables, rtol=1e-6)


def test_the_first_of_equal_dimensions_wins():
    rows = np.random.default_rng(0).integers(0, 3, (50, 10)).astype(np.float32)
    hasher = WTA(64, 4, random_state=0).fit(rows)
    np.testing.assert_array_equal(hasher.transform(rows), window_scores(rows, hasher.windows_).argmax(axis=2))
    assert not hasher.encode(np.zeros_like(rows)).any()


@pytest.mark.parametrize("seed", range(5))
def test_pairs_agree_with_the_probability_of_the_order(seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=30)
    pair = np.stack([x, x + rng.normal(size=30) * (0.2 + seed)])
    agreed = [
        np.equal(*WTA(4096, 2, random_state=10 * seed + part).fit(pair).transform(pair)).mean() for part in range(4)
    ]
    expected = order_agreement(*pair)
    deviation = np.sqrt(expected * (1 - expected) / (4 * 4096))
    assert abs(np.mean(agreed) - expected) < 4.5 * deviation


@pytest.mark.parametrize(
    "transformation",
    [lambda x: 2 * x, lambda x: x / 1024, lambda x: x + 7, np.sqrt, lambda x: x**3, np.expm1],
)
def test_only_the_order_of_the_dimensions_matters(transformation):
    hasher = WTA(64, 4, random_state=0).fit(X)
    np.testing.assert_array_equal(hasher.encode(transformation(X)), hasher.encode(X))


def test_windows_hold_different_dimensions():
    windows = WTA(200, 8, degree=3, random_state=0).fit(X).windows_
    assert windows.shape == (200, 8, 3)
    assert windows.dtype == np.int32
    for window in windows:
        assert all(len(set(factor)) == 8 for factor in window.T)
    assert set(windows.flat) == set(range(X.shape[1]))
    assert (windows[:, :, 0] != windows[:, :, 1]).any()


@pytest.mark.parametrize("degree", [1, 2])
@pytest.mark.parametrize("d", [2, 3, 5])
def test_windows_wider_than_the_vectors_repeat_dimensions_that_never_win(d, degree):
    rows = np.random.default_rng(0).uniform(size=(300, d))
    hasher = WTA(50, 8, degree=degree, random_state=0).fit(rows)
    assert all(len(set(window[:d])) == d for window in hasher.windows_[:, :, 0])
    np.testing.assert_array_equal(hasher.windows_, hasher.windows_[:, np.arange(8) % d])
    assert set(hasher.transform(rows).flat) == set(range(d))


def test_one_dimension_cannot_be_compared():
    with pytest.raises(InvalidInputError, match="needs at least 2 of them, got n_features=1"):
        WTA().fit(X[:, :1])


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ({"arity": 1}, "arity must be an integer from 2 to 16, got 1"),
        ({"arity": 17}, "arity must be an integer from 2 to 16, got 17"),
        ({"degree": 0}, "degree must be an integer from 1 to 16, got 0"),
        ({"degree": 17}, "degree must be an integer from 1 to 16, got 17"),
        ({"degree": True}, "degree must be an integer from 1 to 16, got True"),
        ({"degree": 1.0}, "degree must be an integer from 1 to 16, got 1.0"),
    ],
)
def test_impossible_parameters_are_refused(parameters, sentence):
    with pytest.raises(InvalidInputError, match=sentence):
        WTA(**parameters).fit(X)


def test_labels_and_similarity_are_ignored():
    plain = WTA(random_state=0).fit(X)
    assert WTA(random_state=0).fit(X, np.arange(len(X)), similarity=object()).fingerprint == plain.fingerprint


@pytest.mark.parametrize("dimension", [-1, 12, 2**31 - 1])
def test_a_file_whose_windows_leave_the_vectors_is_refused(dimension, tmp_path):
    hasher = WTA(8, random_state=0).fit(X)
    windows = hasher.windows_.copy()
    windows[3, 1, 0] = dimension
    hasher._adopt({"windows_": windows}, hasher.layout_, hasher.n_features_in_, None)
    hasher.save(tmp_path / "hasher")
    with pytest.raises(FileFormatError, match="does not describe a usable WTA: its arrays do not fit together"):
        load_hasher(tmp_path / "hasher")
