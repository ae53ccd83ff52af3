"""KLSH: the hasher contract, and its hyperplanes against the theory of the kernel's space."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from rankhash import KLSH
from rankhash.errors import InvalidInputError
from rankhash.hashers.klsh import random_normals

from .inputs import X
from .pairs import KernelContract

VARIANTS = [KLSH(9, n_anchors=20, n_chosen=3, gamma=0.3, random_state=0)]


class TestContract(KernelContract):
    @pytest.fixture(params=VARIANTS, ids=str)
    def hasher(self, request):
        return clone(request.param)


@parametrize_with_checks([KLSH(8, n_anchors=10)])
def test_scikit_learn_accepts_it(estimator, check):
    check(estimator)


def centred_kernel(vectors, anchors, gamma, mean_square):
    """Kernel values of the vectors with each other, seen from the anchors' mean in the kernel's space."""

    def kernel(a, b):
        return np.exp(-gamma * cdist(a, b, "sqeuclidean") / mean_square)

    mean = kernel(vectors, anchors).mean(axis=1)
    return kernel(vectors, vectors) - mean[:, None] - mean + kernel(anchors, anchors).mean()


def test_bits_agree_as_often_as_the_angle_in_the_kernels_space_says():
    rng = np.random.default_rng(0)
    points = rng.normal(size=(150, 4))
    points[1::2] = points[::2] + 0.3 * rng.normal(size=(75, 4))
    hasher = KLSH(4096, n_anchors=150, n_chosen=37, gamma=0.5, random_state=0).fit(points)
    mean_square = cdist(points, hasher.anchors_, "sqeuclidean").mean()
    inner = centred_kernel(points, hasher.anchors_, 0.5, mean_square)
    lengths = np.sqrt(np.diag(inner))
    angles = np.arccos(np.clip(inner / lengths / lengths[:, None], -1, 1))
    bits = hasher.transform(points)
    agree = np.array([(bits == row).mean(axis=1) for row in bits])
    errors = (agree - (1 - angles / np.pi))[np.triu_indices(150, 1)]
    assert abs(errors.mean()) < 0.01
    assert np.abs(errors).max() < 0.06


def test_normals_are_as_random_as_gaussian_ones_in_the_kernels_space():
    rng = np.random.default_rng(0)
    points = rng.normal(size=(40, 3))
    kernel = np.exp(-cdist(points, points, "sqeuclidean"))
    chosen = np.zeros((5000, 40))
    for row in chosen:
        row[rng.choice(40, 8, replace=False)] = 1
    normals = random_normals(kernel, chosen)
    np.testing.assert_allclose(normals.sum(axis=1), 0, atol=1e-6)
    centred = kernel - kernel.mean(axis=0) - kernel.mean(axis=1, keepdims=True) + kernel.mean()
    along = normals @ centred  # of the anchors themselves
    # Drawn without replacement, 8 of 40 leave 1 - 8/40 of the variance that independent draws would have.
    np.testing.assert_allclose((along.T @ along) / 5000, 0.8 * centred, atol=0.06)


def test_more_normals_than_anchors_and_few_vectors_are_no_problem():
    hasher = KLSH(64, random_state=0).fit(X[:3])
    assert np.isfinite(hasher.projections_).all()
    assert len(np.unique(hasher.encode(X[:3]), axis=0)) > 1


def test_labels_and_similarity_are_ignored():
    plain = KLSH(8, random_state=0).fit(X)
    assert KLSH(8, random_state=0).fit(X, np.arange(len(X)), similarity=object()).fingerprint == plain.fingerprint


@pytest.mark.parametrize(("parameter", "value"), [("n_anchors", 1), ("n_chosen", 0), ("n_chosen", 301), ("gamma", 0)])
def test_a_wrong_parameter_gets_one_sentence(parameter, value):
    with pytest.raises(InvalidInputError, match=f"{parameter} must be a.* from .*, got {value}"):
        KLSH(**{parameter: value}).fit(X)
