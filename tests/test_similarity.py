"""Sources of pairs: what they draw is what they say, in any size, without an array of n × n."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse
from scipy.spatial.distance import cdist, pdist

from rankhash.errors import InvalidInputError
from rankhash.similarity import (
    ClassLabels,
    GivenPairs,
    LabelSets,
    MetricNeighbors,
    Triplets,
    label_source,
    pair_source,
)


def points(n, d=5, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d)).astype(np.float32)


def triplets(n, share, seed=0):
    rng = np.random.default_rng(seed)
    pairs = np.array([(i, j) for i in range(n) for j in range(i)])
    pairs = pairs[rng.random(len(pairs)) < 0.7]
    return np.column_stack([pairs, rng.random(len(pairs)) < share])


SOURCES = {
    "classes": lambda: label_source(np.random.default_rng(0).integers(0, 5, 60), None, 60),
    "one large class": lambda: label_source([0] * 57 + [1, 1, 2], None, 60),
    "label sets": lambda: label_source(np.random.default_rng(0).random((60, 4)) < 0.3, None, 60),
    "neighbours": lambda: pair_source(points(60), None, None, 7, np.random.default_rng(0)),
    "given": lambda: label_source(None, triplets(60, 0.1), 60),
}


@pytest.fixture(params=SOURCES, ids=str)
def source(request):
    return SOURCES[request.param]()


def every_pair(n):
    return np.stack(np.triu_indices(n, 1), axis=1).astype(np.int32)


def keys(pairs, n):
    return pairs.min(axis=1) * n + pairs.max(axis=1)


def test_counts_are_those_of_all_pairs(source):
    labels = source.labels_of(every_pair(60))
    assert source.n_points == 60
    assert (source.n_similar, source.n_dissimilar) == ((labels == 1).sum(), (labels == 0).sum())
    assert source.similar_rate == pytest.approx((labels == 1).sum() / (labels >= 0).sum())


def test_the_order_of_a_pair_means_nothing(source):
    pairs = every_pair(60)
    np.testing.assert_array_equal(source.labels_of(pairs), source.labels_of(pairs[:, ::-1].copy()))


@pytest.mark.parametrize("share", [None, 0.0, 0.3, 1.0])
@pytest.mark.parametrize("size", [0, 1, 63, 5000])
def test_a_sample_has_the_labels_that_it_says(source, size, share):
    pairs, labels = source.sample(np.random.default_rng(0), size, share)
    assert pairs.shape == (size, 2)
    assert pairs.dtype == np.int32
    assert (pairs[:, 0] != pairs[:, 1]).all()
    np.testing.assert_array_equal(source.labels_of(pairs), labels)
    if size == 5000:
        expected = source.similar_rate if share is None else share
        assert labels.mean() == pytest.approx(expected, abs=4 * np.sqrt(0.25 / size))


@pytest.mark.parametrize("kind", [0, 1])
def test_all_pairs_of_a_kind_are_equally_likely(source, kind):
    everything = every_pair(60)
    wanted = keys(everything[source.labels_of(everything) == kind], 60)
    size = 200 * len(wanted)
    drawn, _ = source.sample(np.random.default_rng(0), size, float(kind))
    found, counts = np.unique(keys(drawn, 60), return_counts=True)
    np.testing.assert_array_equal(found, np.sort(wanted))
    squares = ((counts - 200) ** 2 / 200).sum()
    assert abs(squares - len(wanted)) < 6 * np.sqrt(2 * len(wanted))


def test_the_same_generator_gives_the_same_pairs(source):
    first, second = (source.sample(np.random.default_rng(3), 100) for _ in range(2))
    np.testing.assert_array_equal(first[0], second[0])


def test_a_pool_holds_different_pairs_of_both_kinds(source):
    pairs, labels = source.pool(np.random.default_rng(0), 500)
    assert len(np.unique(keys(pairs, 60))) == len(pairs) <= 500
    np.testing.assert_array_equal(source.labels_of(pairs), labels)
    assert 0 < labels.sum() < len(labels)
    whole, _ = source.pool(np.random.default_rng(0), 10**6)
    assert len(whole) > 0.95 * (source.n_similar + source.n_dissimilar)


def test_a_subset_keeps_the_labels(source):
    if isinstance(source, MetricNeighbors):
        pytest.skip("a subset of vectors has a radius of its own")
    rows = np.random.default_rng(0).permutation(60)[:40]
    part, pairs = source.subset(rows), every_pair(40)
    assert part.n_points == 40
    np.testing.assert_array_equal(part.labels_of(pairs), source.labels_of(rows[pairs].astype(np.int32)))


def test_rare_similar_pairs_fill_a_quarter_of_a_pool():
    source = label_source(np.arange(3000) // 3, None, 3000)
    _, labels = source.pool(np.random.default_rng(0), 8000)
    assert source.similar_rate < 0.001
    assert labels.mean() > 0.15


@pytest.mark.parametrize("n_neighbors", [1, 7, 29])
def test_neighbours_are_as_many_on_average(n_neighbors):
    source = pair_source(points(60), None, None, n_neighbors, np.random.default_rng(0))
    assert source.n_similar * 2 / 60 == pytest.approx(n_neighbors, abs=1 / 60)
    assert (pdist(points(60)) <= source.radius * (1 + 1e-6)).sum() == source.n_similar


def test_many_vectors_are_searched_from_a_sample_without_a_square_array():
    vectors = points(20_000, 8)
    tracemalloc.start()
    try:
        source = pair_source(vectors, None, None, 50, np.random.default_rng(0))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 20_000**2 / 4
    degree = (cdist(vectors[:500], vectors) <= source.radius).sum(axis=1).mean() - 1
    assert degree == pytest.approx(50, rel=0.25)
    assert source.similar_rate == pytest.approx(50 / 20_000, rel=0.01)
    pairs, labels = source.sample(np.random.default_rng(0), 2000, 0.5)
    assert (source.labels_of(pairs) == labels).mean() > 0.999


def test_ties_and_duplicates_have_a_radius():
    vectors = np.repeat(points(10), 10, axis=0)
    source = pair_source(vectors, None, None, 9, np.random.default_rng(0))
    assert source.radius == pytest.approx(0, abs=1e-2)
    assert source.n_similar == 450


@pytest.mark.parametrize(
    ("similarity", "sentence"),
    [
        ("similar", "similarity must be a sparse or dense matrix"),
        (np.zeros((4, 3, 2)), "got the shape"),
        ([(0, 1, 1), (0, 2, 2)], "got s = 2"),
        ([(0, 1.5, 1), (0, 2, 0)], "must be row numbers"),
        ([(0, 1, 1), (0, -2, 0)], "outside of 0 to 4"),
        ([(0, 0, 1), (1, 1, 0)], "no similar pair"),
        (scipy.sparse.eye_array(3), r"got the shape \(3, 3\) for 5 vectors"),
        (scipy.sparse.csr_array(np.eye(5, k=1)), "no dissimilar pair to learn from: mark some"),
        (np.full((5, 5), np.nan), "no similar pair"),
    ],
)
def test_pairs_that_cannot_be_used_get_one_sentence(similarity, sentence):
    with pytest.raises(InvalidInputError, match=sentence) as caught:
        label_source(None, similarity, 5)
    assert "\n" not in str(caught.value)


def test_stored_zeros_are_dissimilar_and_absent_ones_unknown():
    matrix = scipy.sparse.coo_array(([1, 0, -1], ([0, 1, 2], [1, 2, 3])), shape=(4, 4))
    labels = label_source(None, matrix, 4).labels_of(every_pair(4))
    assert labels.tolist() == [1, -1, -1, 0, -1, 0]


def test_nan_and_masked_entries_are_unknown():
    dense = np.array([[1, 1, np.nan], [np.nan, 1, 0], [np.nan, 0, 1]])
    masked = np.ma.masked_array(np.nan_to_num(dense, nan=7), mask=np.isnan(dense))
    for form in (dense, masked):
        assert label_source(None, form, 3).labels_of(every_pair(3)).tolist() == [1, -1, 0]


def test_a_source_can_be_given_itself():
    source = ClassLabels(np.array([0, 0, 1]))
    assert label_source(None, source, 3) is source
    with pytest.raises(InvalidInputError, match="about 3 vectors, but there are 4"):
        label_source(None, source, 4)


def test_the_source_follows_from_the_arguments():
    assert isinstance(label_source([0, 0, 1], None, 3), ClassLabels)
    assert isinstance(label_source([[0, 1], [1, 1], [1, 0]], None, 3), LabelSets)
    assert isinstance(label_source(None, [(0, 1, 1), (1, 2, 0)], 3), GivenPairs)
    assert label_source(None, None, 3) is None


def test_sources_say_what_they_are_and_which_points_they_label():
    classes = ClassLabels(np.array([0, 1, 0, 1]))
    given = label_source(None, [(5, 2, 1), (2, 9, 0)], 12)
    points = np.random.default_rng(0).normal(size=(12, 3)).astype(np.float32)
    nearest = MetricNeighbors(points, 2, np.random.default_rng(0))
    assert [(s.is_metric, s.is_partial) for s in (classes, given, nearest)] == [
        (False, False),
        (False, True),
        (True, False),
    ]
    assert given.labelled_rows().tolist() == [2, 5, 9]
    assert classes.labelled_rows().tolist() == [0, 1, 2, 3]
    similar, close = nearest.both_among(np.arange(12))
    np.testing.assert_array_equal(similar, nearest.labels_among(np.arange(12)))
    assert close.sum() > 0


def test_triplets_have_a_similar_and_a_dissimilar_point(source):
    drawn = Triplets(source).sample(np.random.default_rng(0), 3000)
    assert drawn.shape == (3000, 3)
    assert drawn.dtype == np.int32
    assert (source.labels_of(drawn[:, :2]) == 1).all()
    assert (source.labels_of(drawn[:, [0, 2]]) == 0).all()
    assert (drawn[:, 0] != drawn[:, 1]).all()
    assert len(Triplets(source).sample(np.random.default_rng(0), 0)) == 0


def test_every_triplet_can_be_drawn(source):
    drawn = {tuple(t) for t in Triplets(source).sample(np.random.default_rng(0), 40_000).tolist()}
    labels = source.labels_among(np.arange(60))
    firsts = np.flatnonzero((labels == 1).any(axis=1) & (labels == 0).any(axis=1))
    assert {t[0] for t in drawn} == {*firsts}
    for first in firsts[:5]:
        seconds = {t[1] for t in drawn if t[0] == first}
        assert len(seconds) > 0.8 * (labels[first] == 1).sum()


def test_further_negatives_are_dissimilar_too(source):
    drawn = Triplets(source).with_negatives(np.random.default_rng(0), 500, 4)
    assert drawn.shape == (500, 6)
    assert (source.labels_of(drawn[:, :2]) == 1).all()
    for column in range(2, 6):
        assert (source.labels_of(drawn[:, [0, column]]) == 0).all()
    assert (drawn[:, 2] != drawn[:, 5]).any()


def test_given_pairs_without_a_triplet_are_refused():
    with pytest.raises(InvalidInputError, match="no vector occurs in a similar and in a dissimilar pair"):
        Triplets(label_source(None, [(0, 1, 1), (2, 3, 0)], 5))
