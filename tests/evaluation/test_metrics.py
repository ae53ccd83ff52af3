"""Every metric against its oracle; ties have no order; bad input is refused."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score, ndcg_score

import oracles
from rankhash import CodeLayout, InvalidInputError, _ranking, evaluation
from rankhash.evaluation import ClassTruth, Counts, count_codes
from rankhash.evaluation import counts as counts_module

SINGLE = {
    "query_average_precision": lambda d, r: evaluation.query_average_precision(d, r),
    "ball_precision": lambda d, r: evaluation.ball_precision(d, r, 1),
    "precision_at": lambda d, r: evaluation.precision_at(d, r, 3),
    "recall_at": lambda d, r: evaluation.recall_at(d, r, 3),
    "ndcg": lambda d, r: evaluation.ndcg(d, r, 3),
    "query_precision_recall": lambda d, r: np.concatenate(evaluation.query_precision_recall(d, r), axis=1),
}


@st.composite
def rankings(draw, n_queries=3, low=3, high=6):
    """Distances with many ties, and relevance with at least one relevant item a query."""
    n = draw(st.integers(low, high))
    distances = draw(st.lists(st.integers(0, 3), min_size=n_queries * n, max_size=n_queries * n))
    relevant = np.array(draw(st.lists(st.booleans(), min_size=n_queries * n, max_size=n_queries * n)))
    relevant = relevant.reshape(n_queries, n)
    relevant[:, draw(st.integers(0, n - 1))] = True
    return np.array(distances).reshape(n_queries, n), relevant


@given(rankings())
@settings(max_examples=40, deadline=None)
def test_average_precision_is_its_mean_over_all_orders_of_the_ties(ranking):
    distances, relevant = ranking
    expected = [oracles.over_orders(oracles.ranked_average_precision, d, r) for d, r in zip(*ranking, strict=True)]
    np.testing.assert_allclose(evaluation.query_average_precision(distances, relevant), expected, atol=1e-12)
    np.testing.assert_allclose(evaluation.query_average_precision(distances * 0.7, relevant), expected, atol=1e-12)
    assert evaluation.mean_average_precision(distances, relevant) == pytest.approx(np.mean(expected))


@given(rankings(), st.integers(1, 3))
@settings(max_examples=40, deadline=None)
def test_precision_recall_and_ndcg_at_k_are_their_means_over_all_orders(ranking, k):
    distances, relevant = ranking
    expected = [oracles.over_orders(lambda row: row[:k].mean(), d, r) for d, r in zip(*ranking, strict=True)]
    np.testing.assert_allclose(evaluation.precision_at(distances, relevant, k), expected, atol=1e-12)
    recall = np.array(expected) * k / relevant.sum(axis=1)
    np.testing.assert_allclose(evaluation.recall_at(distances, relevant, k), recall, atol=1e-12)
    gain = [oracles.over_orders(lambda row: oracles.ranked_ndcg(row, k), d, r) for d, r in zip(*ranking, strict=True)]
    np.testing.assert_allclose(evaluation.ndcg(distances, relevant, k), gain, atol=1e-12)
    np.testing.assert_allclose(Counts.of(distances, relevant).ndcg(k), gain, atol=1e-12)


@given(rankings(), st.integers(0, 3))
def test_ball_precision_names_what_an_empty_ball_counts(ranking, radius):
    distances, relevant = ranking
    for name, value in (("zero", 0.0), ("one", 1.0), ("leave_out", np.nan)):
        expected = [oracles.ball_precision(d, r, radius, value) for d, r in zip(*ranking, strict=True)]
        np.testing.assert_allclose(evaluation.ball_precision(distances, relevant, radius, empty=name), expected)
        np.testing.assert_allclose(Counts.of(distances, relevant).ball_precision(radius, name), expected)


@given(rankings(), st.integers(-1, 3))
def test_pooled_ball_precision_counts_all_pairs_alike(ranking, radius):
    distances, relevant = ranking
    inside = distances <= radius
    expected = relevant[inside].mean() if inside.any() else 0.0
    assert evaluation.pooled_ball_precision(distances, relevant, radius) == pytest.approx(expected)
    if radius >= 0:
        assert Counts.of(distances, relevant).pooled_ball_precision(radius) == pytest.approx(expected)


@given(rankings())
def test_pooled_area_is_that_of_the_oracle_and_of_the_library(ranking):
    distances, relevant = ranking
    expected = oracles.average_precision(distances.ravel(), relevant.ravel())
    assert evaluation.average_precision(distances, relevant) == pytest.approx(expected)
    assert Counts.of(distances, relevant).average_precision() == pytest.approx(expected)
    assert _ranking.average_precision(distances, relevant) == pytest.approx(expected)
    for ours, theirs in zip(
        evaluation.precision_recall(distances, relevant), Counts.of(distances, relevant).precision_recall(), strict=True
    ):
        np.testing.assert_allclose(ours, theirs)


@pytest.mark.parametrize("name", SINGLE)
@given(ranking=rankings(), data=st.data())
@settings(max_examples=25, deadline=None)
def test_permuting_the_items_changes_nothing(name, ranking, data):
    distances, relevant = ranking
    order = data.draw(st.permutations(range(distances.shape[1])))
    for values in (distances, distances * 0.7):
        before = SINGLE[name](values, relevant)
        np.testing.assert_array_equal(before, SINGLE[name](values[:, order], relevant[:, order]))
    pooled = evaluation.average_precision(distances, relevant)
    assert pooled == evaluation.average_precision(distances[:, order], relevant[:, order])


def test_without_ties_the_metrics_are_those_of_scikit_learn(rng):
    distances = rng.permuted(np.tile(np.arange(50), (20, 1)), axis=1)
    relevant = rng.random(distances.shape) < 0.3
    relevant[:, 0] = True
    theirs = [average_precision_score(r, -d) for d, r in zip(distances, relevant, strict=True)]
    np.testing.assert_allclose(evaluation.query_average_precision(distances, relevant), theirs)
    gains = rng.integers(0, 4, distances.shape) + relevant
    theirs = [ndcg_score([g], [-d], k=10) for d, g in zip(distances, gains, strict=True)]
    np.testing.assert_allclose(evaluation.ndcg(distances, gains, 10), theirs)


def test_tied_ndcg_is_that_of_scikit_learn(rng):
    distances, gains = rng.integers(0, 4, (20, 30)), rng.integers(0, 3, (20, 30))
    theirs = [ndcg_score([g], [-d]) for d, g in zip(distances, gains, strict=True)]
    np.testing.assert_allclose(evaluation.ndcg(distances, gains), theirs)


@pytest.mark.parametrize("arity", [2, 3, 4, 16])
def test_codes_are_counted_in_blocks_as_all_at_once(rng, arity, monkeypatch):
    layout = CodeLayout(21, arity)
    queries, database = (rng.integers(0, arity, (n, 21)).astype(np.uint8) for n in (70, 300))
    labels = rng.integers(0, 5, 70), rng.integers(0, 5, 300)
    whole = Counts.of(oracles.hamming(queries, database).astype(int), labels[0][:, None] == labels[1])
    monkeypatch.setattr(counts_module, "BLOCK_PAIRS", 1 << 12)
    counts = count_codes(layout.pack(queries), layout.pack(database), layout, ClassTruth(*labels))
    width = whole.found.shape[1]
    np.testing.assert_array_equal(counts.found[:, :width], whole.found)
    np.testing.assert_array_equal(counts.hits[:, :width], whole.hits)
    assert not counts.found[:, width:].any()


def test_counts_of_parts_make_those_of_the_whole(rng):
    distances, relevant = rng.integers(0, 9, (8, 40)), rng.random((8, 40)) < 0.2
    whole = Counts.of(distances, relevant)
    left, right = (Counts.of(distances[:, part], relevant[:, part]) for part in (slice(0, 13), slice(13, 40)))
    np.testing.assert_array_equal((left + right).found, whole.found)
    joined = Counts.join([Counts.of(distances[:3], relevant[:3]), Counts.of(distances[3:], relevant[3:])])
    np.testing.assert_array_equal(joined.hits, whole.hits)


def test_memory_stays_bounded_with_many_codes(rng):
    tracemalloc = pytest.importorskip("tracemalloc")
    layout = CodeLayout(32, 4)
    database, queries = (
        rng.integers(0, 256, (200_000, 8), dtype=np.uint8),
        rng.integers(0, 256, (64, 8), dtype=np.uint8),
    )
    truth = ClassTruth(np.zeros(64, np.int8), rng.integers(0, 10, 200_000).astype(np.int8))
    tracemalloc.start()
    counts = count_codes(queries, database, layout, truth)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert counts.n_items == 200_000
    assert peak < 350 << 20


def test_query_without_a_relevant_item_has_no_value_and_is_left_out_of_the_mean():
    distances, relevant = np.array([[0, 1], [0, 1]]), np.array([[True, False], [False, False]])
    values = evaluation.query_average_precision(distances, relevant)
    assert values[0] == 1
    assert np.isnan(values[1])
    assert evaluation.mean_average_precision(distances, relevant) == 1
    assert np.isnan(evaluation.recall_at(distances, relevant, 1)[1])
    assert np.isnan(evaluation.ndcg(distances, relevant)[1])


@pytest.mark.parametrize("metric", [evaluation.average_precision, evaluation.mean_average_precision])
def test_no_relevant_item_at_all_is_an_error(metric):
    with pytest.raises(InvalidInputError, match="no query has a relevant item"):
        metric([[0, 1]], [[False, False]])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: evaluation.precision_at([[0, 1]], [[True, False]], 3), "between 1 and the number of items, 2"),
        (lambda: evaluation.ndcg([[0, 1]], [[True, False]], 0), "between 1 and the number of items, 2"),
        (lambda: evaluation.average_precision([0, 1], [True, False]), "shape"),
        (lambda: evaluation.average_precision([[0, 1]], [[True]]), "shape"),
        (lambda: evaluation.average_precision([[0, np.nan]], [[True, False]]), "NaN"),
        (lambda: evaluation.average_precision([[0, 1]], [[1, 0]]), "True or False"),
        (lambda: evaluation.ndcg([[0, 1]], [[-1, 0]]), "0 or more"),
        (lambda: evaluation.ball_precision([[0, 1]], [[True, False]], 1, empty="none"), "zero, one, leave_out"),
        (lambda: Counts.of([[0.5, 1]], [[True, False]]).average_precision(), "real-valued"),
        (lambda: evaluation.neighbor_recall([1, 2], [[1, 2]]), "n_queries"),
        (lambda: evaluation.neighbor_recall_by_distance([[1.0]], [[1.0]], 2), "2 true neighbours"),
    ],
)
def test_bad_input_is_refused_with_a_sentence(call, message):
    with pytest.raises(InvalidInputError, match=message):
        call()


def test_recall_of_true_neighbours_by_ids_and_by_distance():
    assert evaluation.neighbor_recall([[3, 1, -1], [5, 6, 7]], [[1, 2, 3], [8, 9, 4]]).tolist() == [2 / 3, 0]
    near, truth = (
        np.array([[1.0, 2.0, 2.0005], [4.0, 4.0, 4.0]]),
        np.array([[1.0, 2.0, 2.0, 3.0], [1.0, 1.0, 1.0, 1.0]]),
    )
    assert evaluation.neighbor_recall_by_distance(near, truth, 3).tolist() == [1, 0]
    assert evaluation.neighbor_recall_by_distance(near, truth, 3, epsilon=0).tolist() == [2 / 3, 0]
    missing = np.array([[1.0, np.inf, np.inf]])
    assert evaluation.neighbor_recall_by_distance(missing, truth[:1], 3).tolist() == [1 / 3]
