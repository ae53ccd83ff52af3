"""RBFAnchors: the features are those of the formula, in any company, at any scale."""

import tracemalloc

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from rankhash import _kernels
from rankhash.errors import InvalidInputError
from rankhash.hashers import _blocks
from rankhash.hashers._features.anchors import RBFAnchors


@pytest.fixture
def points():
    return np.random.default_rng(0).normal(size=(400, 9)).astype(np.float32) * np.linspace(1, 3, 9) + 50


@pytest.mark.parametrize("gamma", [0.5, 2.0])
def test_features_are_those_of_the_formula(points, gamma):
    rbf = RBFAnchors(30, gamma=gamma, random_state=0).fit(points)
    squares = cdist(points, rbf.anchors_, "sqeuclidean")
    kernel = np.exp(-gamma * squares / squares.mean())
    np.testing.assert_allclose(rbf.kernel(points), kernel, atol=2e-6)
    np.testing.assert_allclose(rbf.transform(points), kernel - kernel.mean(axis=0), atol=2e-6)


def test_anchors_are_different_training_vectors(points):
    anchors = RBFAnchors(30, random_state=0).fit(points).anchors_
    assert len(np.unique(anchors, axis=0)) == 30
    assert {tuple(row) for row in anchors} <= {tuple(row) for row in points.astype(np.float32)}
    assert len(RBFAnchors(1000).fit(points).anchors_) == len(points)


def test_whitened_features_have_the_covariance_that_the_ridge_leaves(points):
    plain, white = (RBFAnchors(25, whiten=whiten, random_state=0).fit(points) for whiten in (False, True))
    covariance = np.cov(plain.transform(points).astype(np.float64).T, bias=True)
    variances = np.linalg.eigvalsh(covariance)
    expected = variances / (variances + 0.01 * variances.mean())
    found = np.linalg.eigvalsh(np.cov(white.transform(points).astype(np.float64).T, bias=True))
    np.testing.assert_allclose(np.sort(found), np.sort(expected), atol=1e-3)
    np.testing.assert_allclose(white.whitening_, white.whitening_.T, atol=1e-4 * np.abs(white.whitening_).max())


def test_kernel_weights_give_the_same_from_the_kernel(points):
    rbf = RBFAnchors(25, whiten=True, random_state=0).fit(points)
    weights = np.random.default_rng(1).normal(size=(4, 25)).astype(np.float32)
    projected = (rbf.kernel(points) - rbf.mean_) @ rbf.kernel_weights(weights).T
    np.testing.assert_allclose(projected, rbf.transform(points) @ weights.T, atol=1e-3)


@pytest.mark.parametrize("whiten", [False, True])
def test_features_do_not_depend_on_the_batch_or_on_saving(points, whiten, monkeypatch):
    rbf = RBFAnchors(25, whiten=whiten, random_state=0).fit(points)
    whole = rbf.transform(points)
    for n in (1, 2, 23, 24, 25, 399):
        np.testing.assert_array_equal(rbf.transform(points[:n], n_threads=1), whole[:n])
        np.testing.assert_array_equal(rbf.transform(points[-n:]), whole[-n:])
    monkeypatch.setattr(_blocks, "BLOCK_FLOATS", 7 * 25)
    again = RBFAnchors.from_arrays(rbf.arrays())
    np.testing.assert_array_equal(again.transform(points), whole)


@pytest.mark.parametrize("factor", [2.0**-60, 2.0**60])
def test_the_scale_of_the_vectors_does_not_matter(points, factor):
    plain = RBFAnchors(25, random_state=0).fit(points).transform(points)
    np.testing.assert_array_equal(RBFAnchors(25, random_state=0).fit(points * factor).transform(points * factor), plain)


def test_features_do_not_depend_on_the_instruction_set(points):
    rbf, before, found = RBFAnchors(25, random_state=0).fit(points), _kernels.cpu_info().isa, []
    for name in _kernels.cpu_info().available:
        _kernels.use_isa(name)
        found.append(rbf.transform(points))
    _kernels.use_isa(before)
    for other in found[1:]:
        np.testing.assert_array_equal(other, found[0])


@pytest.mark.parametrize("value", [0.0, 1.0, -7.25, 1e30])
def test_constant_vectors_are_refused(value):
    with pytest.raises(InvalidInputError, match="all vectors are the same"):
        RBFAnchors(5).fit(np.full((100, 5), value))


def test_the_row_of_a_bad_number_is_named(points):
    points[77, 2] = np.nan
    with pytest.raises(InvalidInputError, match="row 77 holds NaN"):
        RBFAnchors(5).fit(points)


def test_outliers_leave_no_nan(points):
    points[3] = 3e38
    points[4] = -3e38
    assert np.isfinite(RBFAnchors(400, random_state=0).fit(points).transform(points)).all()


def test_memory_does_not_grow_with_the_number_of_vectors():
    large = np.random.default_rng(0).normal(size=(400_000, 8)).astype(np.float32)
    tracemalloc.start()
    try:
        RBFAnchors(100, whiten=True, random_state=0).fit(large)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 16 << 20
