"""Neighbours of vectors that PCA has shortened: when they are doubted, and which pairs are kept."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.decomposition import PCA

import oracles
from rankhash import RSH, SRSH
from rankhash.hashers._reduced import inner_products, is_reduced, trusted


def clustered(n, d=100, seed=0):
    """Unit vectors around 40 centres, each with a spread of its own, so that PCA shortens some more than others."""
    rng = np.random.default_rng(seed)
    centers, spreads = rng.normal(size=(40, d)) * np.linspace(2, 0.05, d), rng.uniform(0.1, 0.6, 40)
    group = rng.integers(0, 40, n)
    x = centers[group] + spreads[group, None] * rng.normal(size=(n, d))
    x -= x.mean(axis=0)
    return x / np.linalg.norm(x, axis=1, keepdims=True)


def reduced(x, n_components=20):
    return PCA(n_components, svd_solver="full").fit_transform(x).astype(np.float32)


def test_only_components_of_vectors_of_one_length_are_doubted():
    x = clustered(1500)
    assert is_reduced(reduced(x))
    assert not is_reduced((x - x.mean(axis=0)).astype(np.float32))  # all columns are there, and correlated
    assert not is_reduced(reduced(x * np.random.default_rng(1).uniform(0.5, 1.5, (1500, 1))))  # of many lengths
    assert not is_reduced(np.ones((50, 1), np.float32))


def test_components_that_another_sample_gave_are_known_too():
    x = clustered(2000)
    assert is_reduced(PCA(20, svd_solver="full").fit(x[1000:]).transform(x[:1000]).astype(np.float32))


def test_pairs_are_kept_on_which_distance_and_inner_product_agree():
    x = reduced(clustered(300))
    pairs = np.stack(np.triu_indices(300, 1), axis=1).astype(np.int32)
    products = (x @ x.T)[pairs[:, 0], pairs[:, 1]]
    np.testing.assert_allclose(inner_products(x, pairs), products, atol=1e-5)
    labels = (np.random.default_rng(0).random(len(pairs)) < 0.1).astype(np.uint8)
    kept, kept_labels = trusted(x, pairs, labels, 0.1, np.random.default_rng(0))
    limit = np.sort(products)[-len(pairs) // 10]
    sure = np.abs(products - limit) > 0.01
    expected = pairs[sure & ((products > limit) == (labels == 1))]
    assert {tuple(pair) for pair in expected} <= {tuple(pair) for pair in kept}
    assert len(kept) - len(expected) <= (~sure).sum()
    assert kept_labels.mean() == pytest.approx((labels[products > limit]).sum() / len(kept), abs=0.01)


def test_pairs_stay_if_one_kind_would_be_lost():
    x = reduced(clustered(300))
    pairs = np.stack(np.triu_indices(300, 1), axis=1).astype(np.int32)
    labels = (inner_products(x, pairs) < 0).astype(np.uint8)
    kept, _ = trusted(x, pairs, labels, 0.1, np.random.default_rng(0))
    np.testing.assert_array_equal(kept, pairs)


def test_srsh_finds_the_neighbours_of_the_whole_vectors_better_than_rsh():
    x = clustered(1300)
    distances = cdist(x, x[:1000])
    radius = np.sort(distances[:1000], axis=1)[:, 50].mean()
    relevant = distances[1000:] <= radius
    pca = PCA(20, svd_solver="full").fit(x[:1000])
    train, queries = pca.transform(x[:1000]), pca.transform(x[1000:])
    rsh, srsh = (
        oracles.average_precision(oracles.hamming(hasher.transform(queries), hasher.transform(train)), relevant)
        for hasher in (RSH(16, random_state=0).fit(train), SRSH(16, random_state=0).fit(train))
    )
    assert srsh > rsh + 0.08  # .05 if all pairs were learned
