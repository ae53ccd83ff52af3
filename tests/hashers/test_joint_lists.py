"""What JRSH without labels adds to its objective: the start from ITQ, lists of nearest neighbours, the check."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from rankhash import ITQ, JRSH, _ranking, load_hasher
from rankhash.hashers import jrsh
from rankhash.hashers._joint import check, lists
from rankhash.hashers._joint.learner import JointLearner
from rankhash.hashers._joint.soft_codes import SoftCodes, with_constant
from rankhash.similarity import MetricNeighbors

RNG = np.random.default_rng(0)
POINTS = RNG.normal(size=(700, 6)).astype(np.float32)
SOURCE = MetricNeighbors(POINTS, 20, np.random.default_rng(0))


def new_lists(n_symbols=5):
    return lists.NearestLists(POINTS, SOURCE, n_symbols, np.random.default_rng(0))


def test_the_gradient_of_lists_is_the_finite_difference_of_their_loss(monkeypatch):
    n_symbols, sharpness, eps = 5, 0.7, 1e-3
    weights = RNG.normal(size=(n_symbols, 7)).astype(np.float32)
    made = new_lists(n_symbols)
    made.gradient(weights, sharpness)
    rows = made._lists()[:8]
    monkeypatch.setattr(made, "_lists", lambda: rows)
    scale = lists.TEMPERATURE * np.sqrt(n_symbols)

    def value(w):
        soft = np.tanh(sharpness * with_constant(POINTS)[rows].astype(np.float64) @ w.T)
        agreement = (soft[:, 1:] * soft[:, :1]).sum(axis=2) / 2
        apart = agreement[:, : lists.N_NEAREST, None] - agreement[:, None, lists.N_NEAREST :]
        return -scale * np.log1p(np.exp(-apart / scale)).sum()

    found = made.gradient(weights, sharpness)
    for symbol, column in [(0, 0), (2, 3), (4, 6)]:
        step = np.zeros(weights.shape)
        step[symbol, column] = eps
        expected = (value(weights + step) - value(weights - step)) / (2 * eps)
        assert found[symbol, column] == pytest.approx(expected, rel=1e-3, abs=1e-3)


def test_a_list_has_the_nearest_points_and_hits_of_the_codes_that_are_not_near():
    made, weights = new_lists(), RNG.normal(size=(5, 7)).astype(np.float32)
    made.gradient(weights, 1.0)
    rows = made._lists()
    apart = ((POINTS[rows[:, 0], None] - POINTS) ** 2).sum(axis=2)
    order = np.argsort(apart, axis=1, kind="stable")
    assert (np.sort(rows[:, 1:11], axis=1) == np.sort(order[:, 1:11], axis=1)).all()
    hard = rows[:, 11 : 11 + lists.N_HARD]
    assert not (hard[:, :, None] == order[:, None, : lists.N_UNDECIDED + 1]).any()
    codes = with_constant(POINTS) @ weights.T > 0
    distances = (codes[rows[:, 0], None] != codes).sum(axis=2)
    last = np.sort(distances, axis=1)[:, lists.DEPTH + lists.N_UNDECIDED]
    assert (np.take_along_axis(distances, hard, axis=1) <= last[:, None]).all()


@pytest.mark.parametrize("n_symbols", [4, 6, 9])
def test_learning_starts_from_the_codes_of_itq(n_symbols):
    axes = np.linalg.svd(POINTS - POINTS.mean(axis=0), full_matrices=False)[2]
    x = (POINTS - POINTS.mean(axis=0)) @ axes.T
    learner = JointLearner.rotated(np.random.RandomState(0), n_symbols, x.astype(np.float32))
    itq = ITQ(n_symbols, random_state=0).fit(x)
    assert (learner.symbols(x.astype(np.float32)) == itq.transform(x)).mean() > 0.99


def test_score_gradients_are_those_of_slopes():
    soft = SoftCodes.of(RNG.normal(size=(9, 4)).astype(np.float32), 4, 2, 0.5)
    slopes = RNG.normal(size=(9, 9)).astype(np.float32)
    np.testing.assert_array_equal(soft.gradient(slopes), soft.score_gradient(slopes @ soft.values))


def test_squares_to_points_are_those_of_their_differences():
    rows = np.array([3, 1, 600])
    expected = ((POINTS[:4, None] - POINTS[rows]) ** 2).sum(axis=2)
    np.testing.assert_allclose(SOURCE.squares_to(POINTS[:4], rows), expected, atol=1e-4)
    assert SOURCE.spread == pytest.approx(np.sqrt(expected_spread()), rel=0.05)


def expected_spread():
    squares = ((POINTS[:, None] - POINTS) ** 2).sum(axis=2)[np.triu_indices(len(POINTS), 1)]
    return squares[squares <= SOURCE.radius**2].mean() / 12


def held_out():
    return check.HeldOut.of(RNG.normal(size=(50, 6)).astype(np.float32), SOURCE, 10, np.random.default_rng(0))


def test_the_check_takes_what_has_the_higher_recall(monkeypatch):
    held = held_out()
    good, bad = (JointLearner(np.resize(RNG.normal(size=(n, 7)), (40, 7)).astype(np.float32), 40, 2) for n in (40, 2))
    for learner, itq, kept in [(good, bad, good.weights), (bad, good, good.weights)]:
        quality = check.take_better(learner.copy(), itq, held)
        taken = learner.copy()
        np.testing.assert_array_equal(check.take_better(taken, itq, held), quality)
        np.testing.assert_array_equal(taken.weights, kept)
    rank = JointLearner(RNG.normal(size=(6, 7)).astype(np.float32), 2, 3)
    before = rank.weights.copy()
    assert check.take_better(rank, good, held)[0, 0] < 1
    np.testing.assert_array_equal(rank.weights, before)


def test_projections_between_are_taken_if_they_find_most(monkeypatch):
    learner, itq = (JointLearner(RNG.normal(size=(8, 7)).astype(np.float32), 8, 2) for _ in range(2))
    for recalls, taken in [((0.5, 0.495, 0.6), "between"), ((0.5, 0.495, 0.4), "learned"), ((0.5, 0.55, 0.52), "itq")]:
        found = iter([[[recalls[0], 0.1], [recalls[1], 0.2]], [[recalls[2], 0.3]]])
        held = SimpleNamespace(quality=lambda *_, found=found: np.array(next(found), np.float32))
        kept = learner.copy()
        quality = check.take_better(kept, itq, held)
        between = learner.weights / 2 + itq.weights / 2
        between /= np.linalg.norm(between, axis=1, keepdims=True)
        expected = {"between": between, "learned": learner.weights, "itq": itq.weights}[taken]
        np.testing.assert_allclose(kept.weights, expected, rtol=1e-5)
        assert quality[0, 0] == pytest.approx(max(recalls[0], recalls[2]))
    clear = SimpleNamespace(quality=lambda *learners: np.array([[0.5, 0], [0.48, 0]])[: len(learners)])
    assert check.take_better(learner.copy(), itq, clear)[0, 0] == 0.5


@pytest.mark.parametrize("block", [1, 1 << 21])
def test_the_check_finds_what_a_search_would_find(monkeypatch, block):
    monkeypatch.setattr(check, "BLOCK_FLOATS", block)
    held, learner = held_out(), JointLearner(RNG.normal(size=(12, 7)).astype(np.float32), 12, 2)
    assert len(held.rows) == len(POINTS)
    queries, database = learner.symbols(held.queries), learner.symbols(POINTS)
    distances = (queries[:, None] != database).sum(axis=2)
    np.testing.assert_array_equal(_ranking.symbol_distances(queries, database), distances)
    squares = ((held.queries[:, None] - POINTS) ** 2).sum(axis=2)
    nearest = np.argsort(squares, axis=1)[:, :10]
    shuffled = np.mean([recall_in_some_order(distances, nearest, seed) for seed in range(40)])
    seen = squares if block > 1 else squares[:1]
    similar = squares <= np.quantile(seen, SOURCE.similar_rate)
    found = held.quality(learner, learner)
    assert found[0, 0] == pytest.approx(shuffled, abs=0.01)
    assert found[0, 1] == pytest.approx(_ranking.average_precision(distances, similar), abs=0.01)
    np.testing.assert_array_equal(found[0], found[1])


def recall_in_some_order(distances, nearest, seed):
    ties = np.random.default_rng(seed).random(distances.shape)
    first = np.argsort(distances + ties / 2, axis=1)[:, :100]
    return np.mean([np.isin(a, b).mean() for a, b in zip(nearest, first, strict=True)])


def raw(n):
    """Vectors with a few dominant axes, in large units, as raw pixels have."""
    rng = np.random.default_rng(1)
    return (rng.normal(size=(n, 12)) @ rng.normal(size=(12, 40)) + rng.normal(size=(n, 40))) * 300


def test_codes_are_never_worse_than_those_of_itq_and_the_report_says_so(tmp_path):
    hasher = JRSH(n_bytes=4, n_steps=40, random_state=0).fit(raw(3000))
    learned, itq = hasher.check_
    assert learned[0] > itq[0] + 0.01
    assert learned[1] > itq[1] + 0.02
    lines = hasher.report().splitlines()
    assert lines[-3] == "held-out vectors: recall of the 10 nearest among 100, average precision"
    assert lines[-2].split() == ["learned", f"{learned[0]:.3f}", f"{learned[1]:.3f}"]
    hasher.save(tmp_path / "h")
    assert load_hasher(tmp_path / "h").report() == hasher.report()


def test_worse_codes_are_replaced_by_those_of_itq(monkeypatch):
    vectors = raw(2500)
    monkeypatch.setattr(jrsh.Schedule, "rate_at", lambda *_: 10.0)
    hasher = JRSH(n_bytes=4, n_steps=5, random_state=0).fit(vectors)
    assert hasher.check_[0, 0] < hasher.check_[1, 0]
    assert hasher.report().splitlines()[-1] == "the codes are those of ITQ"
    assert not hasher.bias_.any()
    gram = hasher.projections_ @ hasher.projections_.T
    assert np.abs(gram - np.diag(np.diag(gram))).max() < 1e-3 * gram.max()
    ranks = JRSH(n_bytes=4, arity=4, n_steps=5, random_state=0).fit(vectors)
    assert ranks.report().splitlines()[-1] == "ITQ of as many bits is better: take arity 2"


def test_as_many_vectors_are_held_out_as_tell_a_hundredth_apart(monkeypatch):
    seen = []
    monkeypatch.setattr(jrsh, "take_better", lambda *given: seen.append(given[2]) or np.zeros((2, 2), np.float32))
    JRSH(8, n_steps=1, random_state=0).fit(raw(12_000))
    assert len(seen[0].queries) == 1000
    assert len(seen[0].rows) == 11_000


def test_few_vectors_and_labels_are_not_checked():
    vectors = raw(2000)
    assert JRSH(8, n_steps=2, random_state=0).fit(vectors[:1999]).check_ is None
    assert JRSH(8, n_steps=2, random_state=0).fit(vectors, np.arange(2000) % 3).check_ is None
    assert JRSH(8, n_steps=2, target="radius", random_state=0).fit(vectors).check_ is None
    assert JRSH(8, n_steps=2, random_state=0).fit(vectors).check_.shape == (2, 2)


def recall(hasher, vectors, queries):
    apart = ((queries[:, None] - vectors) ** 2).sum(axis=2)
    nearest = np.argpartition(apart, 10, axis=1)[:, :10]
    return check.recall(_ranking.symbol_distances(hasher.transform(queries), hasher.transform(vectors)), nearest, 100)


def test_more_vectors_do_not_make_codes_worse():
    vectors, queries = np.split(raw(6200), [6000])
    found = {}
    for n in (1000, 2000, 6000):
        learned = [JRSH(32, n_steps=100, random_state=seed).fit(vectors[:n]) for seed in (0, 1)]
        found[n] = np.mean([recall(hasher, vectors, queries) for hasher in learned])
        assert found[n] > recall(ITQ(32, random_state=0).fit(vectors[:n]), vectors, queries) - 0.01, found
    assert found[6000] > max(found.values()) - 0.01, found
