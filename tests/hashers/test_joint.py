"""What JRSH is made of: soft codes, objectives, batches, frames, the sums over pairs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import learning_oracles
import oracles
from rankhash import JRSH, _kernels
from rankhash.hashers._joint.batches import BatchSampler
from rankhash.hashers._joint.labels import CLOSE_ONLY, IGNORED, SIMILAR_ONLY
from rankhash.hashers._joint.learner import JointLearner
from rankhash.hashers._joint.objectives import (
    AveragePrecision,
    BallPrecision,
    Likelihood,
    SimilarAndClose,
    average_precision,
    best_threshold,
)
from rankhash.hashers._joint.schedule import CLASSES
from rankhash.hashers._joint.soft_codes import Adam, SoftCodes
from rankhash.hashers._joint.targets import objective_for
from rankhash.similarity import ClassLabels, MetricNeighbors, given_source

N_SYMBOLS = 6


def random_batch(n=40, n_symbols=N_SYMBOLS, seed=0, unknown=0.2):
    rng = np.random.default_rng(seed)
    agreement = rng.random((n, n)) * n_symbols
    labels = np.where(rng.random((n, n)) < unknown, IGNORED, rng.random((n, n)) < 0.3)
    labels = np.triu(labels, 1)
    labels = (labels + labels.T).astype(np.uint8)
    np.fill_diagonal(labels, IGNORED)
    return ((agreement + agreement.T) / 2).astype(np.float32), labels


@settings(max_examples=15, deadline=None)
@given(st.sampled_from([0, 1, 40, 300]), st.integers(2, 40), st.integers(0, 1000), st.sampled_from([1, 2, 5]))
def test_histograms_and_slopes_are_those_of_the_oracle(n, n_bins, seed, n_threads):
    agreement, labels = random_batch(n, seed=seed)
    n_kinds = 2 + seed % 3
    labels[np.random.default_rng(seed).random((n, n)) < 0.2] = 3
    found = _kernels.pair_histograms(agreement, labels, N_SYMBOLS, n_bins, n_threads, n_kinds)
    expected = learning_oracles.pair_histograms(agreement, labels, N_SYMBOLS, n_bins, n_kinds)
    assert np.allclose(found, expected, atol=2e-3)
    tables = np.random.default_rng(seed).random((n_kinds, n_bins), np.float32)
    slopes = _kernels.pair_slopes(agreement.copy(), labels, N_SYMBOLS, tables, n_threads)
    assert (slopes == learning_oracles.pair_slopes(agreement, labels, N_SYMBOLS, tables)).all()


def test_histograms_do_not_depend_on_the_number_of_threads():
    agreement, labels = random_batch(300)
    one, many = (_kernels.pair_histograms(agreement, labels, N_SYMBOLS, 513, threads) for threads in (1, 4))
    assert (one == many).all()


def test_agreement_outside_the_range_counts_at_its_end():
    agreement = np.float32([[0, -3, np.nan], [-3, 0, 9], [np.nan, 9, 0]])
    labels = np.zeros((3, 3), np.uint8)
    assert _kernels.pair_histograms(agreement, labels, 6, 3, 1)[0].tolist() == [2, 0, 1]


@pytest.mark.parametrize("arity", [2, 3, 8])
def test_sharp_soft_codes_agree_as_hard_ones_do(arity):
    rng = np.random.default_rng(0)
    rows = N_SYMBOLS if arity == 2 else N_SYMBOLS * arity
    scores = rng.normal(size=(30, rows)).astype(np.float32)
    each = scores.reshape(30, N_SYMBOLS, -1)
    symbols = (each[:, :, 0] > 0) if arity == 2 else each.argmax(axis=2)
    agreement = SoftCodes.of(scores, N_SYMBOLS, arity, 1e6).agreement()
    assert np.allclose(N_SYMBOLS - agreement, oracles.hamming(symbols, symbols))


@pytest.mark.parametrize("arity", [2, 3, 8])
def test_gradient_of_the_scores_is_the_finite_difference(arity):
    rng = np.random.default_rng(1)
    rows = N_SYMBOLS if arity == 2 else N_SYMBOLS * arity
    scores = rng.normal(size=(12, rows)).astype(np.float32)
    slopes = rng.normal(size=(12, 12)).astype(np.float32)
    slopes += slopes.T
    np.fill_diagonal(slopes, 0)

    def value(moved):
        return float((SoftCodes.of(moved, N_SYMBOLS, arity, 1.5).agreement().astype(np.float64) * slopes).sum() / 2)

    gradient = SoftCodes.of(scores, N_SYMBOLS, arity, 1.5).gradient(slopes)
    step = rng.normal(size=scores.shape).astype(np.float32) * np.float32(1e-2)
    assert (value(scores + step) - value(scores - step)) / 2 == pytest.approx(float((gradient * step).sum()), rel=0.02)


def objectives(counts):
    options = {"full": True, "n_threads": 1}
    return [
        AveragePrecision(N_SYMBOLS, counts, **options),
        Likelihood(N_SYMBOLS, counts, **options),
        BallPrecision(N_SYMBOLS, 2, (1.0, 0.5)),
    ]


@pytest.mark.parametrize("kind", [0, 1, 2])
def test_slopes_are_the_finite_difference_of_the_value(kind):
    agreement, labels = random_batch(200, seed=3)
    objective = objectives((float((labels == 0).sum() / 2), float((labels == 1).sum() / 2)))[kind]
    _, slopes = objective.slopes(agreement.copy(), labels, 0.3)
    assert (slopes[labels == IGNORED] == 0).all()
    assert np.allclose(slopes, slopes.T, atol=1e-9)
    step = np.random.default_rng(0).normal(size=agreement.shape).astype(np.float32) * np.float32(0.03)
    step += step.T
    values = [objective.slopes(agreement + sign * step, labels, 0.3)[0] for sign in (1, -1)]
    expected = float((slopes * step)[labels != IGNORED].sum() / 2)
    assert (values[0] - values[1]) / 2 == pytest.approx(expected, rel=0.03)


def test_average_precision_of_histograms_is_that_of_their_pairs():
    rng = np.random.default_rng(0)
    distances, relevant = rng.integers(0, 50, 4000), rng.random(4000) < 0.2
    distances[relevant] //= 2
    similar, dissimilar = (
        np.bincount(50 - distances[kind], minlength=51).astype(float) for kind in (relevant, ~relevant)
    )
    value, _, _ = average_precision(similar, dissimilar)
    steps = np.array([similar[::-1].cumsum(), dissimilar[::-1].cumsum()])
    assert value == pytest.approx((similar[::-1] * steps[0] / steps.sum(axis=0).clip(1)).sum() / similar.sum())
    assert value == pytest.approx(oracles.average_precision(distances[None], relevant[None]), abs=0.02)


def test_soft_average_precision_of_hard_codes_nears_the_exact_one():
    rng = np.random.default_rng(0)
    symbols = rng.integers(0, 2, (150, 64))
    labels = np.triu((rng.random((150, 150)) < 0.1), 1).astype(np.uint8)
    labels += labels.T
    np.fill_diagonal(labels, IGNORED)
    for i, j in zip(*np.nonzero(labels == 1), strict=True):
        symbols[j, :20] = symbols[i, :20]
    agreement = (64 - oracles.hamming(symbols, symbols)).astype(np.float32)
    pairs = np.triu(labels <= 1, 1)
    counts = (float((labels == 0).sum() / 2), float((labels == 1).sum() / 2))
    exact = oracles.average_precision((64 - agreement[pairs]).astype(int)[None], (labels[pairs] == 1)[None])
    soft = AveragePrecision(64, counts, full=True, n_threads=1).slopes(agreement, labels, 0.0)[0]
    assert soft == pytest.approx(exact, abs=0.03)


def test_the_threshold_is_where_both_kinds_are_equally_often_wrong():
    at = np.linspace(0, 10, 201)
    low, high = np.exp(-((at - 3) ** 2)), np.exp(-((at - 6) ** 2))
    low, high = low / low.sum(), high / high.sum()
    b = best_threshold(at, low, high, 2.0, 0.0)
    over = 1 / (1 + np.exp(-2 * (at - b)))
    assert over @ low == pytest.approx((1 - over) @ high, abs=1e-6)
    assert b == pytest.approx(4.5, abs=0.01)


def test_ball_precision_is_exact_for_hard_distances_and_a_sharp_edge():
    rng = np.random.default_rng(0)
    agreement = np.triu(rng.integers(0, 7, (30, 30)), 1).astype(np.float32)
    agreement += agreement.T
    labels = np.triu(rng.random((30, 30)) < 0.4, 1).astype(np.uint8)
    labels += labels.T
    np.fill_diagonal(labels, IGNORED)
    inside = (N_SYMBOLS - agreement <= 2) & (labels != IGNORED)
    sizes = inside.sum(axis=1)
    exact = ((inside & (labels == 1)).sum(axis=1) / (sizes + 0.3)).mean()
    found, _ = BallPrecision(N_SYMBOLS, 2, (0.02, 0.02)).slopes(agreement.copy(), labels, 1.0)
    assert found == pytest.approx(exact, abs=1e-3)
    of_many = BallPrecision(N_SYMBOLS, 2, (0.02, 0.02), share=0.25)
    fuller = ((inside & (labels == 1)).sum(axis=1) / (sizes + 0.3 / 64)).mean()
    assert of_many.slopes(agreement.copy(), labels, 1.0)[0] == pytest.approx(fuller, abs=1e-3)
    labels[labels == 1] = SIMILAR_ONLY
    labels[labels == 0] = CLOSE_ONLY
    assert BallPrecision(N_SYMBOLS, 2, (0.02, 0.02)).slopes(agreement, labels, 1.0)[0] == pytest.approx(exact, abs=1e-3)


def test_a_batch_of_neighbours_sees_its_share_of_a_ball():
    agreement = np.full((2, 2), N_SYMBOLS - 2.0, np.float32)
    labels = np.uint8([[IGNORED, 1], [1, IGNORED]])
    points = np.random.default_rng(0).normal(size=(2000, 4)).astype(np.float32)

    def value(source, size):
        sampler = BatchSampler(source, size, np.random.default_rng(0))
        return objective_for(CLASSES, N_SYMBOLS, source, sampler, radius=2).slopes(agreement.copy(), labels, 1.0)[0]

    neighbors = MetricNeighbors(points, 20, np.random.default_rng(0))
    whole, half, least, less = (value(neighbors, size) for size in (2000, 1000, 200, 50))
    assert whole < half < least == less
    assert value(ClassLabels(np.arange(2000) % 10), 1000) == whole


def test_similar_and_close_pairs_are_ranked_by_one_average_precision_each():
    agreement, similar = random_batch(200, seed=5)
    close = similar.copy()
    close[(agreement > 3.5) & (similar == 0)] = 1
    close[(agreement < 2.5) & (similar == 1)] = 0
    labels = similar.copy()
    labels[(similar == 0) & (close == 1)] = CLOSE_ONLY
    labels[(similar == 1) & (close == 0)] = SIMILAR_ONLY
    assert {CLOSE_ONLY, SIMILAR_ONLY} < set(labels.ravel().tolist())
    both = SimilarAndClose(N_SYMBOLS, 0.02, 1)
    found, slopes = both.slopes(agreement.copy(), labels, 0.5)
    value, expected = 0.0, np.zeros_like(slopes)
    for known, weight in ((similar, 1.0), (close, both.weight)):
        alone = AveragePrecision(N_SYMBOLS, (0.98, 0.02), full=False, n_threads=1)
        one, its_slopes = alone.slopes(agreement.copy(), known, 0.5)
        value, expected = value + weight * one, expected + weight * its_slopes
    assert found == pytest.approx(value)
    assert np.allclose(slopes, expected, atol=1e-9)


def test_close_pairs_weigh_less_in_long_codes_and_among_few_points():
    weights = [SimilarAndClose(n_symbols, share, 1).weight for n_symbols, share in ((64, 0.001), (64, 0.02))]
    assert weights == pytest.approx([1.0, 0.25])
    assert SimilarAndClose(4, 0.001, 1).weight == 2.0
    assert SimilarAndClose(256, 0.001, 1).weight == pytest.approx(0.5)


def test_adam_goes_uphill_at_its_rate():
    step = Adam((3,)).step(np.float32([5, -1e-6, 0]), 0.1)
    assert np.allclose(step, [0.1, -0.1, 0], atol=1e-3)


def test_batches_of_neighbours_are_random_points_with_both_kinds_of_labels():
    rng = np.random.default_rng(0)
    points = np.concatenate([rng.normal(size=(500, 8)) * 0.05, rng.normal(size=(4500, 8))]).astype(np.float32)
    source = MetricNeighbors(points, 40, rng)
    sampler = BatchSampler(source, 400, np.random.default_rng(0))
    batch = sampler.draw()
    assert not sampler.full
    assert len(batch.rows) == len(np.unique(batch.rows)) == 400
    assert 0.03 < (batch.rows < 500).mean() < 0.18
    assert (np.diag(batch.labels) == IGNORED).all()
    similar, close = source.both_among(batch.rows)
    apart = ~np.eye(400, dtype=bool)
    assert (batch.similarity[apart] == similar[apart]).all()
    for label, pair in ((0, (0, 0)), (1, (1, 1)), (CLOSE_ONLY, (0, 1)), (SIMILAR_ONLY, (1, 0))):
        assert (((similar == pair[0]) & (close == pair[1]))[apart] == (batch.labels == label)[apart]).all()
        assert (batch.labels == label).any()
    assert sampler.draw().rows.tolist() != batch.rows.tolist()


def test_batches_of_given_pairs_hold_both_kinds_and_nothing_unknown():
    rng = np.random.default_rng(0)
    rows = np.stack([*rng.integers(0, 3000, (2, 4000)), rng.random(4000) < 0.3], axis=1).astype(int)
    rows = rows[rows[:, 0] != rows[:, 1]]
    rows = rows[np.unique(np.sort(rows[:, :2], axis=1), axis=0, return_index=True)[1]]
    source = given_source(rows, 3000)
    batch = BatchSampler(source, 200, rng).draw()
    assert (batch.labels == 1).sum() > 20
    assert (batch.labels == 0).sum() > 20
    known = np.stack(np.nonzero(batch.labels <= 1), axis=1)
    assert (source.labels_of(batch.rows[known].astype(np.int32)) == batch.labels[batch.labels <= 1]).all()


def test_labels_among_rows_are_those_of_their_pairs():
    rng = np.random.default_rng(0)
    points = rng.normal(size=(60, 5)).astype(np.float32)
    classes = rng.integers(0, 3, 60)
    given_rows = np.array([(i, j, (i + j) % 2) for i in range(60) for j in range(i) if (i * j) % 3])
    sources = [ClassLabels(classes), MetricNeighbors(points, 6, rng), given_source(given_rows, 60)]
    rows = rng.permutation(60)[:25]
    pairs = np.stack(np.meshgrid(rows, rows, indexing="ij"), axis=2).reshape(-1, 2).astype(np.int32)
    apart = pairs[:, 0] != pairs[:, 1]
    for source in sources:
        among = source.labels_among(rows).ravel()
        assert (among[apart] == source.labels_of(pairs[apart])).all()
        assert (among[~apart] == -1).all()


def test_few_labelled_points_get_more_noise_than_many(monkeypatch):
    noises, learn = [], JointLearner.learn

    def spied(self, x, sampler, objective, lists, schedule, *rest):
        noises.append(schedule.noise)
        return learn(self, x, sampler, objective, lists, schedule, *rest)

    monkeypatch.setattr(JointLearner, "learn", spied)
    points = np.random.default_rng(0).normal(size=(2000, 8))
    for n in (100, 2000):
        JRSH(4, features="linear", n_steps=1, random_state=0).fit(points[:n], np.arange(n) % 3)
    JRSH(4, n_anchors=1000, n_steps=1, random_state=0).fit(points, np.arange(2000) % 3)
    JRSH(4, n_steps=1, noise=0.07, random_state=0).fit(points[:100], np.arange(100) % 3)
    assert noises == pytest.approx([0.7 * np.sqrt(8 / 100), 0.05, 0.7 * np.sqrt(1 / 2), 0.07])
