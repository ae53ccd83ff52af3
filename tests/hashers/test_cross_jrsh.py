"""CrossJRSH: the contract of hashers of several views, its gradients, and what it learns from."""

import numpy as np
import pytest
from sklearn.base import clone

from rankhash import CrossJRSH, load_hasher
from rankhash.errors import InvalidInputError
from rankhash.evaluation.cross_modal import partner_directions
from rankhash.hashers._joint.labels import IGNORED
from rankhash.hashers._joint.learner import JointLearner
from rankhash.hashers._joint.objectives import Likelihood
from rankhash.hashers._joint.posteriors import RIDGES, ridge_regression
from rankhash.hashers._joint.regression import SPREAD, regression_gradients
from rankhash.hashers._joint.schedule import Schedule
from rankhash.hashers._joint.soft_codes import SoftCodes
from rankhash.hashers._views.batches import ViewSampler
from rankhash.hashers._views.learner import ViewLearner
from rankhash.hashers._views.training import SelfPairs
from rankhash.similarity import class_source

from .views import ViewContract, X, Y, Z, draw_views

SMALL = {"n_steps": 40, "batch_size": 60, "n_anchors": 30, "random_state": 0}


class TestContract(ViewContract):
    history_names = frozenset({"step", "value", "sharpness"})

    @pytest.fixture(
        params=[CrossJRSH(6, **SMALL), CrossJRSH(9, 2, features="rbf,linear", **SMALL)], ids=["chosen", "rbf,linear"]
    )
    def hasher(self, request):
        return clone(request.param)


def soft_agreement(parts, weights, sharpness, n_symbols, arity):
    """The expected number of equal symbols of all rows of all views, one pair of rows at a time."""
    soft = []
    for x, w in zip(parts, weights, strict=True):
        for row in x:
            scores = (w @ row).reshape(n_symbols, arity) * sharpness
            exps = np.exp(scores - scores.max(axis=1, keepdims=True))
            soft.append(exps / exps.sum(axis=1, keepdims=True))
    return np.array([[(p * q).sum() for q in soft] for p in soft])


def test_gradients_are_those_of_a_naive_twin():
    rng = np.random.default_rng(0)
    n_symbols, arity, widths = 3, 4, (5, 3, 4)
    learners = [JointLearner.random(rng, n_symbols, arity, d - 1) for d in widths]
    parts = [rng.standard_normal((6, d), np.float32) for d in widths]
    labels = ViewSampler(class_source(np.arange(6) % 2, 6), 3, 6, rng).draw().labels
    schedule = Schedule(1, 0.1, 0.0, (1.5, 1.5), unit_rows=False)

    class Squares:
        """Half the sum of squares of the pairs that count, for which slopes are simple."""

        def slopes(self, agreement, labels, progress):
            known = labels < 2
            wanted = np.where(labels == 1, 3.0, 0.0)
            slopes = np.where(known, wanted - agreement, 0).astype(np.float32)
            return -float(np.square(slopes).sum()) / 4, slopes

    def value(weights):
        agreement = soft_agreement([p.astype(float) for p in parts], weights, 1.5, n_symbols, arity)
        wrong = np.where(labels < 2, np.where(labels == 1, 3.0, 0.0) - agreement, 0)
        return -np.square(wrong).sum() / 4

    found, gradients = ViewLearner(learners, [1.0] * 3).gradients(parts, labels, Squares(), schedule, 0)
    weights = [learner.weights.astype(float) for learner in learners]
    assert abs(found - value(weights)) < 1e-3
    for view, gradient in enumerate(gradients):
        for place in [(0, 0), (5, 1), (11, widths[view] - 1)]:
            moved = []
            for sign in (1, -1):
                other = [w.copy() for w in weights]
                other[view][place] += sign * 1e-4
                moved.append(value(other))
            assert abs(gradient[place] - (moved[0] - moved[1]) / 2e-4) < 2e-2 * max(1, abs(gradient).max())


@pytest.mark.parametrize("n_views", [1, 3])
@pytest.mark.parametrize("arity", [2, 3])
def test_regression_gradients_are_those_of_a_naive_twin(arity, n_views):
    rng = np.random.default_rng(0)
    n_symbols, m, n_classes = 5, 7, 4
    rows = n_symbols if arity == 2 else n_symbols * arity
    scores = [rng.standard_normal((m, rows)) for _ in range(n_views)]
    posteriors = [rng.dirichlet(np.ones(n_classes), m) for _ in range(n_views)]

    def agreement(one, other):
        if arity == 2:
            return (n_symbols + np.tanh(one) @ np.tanh(other).T) / 2
        soft = []
        for part in (one, other):
            exps = np.exp(part.reshape(m, n_symbols, arity))
            soft.append((exps / exps.sum(axis=2, keepdims=True)).reshape(m, -1))
        return soft[0] @ soft[1].T

    def value(scores):
        total = 0.0
        for a in range(n_views):
            for b in {*range(n_views)} - {a} or {0}:
                for i in range(m):
                    wanted = posteriors[b] @ posteriors[a][i]
                    wanted = SPREAD * n_symbols * (wanted - wanted.mean()) / wanted.std()
                    found = agreement(scores[a], scores[b])[i]
                    total -= np.square(wanted - found + found.mean()).sum() / 2 / m**2 / n_symbols
        return total * (4 if arity == 2 else 1)

    codes = [SoftCodes.of(part.astype(np.float32), n_symbols, arity, 1.0) for part in scores]
    found, gradients = regression_gradients(codes, [p.astype(np.float32) for p in posteriors])
    assert abs(found - value(scores)) < 1e-4 * abs(found)
    for view, gradient in enumerate(gradients):
        for place in [(0, 0), (6, 3), (3, rows - 1)]:
            moved = []
            for sign in (1, -1):
                other = [part.copy() for part in scores]
                other[view][place] += sign * 1e-4
                moved.append(value(other))
            factor = 0.5 if arity == 2 else 1
            assert abs(gradient[place] - factor * (moved[0] - moved[1]) / 2e-4) < 1e-4


def test_leave_one_out_scores_are_those_of_regressions_without_the_item():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(20, 5))
    x -= x.mean(axis=0)
    targets = np.eye(3)[rng.integers(0, 3, 20)]
    targets -= targets.mean(axis=0)
    weights, left_out, error = ridge_regression(x, targets)

    def regression(ridge, kept):
        center, level = x[kept].mean(axis=0), targets[kept].mean(axis=0)
        moved = x[kept] - center
        found = np.linalg.solve(moved.T @ moved + ridge * np.eye(5), moved.T @ (targets[kept] - level))
        return found, lambda row: (row - center) @ found + level

    ridges = RIDGES * np.square(x).sum() / 20
    ridge = min(ridges, key=lambda r: np.abs(regression(r, np.arange(20))[0] - weights).max())
    np.testing.assert_allclose(regression(ridge, np.arange(20))[0], weights, atol=1e-9)
    apart = [np.delete(np.arange(20), i) for i in range(20)]
    wanted = np.array([regression(ridge, apart[i])[1](x[i]) for i in range(20)])
    np.testing.assert_allclose(left_out, wanted, atol=0.02)  # the mean of the others differs by 1/n in weight
    assert error < 1.1


def test_features_are_chosen_by_the_leave_one_out_error():
    rng = np.random.default_rng(0)
    ring = rng.normal(size=(300, 2))
    classes = (np.square(ring).sum(axis=1) > 1.4).astype(int)
    line = np.stack([classes + 0.3 * rng.normal(size=300), rng.normal(size=300)], axis=1)
    hasher = CrossJRSH(8, n_steps=60, n_anchors=100, random_state=0).fit({"ring": ring, "line": line}, classes)
    assert (hasher.scale_ > 0)[0]  # no straight line separates a ring
    assert hasher.score((ring, line), classes) > 0.8
    straight = CrossJRSH(8, n_steps=60, features="linear", random_state=0).fit((ring, line), classes)
    assert straight.score((ring, line), classes) < hasher.score((ring, line), classes) - 0.1


def test_items_may_have_several_labels():
    labels = np.stack([Y == 0, Y == 1, Y == 2, Y < 2], axis=1)
    hasher = CrossJRSH(6, **SMALL).fit((X, Z), labels)
    assert hasher.score((X, Z), labels) > 0.8


def test_labels_of_a_batch_compare_rows_of_different_views_only():
    labels = ViewSampler(class_source(np.array([0, 1, 0]), 3), 2, 8, np.random.default_rng(0)).draw().labels
    across = [[1, 0, 1], [0, 1, 0], [1, 0, 1]]
    assert labels[:3, 3:].tolist() == labels[3:, :3].tolist() == across
    assert (labels[:3, :3] == IGNORED).all()
    assert (labels[3:, 3:] == IGNORED).all()


def test_mini_batches_of_paired_rows_hold_every_partner():
    sampler = ViewSampler(SelfPairs(50), 2, 20, np.random.default_rng(0))
    batch = sampler.draw()
    assert not sampler.full
    assert sampler.counts == (50 * 49, 50)
    np.testing.assert_array_equal(batch.labels[:20, 20:], np.eye(20))


def test_paired_rows_alone_find_the_partner():
    rng = np.random.default_rng(0)
    latent = rng.normal(size=(500, 6))
    x, z = (latent @ rng.normal(size=(6, d)) + 0.1 * rng.normal(size=(500, d)) for d in (15, 10))
    hasher = CrossJRSH(16, 4, batch_size=200, random_state=0).fit((x[:400], z[:400]))
    for direction in partner_directions(hasher, (x[400:], z[400:])):
        assert direction.recall_at(1) > 0.15  # by chance .01
        assert direction.recall_at(10) > 0.6  # by chance .1


def test_three_views_find_each_other(tmp_path):
    w = (X @ np.random.default_rng(1).normal(size=(12, 4))).astype(np.float32)
    hasher = CrossJRSH(6, **SMALL).fit({"a": X, "b": Z, "c": w}, Y)
    assert hasher.score((X, Z, w), Y) > 0.8
    hasher.save(tmp_path / "hasher")
    np.testing.assert_array_equal(load_hasher(tmp_path / "hasher").encode(w, view="c"), hasher.encode(w, view="c"))


def test_given_pairs_are_learned_from():
    rows = [(i, j, int(Y[i] == Y[j])) for i in range(90) for j in range(i) if (i + j) % 3]
    hasher = CrossJRSH(6, **SMALL).fit((X, Z), similarity=rows)
    x, z, y = draw_views(60, seed=5)
    assert hasher.score((x, z), y) > 0.7


def test_the_callback_gets_every_record():
    records = []
    hasher = CrossJRSH(6, callback=records.append, **SMALL).fit((X, Z), Y)
    assert [record["value"] for record in records] == hasher.history_["value"]
    assert records[-1]["value"] > records[0]["value"]


def test_score_tables_rank_by_probabilities():
    hasher = CrossJRSH(6, **SMALL).fit((X, Z), Y)
    tables = hasher.score_tables(Z, view=1)
    assert tables.max() <= 1
    assert hasher.sharpness_.shape == (1,)


@pytest.mark.parametrize(
    ("parameter", "value", "sentence"),
    [
        ("features", "cubic", "features must be 'linear', 'rbf' or one word per view"),
        ("features", 3, "features must be 'linear', 'rbf' or one word per view"),
        ("features", "rbf,rbf,rbf", "features names 3 views, but there are 2"),
        ("n_steps", 0, "n_steps must be"),
        ("noise", -1, "noise must be"),
        ("callback", 3, "callback must be"),
    ],
)
def test_wrong_parameters_are_refused(parameter, value, sentence):
    with pytest.raises(InvalidInputError, match=sentence):
        CrossJRSH(4).set_params(**{parameter: value}).fit((X, Z), Y)


def test_the_objective_is_that_of_pairs_across_views():
    source = class_source(Y, len(Y))
    sampler = ViewSampler(source, 2, 200, np.random.default_rng(0))
    counts = [int((sampler.draw().labels[:90, 90:] == kind).sum()) for kind in (0, 1)]
    assert sampler.counts == tuple(counts)
    assert Likelihood(4, sampler.counts, full=True, n_threads=1) is not None
