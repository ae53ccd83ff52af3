"""What JRSH is made of: soft codes, objectives, batches, frames, the sums over pairs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import oracles
from rankhash import _kernels, _ranking
from rankhash.codes import CodeLayout
from rankhash.errors import InvalidInputError
from rankhash.hashers._frame import MAX_AXES, measure_frame
from rankhash.hashers._grids import Grids
from rankhash.hashers._objectives import (
    CLOSE_ONLY,
    LEFT_OUT,
    SIMILAR_ONLY,
    AveragePrecision,
    BallPrecision,
    Likelihood,
    SimilarAndClose,
    average_precision,
    best_threshold,
)
from rankhash.hashers._recipes import radius_objective
from rankhash.hashers._sharpness import best_sharpness
from rankhash.hashers._soft import Adam, SoftCodes
from rankhash.similarity import ClassLabels, MetricNeighbors, given_source

N_SYMBOLS = 6


def random_grid(n=40, n_symbols=N_SYMBOLS, seed=0, unknown=0.2):
    rng = np.random.default_rng(seed)
    agreement = rng.random((n, n)) * n_symbols
    labels = np.where(rng.random((n, n)) < unknown, LEFT_OUT, rng.random((n, n)) < 0.3)
    labels = np.triu(labels, 1)
    labels = (labels + labels.T).astype(np.uint8)
    np.fill_diagonal(labels, LEFT_OUT)
    return ((agreement + agreement.T) / 2).astype(np.float32), labels


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 40), st.integers(2, 40), st.integers(0, 1000), st.sampled_from([1, 2, 5]))
def test_histograms_and_slopes_are_those_of_the_oracle(n, n_bins, seed, n_threads):
    agreement, labels = random_grid(n, seed=seed)
    found = _kernels.pair_histograms(agreement, labels, N_SYMBOLS, n_bins, n_threads)
    assert np.allclose(found, oracles.pair_histograms(agreement, labels, N_SYMBOLS, n_bins), atol=1e-4)
    tables = np.random.default_rng(seed).random((2, n_bins), np.float32)
    slopes = _kernels.pair_slopes(agreement.copy(), labels, N_SYMBOLS, tables, n_threads)
    assert (slopes == oracles.pair_slopes(agreement, labels, N_SYMBOLS, tables)).all()


def test_histograms_do_not_depend_on_the_number_of_threads():
    agreement, labels = random_grid(300)
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
    options = {"whole": True, "n_threads": 1}
    return [
        AveragePrecision(N_SYMBOLS, counts, **options),
        Likelihood(N_SYMBOLS, counts, **options),
        BallPrecision(N_SYMBOLS, 2, (1.0, 0.5)),
    ]


@pytest.mark.parametrize("kind", [0, 1, 2])
def test_slopes_are_the_finite_difference_of_the_value(kind):
    agreement, labels = random_grid(200, seed=3)
    objective = objectives((float((labels == 0).sum() / 2), float((labels == 1).sum() / 2)))[kind]
    _, slopes = objective.slopes(agreement.copy(), labels, 0.3)
    assert (slopes[labels == LEFT_OUT] == 0).all()
    assert np.allclose(slopes, slopes.T, atol=1e-9)
    step = np.random.default_rng(0).normal(size=agreement.shape).astype(np.float32) * np.float32(0.03)
    step += step.T
    values = [objective.slopes(agreement + sign * step, labels, 0.3)[0] for sign in (1, -1)]
    expected = float((slopes * step)[labels != LEFT_OUT].sum() / 2)
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
    np.fill_diagonal(labels, LEFT_OUT)
    for i, j in zip(*np.nonzero(labels == 1), strict=True):
        symbols[j, :20] = symbols[i, :20]
    agreement = (64 - oracles.hamming(symbols, symbols)).astype(np.float32)
    pairs = np.triu(labels <= 1, 1)
    counts = (float((labels == 0).sum() / 2), float((labels == 1).sum() / 2))
    exact = oracles.average_precision((64 - agreement[pairs]).astype(int)[None], (labels[pairs] == 1)[None])
    soft = AveragePrecision(64, counts, whole=True, n_threads=1).slopes(agreement, labels, 0.0)[0]
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
    np.fill_diagonal(labels, LEFT_OUT)
    inside = (N_SYMBOLS - agreement <= 2) & (labels != LEFT_OUT)
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
    labels = np.uint8([[LEFT_OUT, 1], [1, LEFT_OUT]])
    points = np.random.default_rng(0).normal(size=(2000, 4)).astype(np.float32)

    def value(source, size):
        grids = Grids(source, size, np.random.default_rng(0))
        return radius_objective(CodeLayout(N_SYMBOLS, 2), 2, source, grids).slopes(agreement.copy(), labels, 1.0)[0]

    neighbors = MetricNeighbors(points, 20, np.random.default_rng(0))
    whole, half, least, less = (value(neighbors, size) for size in (2000, 1000, 200, 50))
    assert whole < half < least == less
    assert value(ClassLabels(np.arange(2000) % 10), 1000) == whole


def test_similar_and_close_pairs_are_ranked_by_one_average_precision_each():
    agreement, similar = random_grid(200, seed=5)
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
        alone = AveragePrecision(N_SYMBOLS, (0.98, 0.02), whole=False, n_threads=1)
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
    grids = Grids(source, 400, np.random.default_rng(0))
    grid = grids.draw()
    assert not grids.whole
    assert len(grid.rows) == len(np.unique(grid.rows)) == 400
    assert 0.03 < (grid.rows < 500).mean() < 0.18
    assert (np.diag(grid.labels) == LEFT_OUT).all()
    similar, close = source.both_among(grid.rows)
    apart = ~np.eye(400, dtype=bool)
    assert (grid.plain[apart] == similar[apart]).all()
    for label, pair in ((0, (0, 0)), (1, (1, 1)), (CLOSE_ONLY, (0, 1)), (SIMILAR_ONLY, (1, 0))):
        assert (((similar == pair[0]) & (close == pair[1]))[apart] == (grid.labels == label)[apart]).all()
        assert (grid.labels == label).any()
    assert grids.draw().rows.tolist() != grid.rows.tolist()


def test_batches_of_given_pairs_hold_both_kinds_and_nothing_unknown():
    rng = np.random.default_rng(0)
    rows = np.stack([*rng.integers(0, 3000, (2, 4000)), rng.random(4000) < 0.3], axis=1).astype(int)
    rows = rows[rows[:, 0] != rows[:, 1]]
    rows = rows[np.unique(np.sort(rows[:, :2], axis=1), axis=0, return_index=True)[1]]
    source = given_source(rows, 3000)
    grid = Grids(source, 200, rng).draw()
    assert (grid.labels == 1).sum() > 20
    assert (grid.labels == 0).sum() > 20
    known = np.stack(np.nonzero(grid.labels <= 1), axis=1)
    assert (source.labels_of(grid.rows[known].astype(np.int32)) == grid.labels[grid.labels <= 1]).all()


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


def test_a_frame_keeps_distances_and_has_unit_deviation():
    rng = np.random.default_rng(0)
    vectors = (rng.normal(size=(500, 7)) * np.arange(1, 8) * 1e3 + 50).astype(np.float32)
    frame = measure_frame(vectors, vectors.mean(axis=0), turned=True)
    points = frame.points(vectors)
    ratio = np.linalg.norm(points[1:] - points[0], axis=1) / np.linalg.norm(vectors[1:] - vectors[0], axis=1)
    assert np.allclose(ratio, 1 / frame.scale, rtol=1e-4)
    variances = points.var(axis=0)
    assert (variances**2).sum() / variances.sum() == pytest.approx(1, rel=1e-3)
    weights = rng.normal(size=(3, 7)).astype(np.float32)
    assert np.allclose((vectors - frame.center) @ frame.fold(weights).T, points @ weights.T, atol=1e-2)


def test_a_frame_has_a_bounded_number_of_axes_and_refuses_what_float32_cannot_undo():
    rng = np.random.default_rng(0)
    wide = rng.normal(size=(40, MAX_AXES + 100)).astype(np.float32)
    assert len(measure_frame(wide, wide.mean(axis=0), turned=True).turn) <= 40
    with pytest.raises(InvalidInputError, match="which float32 projections cannot undo"):
        measure_frame(wide * np.float32(1e-35), np.zeros(wide.shape[1], np.float32), turned=True)


def test_the_chosen_sharpness_ranks_best():
    rng = np.random.default_rng(0)
    centers = rng.normal(size=(6, 20, 3))
    classes = rng.integers(0, 6, 300)
    scores = (centers[classes] + 1.5 * rng.normal(size=(300, 20, 3))).astype(np.float32)
    labels = (classes[:, None] == classes).astype(np.uint8)
    np.fill_diagonal(labels, LEFT_OUT)
    hard = scores == scores.max(axis=2, keepdims=True)

    def precision(factor):
        shares = np.exp(factor * scores - (factor * scores).max(axis=2, keepdims=True))
        agreement = np.einsum("nsk,msk->nm", shares / shares.sum(axis=2, keepdims=True), hard)
        chosen = labels <= 1
        return _ranking.average_precision(-agreement[chosen], labels[chosen] == 1)

    chosen = best_sharpness(scores, labels)
    assert precision(chosen) > precision(chosen * 8)
    assert precision(chosen) > precision(chosen / 8) - 0.01
