"""JRSH: the contract, what it learns, streams, features and tables."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits

import oracles
from rankhash import ITQ, JRSH, FlatIndex, load_hasher
from rankhash.errors import InvalidInputError
from rankhash.evaluation import metrics
from rankhash.hashers._joint import data as joint_data
from rankhash.hashers.training import Training
from rankhash.vectors import batches

from .inputs import X
from .pairs import LinearCodes, NeighborContract, Y

DIGITS, DIGIT = load_digits(return_X_y=True)
FAST = {"n_steps": 12, "n_neighbors": 8, "random_state": 0, "verbose": False}
VARIANTS = {
    "binary": JRSH(16, 2, **FAST),
    "rank": JRSH(9, 5, **FAST),
    "radius": JRSH(10, 4, target="radius", **FAST),
    "rbf": JRSH(8, 3, features="rbf", n_anchors=20, **FAST),
}


class TestContract(NeighborContract):
    history_names = frozenset({"step", "value", "average_precision", "balance", "sharpness"})

    @pytest.fixture(params=VARIANTS, ids=str)
    def hasher(self, request):
        return clone(VARIANTS[request.param])


@pytest.mark.parametrize("name", ["binary", "rank", "radius"])
def test_without_the_bias_codes_do_not_change_when_vectors_are_scaled_around_the_centre(name):
    hasher = clone(VARIANTS[name]).fit(X)
    hasher.bias_ = None
    LinearCodes().test_codes_do_not_change_when_vectors_are_scaled_around_the_centre(hasher)


def precision(hasher, n_train=1000):
    """Average precision of held-out digits' neighbours, and of their precision within a ball of 2."""
    database, queries = DIGITS[:n_train], DIGITS[n_train:]
    apart = np.sqrt(((queries[:, None] - database) ** 2).sum(axis=2))
    radius = np.sort(np.sqrt(((database[:, None] - database) ** 2).sum(axis=2)), axis=1)[:, 49].mean()
    relevant = apart < radius
    distances = oracles.hamming(hasher.transform(queries), hasher.transform(database))
    inside = distances <= 2
    ball = ((inside & relevant).sum(axis=1) / np.maximum(inside.sum(axis=1), 1)).mean()
    return oracles.average_precision(distances, relevant), ball


def test_codes_of_neighbours_beat_those_of_itq_at_equal_bits():
    learned, rotated = JRSH(32, random_state=0).fit(DIGITS[:1000]), ITQ(32, random_state=0).fit(DIGITS[:1000])
    assert precision(learned)[0] > precision(rotated)[0] + 0.03


def test_the_radius_target_fills_balls():
    ranked, filled = (JRSH(32, target=t, random_state=0).fit(DIGITS[:1000]) for t in ("ranking", "radius"))
    assert precision(filled)[1] > precision(ranked)[1] + 0.1


def test_learning_makes_the_objective_larger_and_codes_better():
    for arity, gain in [(2, 0.03), (3, 0.1)]:  # from the codes of ITQ, from random projections
        history = JRSH(16, arity, n_steps=120, random_state=0).fit(DIGITS[:800]).history_
        assert history["value"][-1] > history["value"][0] + 0.1
        assert history["average_precision"][-1] > history["average_precision"][0] + gain
        assert history["step"][-1] == 119


def test_auto_arity_follows_what_is_known_and_keeps_the_size_asked_for():
    assert JRSH(4, **FAST).fit(X).layout_.arity == 2
    assert JRSH(4, **FAST).fit(X, Y).layout_.arity == 8
    for size, bits, arity in [({}, 64, 4), ({"n_bits": 24}, 24, 4), ({"n_bytes": 1}, 8, 4), ({"n_bits": 9}, 9, 2)]:
        known, unknown = JRSH(**size, **FAST).fit(X, Y).layout_, JRSH(**size, **FAST).fit(X).layout_
        assert (known.bits, known.arity, unknown.bits, unknown.arity) == (bits, arity, bits, 2)


def test_auto_features_are_kernel_values_with_classes_only():
    assert JRSH(4, **FAST).fit(X, Y).anchors_ is not None
    assert JRSH(4, **FAST).fit(X).anchors_ is None
    assert JRSH(4, features="linear", **FAST).fit(X, Y).anchors_ is None


def test_mini_batches_learn_as_well_as_whole_ones():
    whole = JRSH(32, 2, n_steps=200, random_state=0).fit(DIGITS[:1000])
    parts = JRSH(32, 2, n_steps=200, n_neighbors=90, batch_size=256, random_state=0).fit(DIGITS)
    assert precision(parts)[0] > precision(whole)[0] - 0.05


def uneven(n):
    """Points around centres, some of them in dense clouds and some far apart."""
    rng = np.random.default_rng(0)
    centres, spread = rng.normal(size=(60, 24)), np.repeat([0.15, 0.5, 1.0], 20)
    of = rng.integers(0, 60, n)
    return (centres[of] + rng.normal(size=(n, 24)) * spread[of, None]).astype(np.float32)


def test_codes_of_many_vectors_rank_pairs_better_than_itq_and_find_the_nearest_in_sparse_regions():
    points = uneven(6400)
    train, database, queries = points[:3000], points[3000:6000], points[6000:]
    apart = np.linalg.norm(queries[:, None] - database, axis=2)
    within = apart <= np.partition(apart, 50 * len(queries), axis=None)[50 * len(queries)]
    nearest = apart <= np.partition(apart, 9, axis=1)[:, 9:10]
    found = {}
    for name, hasher in {
        "many": JRSH(24, n_steps=150, random_state=0),
        "few": JRSH(24, n_steps=150, max_points=1500, random_state=0),
        "ITQ": ITQ(24, random_state=0),
    }.items():
        distances = oracles.hamming(hasher.fit(train).transform(queries), hasher.transform(database))
        recall = metrics.mean(metrics.recall_at(distances, nearest, 100))
        found[name] = oracles.average_precision(distances, within), recall
    assert found["many"][0] > found["ITQ"][0] + 0.05, found
    assert found["many"][1] > found["few"][1] + 0.005, found
    assert found["many"][1] > found["ITQ"][1] - 0.03, found


def test_of_very_many_vectors_a_sample_is_learned_from_with_the_same_share_of_neighbours(monkeypatch):
    points, y = uneven(2000), np.arange(2000) % 10
    monkeypatch.setattr(joint_data, "MAX_UNLABELED", 600)

    def gathered(y=None, max_points=10_000, n_neighbors=20):
        training = Training(batches(points, owner="JRSH"), y, None)
        return joint_data.joint_training(training, np.random.RandomState(0), max_points, n_neighbors).source

    assert (gathered().n_points, gathered().n_neighbors) == (600, 6)
    assert gathered(n_neighbors=None).n_neighbors == 15
    monkeypatch.setattr(joint_data, "POINTS_PER_NEIGHBOR", 10)
    assert gathered(n_neighbors=None).n_neighbors == 60
    assert (gathered(max_points=60).n_points, gathered(max_points=60).n_neighbors) == (60, 1)
    assert gathered(y).n_points == 2000


def test_scale_and_position_of_the_data_do_not_matter():
    plain = JRSH(8, 4, **FAST).fit(X)
    moved = JRSH(8, 4, **FAST).fit(X * 1024 + 2048)
    assert (plain.transform(X) == moved.transform(X * 1024 + 2048)).mean() > 0.98


def test_a_stream_does_not_change_its_layout_and_files_do_not_learn_on(tmp_path):
    hasher = JRSH(8, 4, **FAST).partial_fit(X)
    with pytest.raises(InvalidInputError, match="cannot change between batches"):
        clone(hasher).set_params().partial_fit(X).set_params(n_symbols=9).partial_fit(X)
    hasher.save(tmp_path / "h")
    with pytest.raises(InvalidInputError, match="a hasher from a file cannot learn on"):
        load_hasher(tmp_path / "h").partial_fit(X)


def test_tables_rank_better_than_symbols():
    hasher = JRSH(16, random_state=0).fit(DIGITS[:1000])
    index = FlatIndex(hasher.layout_)
    index.add(hasher.encode(DIGITS[:1000]))
    queries = DIGITS[1000:]
    near = np.argsort(((queries[:, None] - DIGITS[:1000]) ** 2).sum(axis=2), axis=1)[:, :10]
    symbols = index.search(hasher.encode(queries), k=10).ids
    tables = index.search_scores(hasher.score_tables(queries), k=10).ids
    found = [np.mean([np.isin(a, b).mean() for a, b in zip(ids, near, strict=True)]) for ids in (symbols, tables)]
    assert found[1] > found[0] + 0.03


def test_callback_and_report():
    notes = []
    hasher = JRSH(6, 3, **FAST).set_params(callback=notes.append).fit(X)
    assert [note["step"] for note in notes] == list(range(12))
    assert {*notes[0]} == {"step", "value", "average_precision", "balance", "sharpness"}
    lines = hasher.report().splitlines()
    assert lines[0] == "JRSH: 6 symbols of arity 3"
    assert len(lines) == 9
    assert np.allclose(hasher.balance_.sum(axis=1), 1)


def test_the_course_of_learning_is_drawn(tmp_path):
    pytest.importorskip("plotly", reason="pictures need plotly")
    hasher = JRSH(6, 3, **FAST).fit(X)
    assert [len(curve.x) for curve in hasher.plot_history().data] == [12] * 4
    hasher.save(tmp_path / "h")
    with pytest.raises(InvalidInputError, match="not saved"):
        load_hasher(tmp_path / "h").plot_history()


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ({"arity": "seven"}, "arity must be an integer from 2 to 16 or 'auto'"),
        ({"target": "recall"}, "target must be 'ranking' or 'radius'"),
        ({"features": "cubic"}, "features must be 'auto' or 'linear' or 'rbf'"),
        ({"radius": -1}, "radius must be an integer"),
        ({"n_steps": 0}, "n_steps must be an integer"),
        ({"noise": -1}, "noise must be a number"),
        ({"batch_size": 2}, "batch_size must be an integer"),
        ({"callback": 3}, "callback must be a function"),
    ],
)
def test_bad_parameters_get_one_sentence(parameters, sentence):
    with pytest.raises(InvalidInputError, match=sentence):
        JRSH(8, **FAST).set_params(**parameters).fit(X)


POINTS = np.random.default_rng(0).normal(size=(60, 5)).astype(np.float32)
KINDS = {
    "linear": {},
    "rbf": {"features": "rbf", "n_anchors": 10},
    "radius": {"target": "radius"},
}


def small(kind, **parameters):
    return JRSH(6, n_steps=4, n_neighbors=5, random_state=0, verbose=False).set_params(**KINDS[kind], **parameters)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("vectors", "known", "sentence"),
    [
        (POINTS, {"y": np.zeros(60, int)}, "no dissimilar pair to learn from: y has only one class"),
        (POINTS, {"y": np.arange(60)}, "no similar pair to learn from: no two vectors share a class"),
        (POINTS, {"similarity": np.array([(0, 1, 0), (2, 3, 0)])}, "no similar pair to learn from: mark some"),
        (POINTS, {"similarity": np.array([(0, 1, 1), (2, 3, 1)])}, "no dissimilar pair to learn from: mark some"),
        (np.ones((60, 5)), {}, "all vectors are the same"),
        (POINTS[:2], {}, "among 3 vectors or more, got n_samples=2"),
        (POINTS[:1], {}, "there is 1 sample"),
        (np.eye(2000, 5, dtype=np.float32)[::-1], {}, "nearly all vectors are equally far apart"),
    ],
)
def test_what_cannot_be_learned_from_gets_one_sentence(kind, vectors, known, sentence):
    hasher = small(kind)
    with pytest.raises(InvalidInputError, match=sentence):
        hasher.fit(vectors, **known)
    assert not hasattr(hasher, "layout_")


def finite(hasher):
    return all(np.isfinite(array).all() for array in vars(hasher).values() if isinstance(array, np.ndarray))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n_copies", [10, 400])
def test_copies_make_no_nan_and_get_equal_codes(kind, n_copies):
    vectors = np.repeat(POINTS[:6], n_copies, axis=0)
    hasher = small(kind, batch_size=64).fit(vectors)
    assert finite(hasher)
    codes = hasher.encode(vectors).reshape(6, n_copies, -1)
    assert (codes == codes[:, :1]).all()


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_doubtful_is_warned_of_and_learned_from(kind):
    with pytest.warns(UserWarning, match="n_neighbors=5 is too many among 4 vectors; 1 are used"):
        assert finite(small(kind).fit(POINTS[:4]))
    pairs = np.array([(0, 1, 1), (1, 0, 0), (2, 3, 1), (4, 5, 0)])
    with pytest.warns(UserWarning, match="given as similar and as dissimilar"):
        assert finite(small(kind).fit(POINTS, similarity=pairs))
