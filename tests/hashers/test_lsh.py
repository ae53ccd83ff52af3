"""LSH: the hasher contract, its theory, and its parameters."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from oracles import linear_scores, winners
from rankhash.errors import FileFormatError, InvalidInputError
from rankhash.hashers import LSH, load_hasher

from .contract import HasherContract
from .inputs import X

VARIANTS = [
    LSH(random_state=0),
    LSH(65, orthogonal=True, random_state=0),
    LSH(7, center=True, random_state=0),
]


class TestContract(HasherContract):
    @pytest.fixture(params=VARIANTS, ids=str)
    def hasher(self, request):
        return clone(request.param)


@parametrize_with_checks([LSH(8), LSH(8, orthogonal=True, center=True)])
def test_scikit_learn_accepts_it(estimator, check):
    check(estimator)


@pytest.mark.parametrize("hasher", VARIANTS, ids=str)
@pytest.mark.parametrize("d", [1, 2, 7, 8, 9, 63, 64, 65, 130])
def test_symbols_are_those_of_the_slow_twin(hasher, d):
    rows = np.random.default_rng(d).normal(size=(70, d)).astype(np.float32)
    hasher = clone(hasher).fit(rows)
    scores = linear_scores(rows, hasher.projections_, None, hasher.center_, hasher.layout_.n_symbols, 2)
    expected, lead = winners(scores)
    clear = lead > 1e-5
    np.testing.assert_array_equal(hasher.transform(rows)[clear], expected[clear])
    assert clear.mean() > 0.99
    tables = scores.max(axis=2, keepdims=True) - scores
    np.testing.assert_allclose(hasher.score_tables(rows), tables, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("orthogonal", [False, True])
@pytest.mark.parametrize("degrees", [5, 30, 60, 90, 135, 175])
def test_bits_agree_with_the_probability_of_the_angle(degrees, orthogonal):
    angle, d = np.radians(degrees), 16
    pair = np.zeros((2, d))
    pair[:, :2] = [[1, 0], [np.cos(angle), np.sin(angle)]]
    agreed = []
    for seed in range(4):
        bits = LSH(4096, orthogonal=orthogonal, random_state=seed).fit(pair).transform(pair)
        agreed.append((bits[0] == bits[1]).mean())
    expected = 1 - degrees / 180
    deviation = np.sqrt(expected * (1 - expected) / (4 * 4096))
    assert abs(np.mean(agreed) - expected) < 4.5 * deviation


def test_orthogonal_hyperplanes_estimate_the_angle_with_less_variance():
    pair = np.random.default_rng(0).normal(size=(2, 32))

    def variance(orthogonal):
        hashers = (LSH(32, orthogonal=orthogonal, random_state=seed).fit(pair) for seed in range(400))
        return np.var([np.not_equal(*hasher.transform(pair)).mean() for hasher in hashers])

    assert variance(True) < 0.9 * variance(False)


def test_the_length_of_a_vector_does_not_matter():
    hasher = LSH(256, random_state=0).fit(X)
    for factor in (2.0**-20, 0.5, 2.0**30):
        np.testing.assert_array_equal(hasher.encode(X * np.float32(factor)), hasher.encode(X))


def test_centring_sees_vectors_from_their_mean():
    hasher = LSH(64, center=True, random_state=0).fit(X)
    np.testing.assert_allclose(hasher.center_, X.mean(axis=0), rtol=1e-6)
    around_zero = LSH(64, random_state=0).fit(X - hasher.center_)
    np.testing.assert_array_equal(hasher.encode(X), around_zero.encode(X - hasher.center_))
    assert hasher.fingerprint != LSH(64, random_state=0).fit(X).fingerprint


def test_a_vector_at_the_origin_gets_zeros():
    hasher = LSH(16, random_state=0).fit(X)
    assert not hasher.encode(np.zeros_like(X)).any()
    assert not hasher.score_tables(np.zeros_like(X)).any()


@pytest.mark.parametrize(("n_symbols", "d"), [(5, 8), (8, 8), (9, 8), (20, 8), (3, 1)])
def test_orthogonal_hyperplanes_come_in_orthogonal_blocks(n_symbols, d):
    normals = LSH(n_symbols, orthogonal=True, random_state=0).fit(np.ones((1, d))).projections_
    assert normals.shape == (n_symbols, d)
    for start in range(0, n_symbols, d):
        block = normals[start : start + d].astype(np.float64)
        np.testing.assert_allclose(block @ block.T, np.eye(len(block)), atol=1e-6)


def test_normals_have_unit_length():
    normals = LSH(100, random_state=0).fit(X).projections_
    np.testing.assert_allclose(np.linalg.norm(normals, axis=1), 1, rtol=1e-6)


def test_labels_and_similarity_are_ignored():
    plain = LSH(random_state=0).fit(X)
    assert LSH(random_state=0).fit(X, np.arange(len(X)), similarity=object()).fingerprint == plain.fingerprint


@pytest.mark.parametrize("parameter", ["orthogonal", "center"])
def test_flags_must_be_flags(parameter):
    with pytest.raises(InvalidInputError, match=f"{parameter} must be True or False, got 1"):
        LSH(**{parameter: 1}).fit(X)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_file_with_hyperplanes_that_are_not_finite_is_refused(value, tmp_path):
    hasher = LSH(8, random_state=0).fit(X)
    normals = hasher.projections_.copy()
    normals[3, 1] = value
    hasher._adopt({"projections_": normals}, hasher.layout_, hasher.n_features_in_, None)
    hasher.save(tmp_path / "hasher")
    with pytest.raises(FileFormatError, match="does not describe a usable LSH: its arrays do not fit together"):
        load_hasher(tmp_path / "hasher")


def test_an_array_for_a_hasher_that_knows_names_of_columns_is_warned_of():
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(20, 3)), columns=["a", "b", "c"])
    hasher = LSH(8, random_state=0).fit(frame)
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        codes = hasher.encode(frame.to_numpy())
    np.testing.assert_array_equal(codes, hasher.encode(frame))
