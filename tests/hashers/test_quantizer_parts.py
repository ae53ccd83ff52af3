"""What RankQuantizer is made of: codebooks, refinement and regression."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from learning_oracles import decoded, refine_loss, refine_once
from oracles import winners
from rankhash.hashers._quantizer import codebooks
from rankhash.hashers._quantizer.refinement import Refinement, learn_refinement
from rankhash.hashers._quantizer.regression import SymbolRegression

from .test_rank_quantizer import draw, spread


@pytest.mark.parametrize(("k", "n_symbols"), [(1, 1), (10, 1), (10, 3), (10, 10), (10, 25), (1, 7)])
def test_rotation_has_orthonormal_rows_and_parts_cover_it(k, n_symbols):
    points = draw(300, k)
    quantizer, _ = codebooks.learn_codebooks(points, n_symbols, 4, np.random.RandomState(0), 3, lambda _: None)
    rotation = quantizer.rotation.astype(np.float64)
    np.testing.assert_allclose(rotation @ rotation.T, np.eye(k), atol=1e-5)
    assert [part.start for part in quantizer.subspaces] == [0, *(part.stop for part in quantizer.subspaces[:-1])]
    assert quantizer.subspaces[-1].stop == rotation.shape[1] == max(k, n_symbols)
    assert {len(c) for c in quantizer.centroids} == {4}


def test_first_rotation_balances_the_variances():
    spread = np.array([8, 4, 2, 1.0])
    points = (np.random.default_rng(0).normal(size=(5000, 4)) * spread).astype(np.float32)
    rotation = codebooks.first_rotation(points, np.array([2, 2]), np.random.RandomState(0))
    pairs = [set(np.flatnonzero(rotation[:, part].sum(axis=1))) for part in (slice(0, 2), slice(2, 4))]
    assert pairs == [{0, 3}, {1, 2}]


def test_error_falls_over_the_rounds_and_a_rotation_helps():
    rng = np.random.default_rng(0)
    points = (rng.normal(size=(2000, 8)) @ rng.normal(size=(8, 8))).astype(np.float32)
    quantizer, errors = codebooks.learn_codebooks(points, 4, 8, np.random.RandomState(0), 20, lambda _: None)
    assert errors[-1] < 0.9 * errors[0]
    assert (np.diff(errors) <= 1e-3 * errors[0]).all()
    nearest = decoded(quantizer.encode(points), quantizer.codebook())
    assert ((points - nearest) ** 2).sum(axis=1).mean() <= errors[-1] * 1.001


@pytest.mark.parametrize("n_symbols", [1, 4, 10, 23])
def test_projections_and_biases_give_the_nearest_centroid_of_each_part(n_symbols):
    data = draw()
    points = data - data.mean(axis=0)
    quantizer, _ = codebooks.learn_codebooks(points, n_symbols, 5, np.random.RandomState(0), 3, lambda _: None)
    scores = (points.astype(np.float64) @ quantizer.codebook().T - quantizer.squares() / 2).reshape(600, n_symbols, 5)
    expected, lead = winners(scores)
    assert (quantizer.encode(points) == expected)[lead > 1e-4].all()
    for number, part in enumerate(quantizer.subspaces):
        gaps = ((points @ quantizer.rotation[:, part])[:, None, :] - quantizer.centroids[number]) ** 2
        assert (gaps.sum(axis=2).argmin(axis=1) == expected[:, number])[lead[:, number] > 1e-4].all()


@pytest.mark.parametrize("n_threads", [1, 2])
@settings(max_examples=30, deadline=None)
@given(data=st.data())
def test_refinement_takes_the_steps_of_its_slow_twin(data, n_threads):
    n_symbols, arity = data.draw(st.integers(1, 6)), data.draw(st.integers(2, 16))
    rng = np.random.default_rng(data.draw(st.integers(0, 10**6)))
    rows, x = rng.normal(size=(n_symbols * arity, 5)), rng.normal(size=(7, 5)) * 2
    crossing, penalty = rng.normal(size=len(rows)), data.draw(st.sampled_from([0.0, 0.3]))
    symbols = rng.integers(0, arity, (7, n_symbols)).astype(np.uint8)
    refinement = Refinement.of(rows, n_symbols, crossing, penalty, 1)
    better = refinement.improve(x.astype(np.float32), symbols, n_threads)
    expected = refine_once(x, symbols, rows, crossing, penalty, 4)
    # where two values are as good as equal, rounding may decide
    ours, theirs = (refine_loss(x, s, rows, crossing, penalty) for s in (better, expected))
    same = (better == expected).all(axis=1)
    assert same.mean() > 0.5
    np.testing.assert_allclose(ours[same], theirs[same])
    assert (ours <= refine_loss(x, symbols, rows, crossing, penalty) + 1e-4).all()


def test_more_descents_are_never_worse():
    rng = np.random.default_rng(0)
    rows, x = rng.normal(size=(8 * 16, 12)), (rng.normal(size=(300, 12)) * 3).astype(np.float32)
    symbols, last = rng.integers(0, 16, (300, 8)).astype(np.uint8), None
    for n_descents in (1, 2, 8, 32):
        better = Refinement.of(rows, 8, np.zeros(128), 0.0, n_descents).improve(x, symbols, 2)
        losses = refine_loss(x, better, rows, np.zeros(128), 0.0)
        assert last is None or (losses <= last + 1e-3).all()
        last = losses
    assert (
        last.mean()
        < 0.9
        * refine_loss(
            x, Refinement.of(rows, 8, np.zeros(128), 0.0, 1).improve(x, symbols, 1), rows, np.zeros(128), 0.0
        ).mean()
    )


def test_error_falls_while_the_decoder_is_refitted():
    points = spread(1500)
    quantizer, _ = codebooks.learn_codebooks(points, 4, 8, np.random.RandomState(0), 5, lambda _: None)
    symbols = quantizer.encode(points)
    told = []
    start = quantizer.codebook(), np.zeros(32)
    learned = learn_refinement(points, symbols, *start, 3, told.append, n_rounds=6)
    first = ((points - decoded(symbols, quantizer.codebook())) ** 2).sum(axis=1).mean()
    assert learned.errors[-1] < learned.errors[0] < first
    assert told == learned.errors.tolist()


def test_regression_finds_what_symbols_add():
    rng = np.random.default_rng(0)
    symbols = rng.integers(0, 4, (20_000, 3)).astype(np.uint8)
    rows = rng.normal(size=(12, 2))
    rows -= np.repeat(rows.reshape(3, 4, 2).mean(axis=1), 4, axis=0)
    found = SymbolRegression(symbols, 4).solve(decoded(symbols, rows))
    np.testing.assert_allclose(found, rows, atol=0.05)
