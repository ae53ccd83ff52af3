"""DGH: the hasher contract, its steps against the matrices that are written out, and what its objective promises."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.utils.estimator_checks import parametrize_with_checks

from rankhash import AGH, DGH
from rankhash.errors import InvalidInputError
from rankhash.hashers import dgh
from rankhash.hashers._features.anchor_graph import graph_functions
from rankhash.vectors import batches

from .inputs import X
from .learners import average_precision_of_neighbors
from .pairs import KernelContract

SMALL = {"n_anchors": 25, "n_nearest": 2, "n_rounds": 2, "random_state": 0}
VARIANTS = [DGH(9, **SMALL), DGH(5, start="eigenvectors", rho=2.0, **SMALL)]


class TestContract(KernelContract):
    history_names = frozenset({"step", "objective"})

    @pytest.fixture(params=VARIANTS, ids=["rotated", "eigenvectors"])
    def hasher(self, request):
        return clone(request.param)


@parametrize_with_checks([DGH(2, n_anchors=9)])
def test_scikit_learn_accepts_it(estimator, check):
    check(estimator)


def joined_points(n=200, n_anchors=40):
    rng = np.random.default_rng(0)
    points = (rng.normal(size=(8, 6))[rng.integers(0, 8, n)] + 0.7 * rng.normal(size=(n, 6))).astype(np.float32)
    arrays, joined = DGH(8, n_anchors=n_anchors)._join(batches(points), np.random.RandomState(0))
    return joined, len(arrays["anchors_"])


@pytest.fixture(params=["one block", "several blocks"])
def bits(request, monkeypatch):
    if request.param == "several blocks":
        monkeypatch.setattr("rankhash.hashers._blocks.BLOCK_FLOATS", 24 * 37)
    joined, n_anchors = joined_points()
    functions = graph_functions(joined, n_anchors, 8)
    return dgh.DiscreteBits(joined, functions.astype(np.float32), 0.7)


def written_out(bits):
    """B, Y and A as whole matrices."""
    z = bits._joined.matrix(slice(None), bits._n_anchors).toarray()
    rows = slice(0, bits._n)
    return bits.bits(rows).astype(float), bits.targets(rows).astype(float), z / z.sum(axis=0) @ z.T


def test_steps_are_those_of_the_matrices_and_never_lower_the_objective(bits):
    rng, values = np.random.RandomState(0), []
    for _ in range(4):
        for _ in range(50):
            b, y, a = written_out(bits)
            values.append(np.trace(b.T @ a @ b) + 0.7 * np.trace(b.T @ y))
            assert bits.objective() == pytest.approx(values[-1] / 200, rel=1e-5)
            gradient = 2 * a @ b + 0.7 * y
            changed = bits._sign_step()
            clear = np.abs(gradient) > 1e-4
            np.testing.assert_array_equal(written_out(bits)[0][clear], np.sign(gradient)[clear])
            if not changed:
                break
        else:
            pytest.fail("sign steps do not end")
        bits.update_targets(rng)
    assert (np.diff(values) >= -1e-3).all()
    assert values[-1] > values[0] + 1


def test_targets_are_balanced_and_uncorrelated_and_agree_most_with_the_bits(bits):
    bits.update_targets(np.random.RandomState(0))
    b, y, _ = written_out(bits)
    np.testing.assert_allclose(y.sum(axis=0), 0, atol=1e-2)
    np.testing.assert_allclose(y.T @ y / 200, np.eye(8), atol=1e-4)
    centred = b - b.mean(axis=0)
    u, spread, v = np.linalg.svd(centred, full_matrices=False)
    np.testing.assert_allclose(y, np.sqrt(200) * u @ v, atol=1e-3)
    assert np.vdot(b, y) == pytest.approx(np.sqrt(200) * spread.sum(), rel=1e-5)


def test_bits_that_repeat_others_leave_targets_balanced_and_uncorrelated(bits):
    bits.packed = np.packbits(np.repeat(bits.bits(slice(0, 200))[:, :4] > 0, 2, axis=1), axis=1)
    bits.update_targets(np.random.RandomState(0))
    b, y, _ = written_out(bits)
    np.testing.assert_allclose(y.sum(axis=0), 0, atol=1e-2)
    np.testing.assert_allclose(y.T @ y / 200, np.eye(8), atol=1e-4)
    spread = np.linalg.svd(b - b.mean(axis=0), compute_uv=False)
    assert np.vdot(b, y) == pytest.approx(np.sqrt(200) * spread.sum(), rel=1e-5)


def test_the_objective_rises_from_round_to_round():
    digits = load_digits().data[:600]
    for start in dgh.STARTS:
        values = DGH(24, start=start, n_anchors=100, random_state=0).fit(digits).history_["objective"]
        assert len(values) > 1
        assert (np.diff(values) >= 0).all()


def test_vectors_take_the_mean_bits_of_their_anchors():
    joined, n_anchors = joined_points()
    bits = dgh.DiscreteBits(joined, graph_functions(joined, n_anchors, 8).astype(np.float32), 0.1)
    bits.ascend()
    b, _, _ = written_out(bits)
    z = joined.matrix(slice(None), n_anchors).toarray()
    np.testing.assert_allclose(bits.means, (z.T @ b) / z.sum(axis=0)[:, None], atol=1e-6)


def test_long_codes_find_neighbours_better_than_eigenvectors():
    digits = load_digits().data[:1200]
    learned, rounded = (
        average_precision_of_neighbors(m(64, n_anchors=200, random_state=0), digits) for m in (DGH, AGH)
    )
    assert learned > rounded + 0.05


def test_more_bits_than_the_graph_has_functions_are_refused():
    with pytest.raises(InvalidInputError, match=r"has .* functions that separate vectors, but 40 are needed"):
        DGH(40, n_anchors=30, random_state=0).fit(X)


def test_labels_and_similarity_are_ignored():
    plain = DGH(4, **SMALL).fit(X)
    assert DGH(4, **SMALL).fit(X, np.arange(len(X)), similarity=object()).fingerprint == plain.fingerprint


@pytest.mark.parametrize(
    ("parameter", "value", "sentence"),
    [
        ("n_anchors", 1, "n_anchors must be an integer from 2"),
        ("n_rounds", 0, "n_rounds must be an integer from 1"),
        ("rho", -1.0, "rho must be a number from 0"),
        ("start", "random", "start must be 'eigenvectors' or 'rotated', got 'random'"),
    ],
)
def test_a_wrong_parameter_gets_one_sentence(parameter, value, sentence):
    with pytest.raises(InvalidInputError, match=sentence):
        DGH(**{parameter: value}).fit(X)
