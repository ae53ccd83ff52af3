"""Codes with a decoder: the hasher contract, the quantiser, the refinement, the tables."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import load_digits

from oracles import decoded, linear_scores, refine_loss, refine_once, winners
from rankhash import JRSH, FlatIndex, _kernels
from rankhash.errors import InvalidInputError
from rankhash.hashers import _decoder, _opq, _symbols
from rankhash.hashers._reconstruction import MAX_ROWS, learn_reconstruction, reconstruction_tables
from rankhash.hashers._refinement import Refinement, learn_refinement
from rankhash.vectors import batches

from .contract import N_FEATURES, HasherContract, X

FAST = {"objective": "reconstruction", "random_state": 0, "verbose": False}
VARIANTS = {
    "winners": JRSH(20, 2, **FAST),
    "refined": JRSH(6, 16, refine=3, **FAST),
}


class TestContract(HasherContract):
    @pytest.fixture(params=VARIANTS, ids=str)
    def hasher(self, request, monkeypatch):
        monkeypatch.setattr(_decoder, "N_ROUNDS", 3)
        monkeypatch.setattr(learn_refinement, "__defaults__", (2,))
        return clone(VARIANTS[request.param])

    def test_a_large_input_is_never_copied_whole(self, fitted):
        large = np.random.default_rng(0).normal(size=((64 << 20) // 8 // N_FEATURES, N_FEATURES))
        learner = clone(fitted).set_params(max_points=10_000)
        tracemalloc.start()
        try:
            codes = learner.fit(large).encode(large)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert peak - codes.nbytes < large.nbytes / 2

    def test_score_tables_are_distances_to_the_own_symbol(self, fitted):
        tables, symbols = fitted.score_tables(X), fitted.transform(X)
        assert tables.dtype == np.float32
        assert tables.shape == (len(X), fitted.layout_.n_symbols, fitted.layout_.arity)
        own = np.take_along_axis(tables, symbols[:, :, None].astype(np.intp), axis=2).sum(axis=(1, 2))
        assert own.mean() < 0.25 * tables.mean(axis=2).sum(axis=1).mean()


def decoding(n_symbols, arity=16, **options):
    return JRSH(n_symbols, arity, **FAST, **options)


def draw(n=600, d=10, seed=0):
    rng = np.random.default_rng(seed)
    centres = np.random.default_rng(99).normal(size=(12, d)) * np.linspace(3, 0.5, d)
    return (centres[rng.integers(0, 12, n)] + rng.normal(size=(n, d)) * 0.5 + 7).astype(np.float32)


def spread(n, seed=0):
    """Correlated vectors without clusters, 20 dimensions."""
    mix = np.random.default_rng(98).normal(size=(20, 20)) * np.linspace(2, 0.3, 20)[:, None]
    return (np.random.default_rng(seed).normal(size=(n, 20)) @ mix).astype(np.float32)


def learn(data, n_symbols, arity, **options):
    options = {"max_points": 100_000, "n_rounds": 8} | options
    return learn_reconstruction(batches(data), n_symbols, arity, np.random.RandomState(0), **options)


@pytest.mark.parametrize(("k", "n_symbols"), [(1, 1), (10, 1), (10, 3), (10, 10), (10, 25), (1, 7)])
def test_rotation_has_orthonormal_rows_and_parts_cover_it(k, n_symbols):
    points = draw(300, k)
    quantizer, _ = _opq.learn_quantizer(points, n_symbols, 4, np.random.RandomState(0), 3, lambda _: None)
    rotation = quantizer.rotation.astype(np.float64)
    np.testing.assert_allclose(rotation @ rotation.T, np.eye(k), atol=1e-5)
    assert [part.start for part in quantizer.parts] == [0, *(part.stop for part in quantizer.parts[:-1])]
    assert quantizer.parts[-1].stop == rotation.shape[1] == max(k, n_symbols)
    assert {len(c) for c in quantizer.centroids} == {4}


def test_first_rotation_balances_the_variances():
    spread = np.array([8, 4, 2, 1.0])
    points = (np.random.default_rng(0).normal(size=(5000, 4)) * spread).astype(np.float32)
    rotation = _opq.first_rotation(points, np.array([2, 2]), np.random.RandomState(0))
    pairs = [set(np.flatnonzero(rotation[:, part].sum(axis=1))) for part in (slice(0, 2), slice(2, 4))]
    assert pairs == [{0, 3}, {1, 2}]


def test_error_falls_over_the_rounds_and_a_rotation_helps():
    rng = np.random.default_rng(0)
    points = (rng.normal(size=(2000, 8)) @ rng.normal(size=(8, 8))).astype(np.float32)
    quantizer, errors = _opq.learn_quantizer(points, 4, 8, np.random.RandomState(0), 20, lambda _: None)
    assert errors[-1] < 0.9 * errors[0]
    assert (np.diff(errors) <= 1e-3 * errors[0]).all()
    nearest = decoded(quantizer.encode(points), quantizer.codebook())
    assert ((points - nearest) ** 2).sum(axis=1).mean() <= errors[-1] * 1.001


@pytest.mark.parametrize("arity", range(2, 17))
def test_winners_are_the_nearest_centroids_for_every_arity(arity):
    data = draw()
    hasher = decoding(3, arity).fit(data)
    symbols = hasher.transform(data)
    assert symbols.max() == arity - 1
    rows = hasher.decoder_.astype(np.float64).reshape(3, arity, -1)
    centred = data.astype(np.float64) - hasher.center_
    gaps = ((centred[:, None, None, :] - rows) ** 2).sum(axis=3)
    # the parts are orthogonal: a row that is nearer in the whole space is nearer in its part
    own = np.take_along_axis(gaps, symbols[:, :, None].astype(np.intp), axis=2)[:, :, 0]
    np.testing.assert_allclose(own, gaps.min(axis=2), rtol=1e-4, atol=1e-3)
    scores = linear_scores(data, hasher.projections_, hasher.bias_, hasher.center_, 3, arity)
    expected, lead = winners(scores)
    assert (symbols == expected)[lead > 1e-4].all()


@pytest.mark.parametrize("n_symbols", [1, 4, 10, 23])
def test_projections_and_biases_give_the_nearest_centroid_of_each_part(n_symbols):
    data = draw()
    points = data - data.mean(axis=0)
    quantizer, _ = _opq.learn_quantizer(points, n_symbols, 5, np.random.RandomState(0), 3, lambda _: None)
    scores = (points.astype(np.float64) @ quantizer.codebook().T - quantizer.squares() / 2).reshape(600, n_symbols, 5)
    expected, lead = winners(scores)
    assert (quantizer.encode(points) == expected)[lead > 1e-4].all()
    for number, part in enumerate(quantizer.parts):
        gaps = ((points @ quantizer.rotation[:, part])[:, None, :] - quantizer.centroids[number]) ** 2
        assert (gaps.sum(axis=2).argmin(axis=1) == expected[:, number])[lead[:, number] > 1e-4].all()


@pytest.mark.parametrize("refine", [0, 4])
@pytest.mark.parametrize("metric", ["l2", "ip"])
def test_tables_are_distances_to_decoded_vectors(metric, refine):
    data, queries = draw(), draw(9, seed=1)
    hasher = decoding(6, 8, refine=refine).fit(data)
    arrays = hasher._decoder_arrays()
    symbols = hasher.transform(data)
    tables = reconstruction_tables(queries, arrays, 6, metric).astype(np.float64)
    sums = np.array([[sum(t[place, s] for place, s in enumerate(code)) for code in symbols] for t in tables])
    rows = hasher.decoder_.astype(np.float64)
    vectors = hasher.center_ + decoded(symbols, rows)
    if metric == "ip":
        np.testing.assert_allclose(sums, -(queries.astype(np.float64) @ vectors.T), rtol=1e-4)
        return
    lengths = decoded(symbols, hasher.lengths_[:, None].astype(np.float64))[:, 0]
    off = lengths - (decoded(symbols, rows) ** 2).sum(axis=1)
    exact = ((queries[:, None, :] - vectors) ** 2).sum(axis=2)
    np.testing.assert_allclose(sums, exact + off, rtol=1e-4, atol=1e-2)
    assert np.corrcoef(sums.ravel(), exact.ravel())[0, 1] > 0.99
    np.testing.assert_allclose(hasher.decode(hasher.layout_.pack(symbols)), vectors, rtol=1e-5)


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


def test_refined_codes_describe_vectors_at_least_as_well_as_winners():
    digits = np.random.default_rng(0).permutation(load_digits().data).astype(np.float32)
    data, fresh = digits[:900], digits[900:]
    hasher, plain = decoding(8, refine=8).fit(data), decoding(8).fit(data)
    codes = _kernels.encode(fresh, hasher.projections_, hasher.bias_, hasher.center_, 8, 16, 1)[0]
    np.testing.assert_array_equal(codes, plain.encode(fresh))
    start, refined = _kernels.unpack(codes, 8, 16), hasher.transform(fresh)
    penalty, scale = (float(value) for value in hasher.refinement_[1:])
    x, rows = (fresh - hasher.center_).astype(np.float64) / scale, hasher.decoder_.astype(np.float64) / scale
    before, after = (refine_loss(x, s, rows, hasher.crossing_, penalty) for s in (start, refined))
    assert (after <= before + 1e-4).all()
    errors = [((fresh - h.decode(h.encode(fresh))) ** 2).sum(axis=1).mean() for h in (plain, hasher)]
    assert errors[1] < 0.98 * errors[0]


def test_error_falls_while_the_decoder_is_refitted():
    points = spread(1500)
    quantizer, _ = _opq.learn_quantizer(points, 4, 8, np.random.RandomState(0), 5, lambda _: None)
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
    found = _symbols.SymbolRegression(symbols, 4).solve(decoded(symbols, rows))
    np.testing.assert_allclose(found, rows, atol=0.05)


@pytest.mark.parametrize("refine", [0, 2])
@pytest.mark.parametrize(
    "data",
    [
        draw(3, 5),
        draw(2, 1),
        draw(40, 1),
        np.repeat(draw(2, 6), 30, axis=0),
        draw(50, 300),
        draw(100, 4) * 1e-18,
        draw(100, 4) * 1e15,
        np.hstack([draw(80, 3), np.ones((80, 3), np.float32)]),
    ],
    ids=["3 points", "2 points", "1 dimension", "duplicates", "few points", "tiny", "huge", "constant columns"],
)
def test_awkward_vectors_give_finite_models(data, refine):
    hasher = decoding(9, 16, refine=refine).fit(data)
    assert np.isfinite(hasher.history_["error"]).all()
    for name in (*hasher._code_arrays, *hasher._side_arrays):
        array = getattr(hasher, name)
        assert array is None or np.isfinite(array).all(), name
    assert hasher.transform(data).shape == (len(data), 9)
    assert np.isfinite(hasher.score_tables(data)).all()


@pytest.mark.parametrize("refine", [0, 4])
def test_a_scan_finds_most_of_the_nearest(refine):
    data, queries = spread(3000), spread(50, seed=5)
    hasher = decoding(12, 16, refine=refine).fit(spread(3000, seed=9))
    index = FlatIndex(hasher.layout_)
    index.add(hasher.encode(data))
    found = index.search_tables(hasher.score_tables(queries), 10).ids
    truth = np.argsort(((queries[:, None] - data) ** 2).sum(axis=2), axis=1)[:, :10]
    assert np.mean([len(np.intersect1d(a, b)) for a, b in zip(found, truth, strict=True)]) > 4


def test_too_many_rows_and_constant_vectors_are_refused():
    with pytest.raises(InvalidInputError, match=f"must be at most {MAX_ROWS}, got {MAX_ROWS + 16}; use fewer symbols"):
        learn(draw(), MAX_ROWS // 16 + 1, 16)
    with pytest.raises(InvalidInputError, match="all vectors are the same"):
        learn(np.full((30, 4), 3.3), 2, 4)


def test_what_belongs_to_the_other_objective_is_refused():
    data = draw(100)
    with pytest.raises(InvalidInputError, match="takes features='linear' only"):
        decoding(4, features="rbf").fit(data)
    with pytest.raises(InvalidInputError, match="cannot learn from a stream"):
        decoding(4).partial_fit(data)
    with pytest.raises(InvalidInputError, match="refine must be an integer from 0 to 10000, got -1"):
        decoding(4, refine=-1).fit(data)
    with pytest.raises(InvalidInputError, match="objective must be 'pairs' or 'reconstruction', got 'x'"):
        JRSH(4, objective="x").fit(data)
    pairs = JRSH(4, n_steps=3, n_neighbors=5, random_state=0).fit(data)
    with pytest.raises(InvalidInputError, match="only codes learned with objective='reconstruction' can be decoded"):
        pairs.decode(pairs.encode(data))


def test_fitting_for_pairs_forgets_the_decoder():
    data = draw(100)
    hasher = decoding(4, refine=2, n_steps=3, n_neighbors=5).fit(data)
    hasher.set_params(objective="pairs").fit(data)
    fresh = clone(hasher).fit(data)
    assert hasher.decoder_ is None
    assert hasher.fingerprint == fresh.fingerprint
    np.testing.assert_array_equal(hasher.encode(data), fresh.encode(data))
    np.testing.assert_array_equal(hasher.score_tables(data), fresh.score_tables(data))


def test_auto_arity_is_16_and_the_course_can_be_seen():
    told = []
    hasher = JRSH(4, refine=1, callback=told.append, **FAST).fit(draw(300))
    assert hasher.layout_.arity == 16
    assert [step["error"] for step in told] == hasher.history_["error"]
    assert hasher.history_["error"][-1] < hasher.history_["error"][0] < 1
    assert len(hasher.plot_history().data) == 1
    assert "4 symbols of arity 16" in hasher.report()
