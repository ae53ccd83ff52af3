"""CCAITQ, CMFH and SCM: the contract of hashers of several views, and their closed forms."""

import numpy as np
import pytest
from sklearn.base import clone

from rankhash import CCAITQ, CMFH, SCM
from rankhash.hashers._views.linear import inverse_root

from .views import ViewContract, X, Y, Z


class TestCCAITQ(ViewContract):
    @pytest.fixture
    def hasher(self):
        return CCAITQ(9, random_state=0)


class TestCMFH(ViewContract):
    history_names = frozenset({"step", "loss"})

    @pytest.fixture
    def hasher(self):
        return CMFH(9, random_state=0)


class TestSCM(ViewContract):
    @pytest.fixture
    def hasher(self):
        return SCM(9, random_state=0)


def centred(x):
    x = x - x.mean(axis=0)
    return x / np.sqrt(np.square(x).sum(axis=1).mean())


def test_canonical_components_correlate_as_those_of_an_eigenproblem():
    hasher = CCAITQ(3, ridge=1e-6, random_state=0).fit((X, Z))
    x, z = centred(X.astype(float)), centred(Z.astype(float))
    cxx, czz, cxz = x.T @ x, z.T @ z, x.T @ z
    values = np.linalg.eigvals(np.linalg.solve(cxx, cxz) @ np.linalg.solve(czz, cxz.T))
    best = np.sqrt(np.sort(values.real)[::-1][:3])
    rotated = [
        part @ weights.T for part, weights in zip((x, z), np.split(hasher.projections_, [12], axis=1), strict=True)
    ]
    left, right = (np.linalg.qr(part)[0] for part in rotated)
    np.testing.assert_allclose(np.linalg.svd(left.T @ right)[1], best, atol=1e-3)


def test_the_loss_of_cmfh_never_rises():
    hasher = CMFH(6, n_iterations=20, random_state=0).fit((X, Z))
    losses = np.array(hasher.history_["loss"])
    assert (np.diff(losses) <= 1e-9 * losses[0]).all()
    assert losses[-1] < losses[0]


def test_cmfh_takes_more_than_two_views():
    third = (Z[:, :4] * 2 + 1).copy()
    hasher = CMFH(6, random_state=0).fit((X, Z, third))
    assert hasher.encode(third, view=2).shape == (len(X), 1)


def test_the_first_bit_of_scm_maximises_the_correlation_with_the_similarity():
    hasher = SCM(1, ridge=1e-6, random_state=0).fit((X, Z), Y)
    x, z = centred(X.astype(float)), centred(Z.astype(float))
    similarity = np.where(Y[:, None] == Y, 1.0, -1.0)
    wx, wz = np.split(hasher.projections_[0].astype(float), [12])

    def correlation(a, b):
        return (x @ a) @ similarity @ (z @ b) / (np.linalg.norm(x @ a) * np.linalg.norm(z @ b))

    rng = np.random.default_rng(0)
    best = correlation(wx, wz)
    for size in (0.01, 0.1, 1.0):
        for _ in range(50):
            moved = (
                wx + size * np.linalg.norm(wx) * rng.normal(size=12),
                wz + size * np.linalg.norm(wz) * rng.normal(size=7),
            )
            assert correlation(*moved) <= best * (1 + 1e-4)


def test_labels_help_scm_alone():
    for kind in (CCAITQ, CMFH):
        assert (
            clone(kind(6, random_state=0)).fit((X, Z), Y).fingerprint == kind(6, random_state=0).fit((X, Z)).fingerprint
        )
    assert SCM(6, random_state=0).fit((X, Z), Y).fingerprint != SCM(6, random_state=0).fit((X, Z)).fingerprint


def test_the_inverse_root_whitens():
    covariance = np.cov(X.T)
    root = inverse_root(covariance, 1e-9)
    np.testing.assert_allclose(root @ covariance @ root, np.eye(12), atol=1e-5)
