"""Neighbours of vectors that PCA has shortened: when they are doubted, and who their neighbours are then."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.decomposition import PCA

import oracles
from rankhash import JRSH, MLH, RSH, SRSH
from rankhash.hashers._features.reduced import is_reduced, neighbors_among
from rankhash.similarity import MetricNeighbors


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


@pytest.mark.parametrize("scale", [0.01, 0.125, 1.0])
def test_independent_columns_are_not_taken_for_components(scale):
    x = np.random.default_rng(0).normal(size=(1000, 64)).astype(np.float32)  # lengths within 9 % of 8
    assert not is_reduced(x, scale=scale)


def test_components_that_another_sample_gave_are_known_too():
    x = clustered(2000)
    assert is_reduced(PCA(20, svd_solver="full").fit(x[1000:]).transform(x[:1000]).astype(np.float32))


def test_neighbours_of_reduced_vectors_have_the_largest_inner_products():
    x = reduced(clustered(300))
    source = neighbors_among(4 * x, 10, np.random.default_rng(0), 0.25)
    pairs = np.stack(np.triu_indices(300, 1), axis=1).astype(np.int32)
    products = (x.astype(np.float64) @ x.T)[pairs[:, 0], pairs[:, 1]]
    limit = np.sort(products)[-300 * 10 // 2]
    sure = np.abs(products - limit) > 1e-5
    np.testing.assert_array_equal(source.labels_of(pairs)[sure], (products > limit)[sure])
    among = source.labels_among(np.arange(300))[pairs[:, 0], pairs[:, 1]]
    np.testing.assert_array_equal(among[sure], (products > limit)[sure])
    assert source.subset(np.arange(150)).labels_of(pairs[:1]) == (products[0] > limit)


def test_vectors_that_are_not_reduced_keep_their_distances():
    x = clustered(300).astype(np.float32)
    x -= x.mean(axis=0)
    pairs = np.stack(np.triu_indices(300, 1), axis=1).astype(np.int32)
    own, plain = neighbors_among(x, 10, np.random.default_rng(0), 1.0), MetricNeighbors(x, 10, np.random.default_rng(0))
    np.testing.assert_array_equal(own.labels_of(pairs), plain.labels_of(pairs))


def test_neighbours_of_reduced_vectors_agree_in_all_their_forms():
    x = reduced(clustered(5000))
    source = MetricNeighbors(x, 20, np.random.default_rng(0), one_length=True)
    rows = np.arange(0, 5000, 40)
    pairs = np.stack(np.triu_indices(len(rows), 1), axis=1)
    similar, close = (labels[pairs[:, 0], pairs[:, 1]] for labels in source.both_among(rows))
    assert (similar == source.labels_of(rows[pairs].astype(np.int32))).mean() > 0.999
    products = (x[rows].astype(np.float64) @ x[rows].T)[pairs[:, 0], pairs[:, 1]]
    assert products[similar == 1].min() > products[similar == 0].max() - 1e-5
    assert products[close == 1].mean() > np.quantile(products, 0.95)


@pytest.mark.parametrize(
    "hasher", [MLH(16, random_state=0), JRSH(16, n_steps=200, random_state=0)], ids=["MLH", "JRSH"]
)
def test_reduced_vectors_are_learned_from_nearly_as_well_as_from_pairs_of_whole_ones(hasher):
    x = clustered(1300)
    distances = cdist(x, x[:1000])
    radius = np.sort(distances[:1000], axis=1)[:, 50].mean()
    relevant = distances <= radius
    pca = PCA(20, svd_solver="full").fit(x[:1000])
    train, queries = pca.transform(x[:1000]), pca.transform(x[1000:])
    values = {}
    for kind, similarity in (("own", None), ("pairs of whole vectors", relevant[:1000])):
        hasher.fit(train, similarity=similarity)
        apart = oracles.hamming(hasher.transform(queries), hasher.transform(train))
        values[kind] = oracles.average_precision(apart, relevant[1000:])
    assert values["own"] > values["pairs of whole vectors"] - 0.04  # MLH .05, JRSH .14 by plain distances


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
