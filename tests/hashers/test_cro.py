"""CRO: the hasher contract, the fast transform against its matrix, and the probability that symbols agree."""

import numpy as np
import pytest
from scipy.linalg import hadamard
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from oracles import linear_scores, winners
from rankhash import CRO, _files, load_hasher
from rankhash.errors import FileFormatError, InvalidInputError

from .contract import HasherContract
from .inputs import X

VARIANTS = [CRO(9, 16, center=True, random_state=0), CRO(17, 5, fast=True, random_state=0)]


class TestContract(HasherContract):
    @pytest.fixture(params=VARIANTS, ids=["centred", "fast"])
    def hasher(self, request):
        return clone(request.param)


@parametrize_with_checks([CRO(8), CRO(8, 3, fast=True)])
def test_scikit_learn_accepts_it(estimator, check):
    check(estimator)


def explicit_directions(signs, n_features):
    """The rows of the matrices that sign flips and Hadamard transforms multiply with."""
    width = signs.shape[2]
    matrices = []
    for rotation in signs:
        matrix = np.eye(width)
        for turn in rotation:
            matrix = hadamard(width) / np.sqrt(width) @ np.diag(turn.astype(float)) @ matrix
        matrices.append(matrix[:, :n_features])
    return np.concatenate(matrices)


@pytest.mark.parametrize("center", [False, True])
@pytest.mark.parametrize("d", [1, 2, 7, 8, 9, 63, 64, 65])
@pytest.mark.parametrize("fast", [False, True])
def test_symbols_are_those_of_the_slow_twin(d, center, fast):
    rows = np.random.default_rng(d).normal(size=(70, d)).astype(np.float32)
    hasher = CRO(33, 4, fast=fast, center=center, random_state=0).fit(rows)
    directions = explicit_directions(hasher.signs_, d)[: 33 * 4] if fast else hasher.projections_
    scores = linear_scores(rows, directions, None, hasher.center_, 33, 4)
    expected, lead = winners(scores)
    clear = lead > 1e-5
    np.testing.assert_array_equal(hasher.transform(rows)[clear], expected[clear])
    assert d < 3 or clear.mean() > 0.95
    tables = scores.max(axis=2, keepdims=True) - scores
    np.testing.assert_allclose(hasher.score_tables(rows), tables, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("fast", [False, True])
@pytest.mark.parametrize(("arity", "degrees"), [(2, 40), (4, 20), (4, 60), (16, 60), (4, 120)])
def test_symbols_agree_with_the_probability_of_the_angle(arity, degrees, fast):
    angle, rng = np.radians(degrees), np.random.default_rng(degrees)
    first, second = rng.normal(size=(2, 100_000, arity))
    second = np.cos(angle) * first + np.sin(angle) * second
    expected = 1 - angle / np.pi if arity == 2 else (first.argmax(axis=1) == second.argmax(axis=1)).mean()
    basis = np.linalg.qr(rng.normal(size=(64, 2)))[0]
    pair = np.array([[1, 0], [np.cos(angle), np.sin(angle)]]) @ basis.T
    agreed = [np.equal(*CRO(4096, arity, fast=fast, random_state=s).fit(pair).transform(pair)).mean() for s in range(3)]
    assert abs(np.mean(agreed) - expected) < 0.02


def test_the_length_of_a_vector_does_not_matter():
    for hasher in (CRO(32, random_state=0), CRO(32, fast=True, random_state=0)):
        hasher.fit(X)
        for factor in (0.25, 2.0, 1024.0):
            np.testing.assert_array_equal(hasher.encode(factor * X), hasher.encode(X))


def test_labels_and_similarity_are_ignored():
    plain = CRO(random_state=0).fit(X)
    assert CRO(random_state=0).fit(X, np.arange(len(X)), similarity=object()).fingerprint == plain.fingerprint


def test_a_file_with_impossible_signs_is_refused(tmp_path):
    path = tmp_path / "hasher"
    hasher = CRO(9, fast=True, random_state=0).fit(X)
    hasher.save(path)
    header, tensors = _files.read_file(path, "hasher")
    for changed in ({"signs_": 2 * tensors["signs_"]}, {"projections_": np.ones((36, 12), np.float32)}):
        _files.write_file(path, tensors | changed, header, "hasher")
        with pytest.raises(FileFormatError, match="its arrays do not fit together"):
            load_hasher(path)


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ({"arity": 17}, "arity must be an integer from 2 to 16, got 17"),
        ({"fast": 1}, "fast must be True or False, got 1"),
        ({"center": None}, "center must be True or False, got None"),
    ],
)
def test_impossible_parameters_are_refused(parameters, sentence):
    with pytest.raises(InvalidInputError, match=sentence):
        CRO(**parameters).fit(X)
