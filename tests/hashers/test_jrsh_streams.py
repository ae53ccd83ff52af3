"""Streams: JRSH learns from one batch after another as well as from all vectors at once."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from rankhash import JRSH
from rankhash.errors import InvalidInputError
from rankhash.hashers._joint import stream
from rankhash.hashers._joint.stream import StreamWindow
from rankhash.hashers.training import Training
from rankhash.similarity import GivenPairs
from rankhash.vectors import batches

RNG = np.random.default_rng(0)
X = (RNG.normal(size=(2400, 6)) @ RNG.normal(size=(6, 20)) + 0.3 * RNG.normal(size=(2400, 20))).astype(np.float32)
CLASSES = (X[:, 0] > 0) + 2 * (X[:, 1] > 0)
PAIRS = np.array([(i, i + 1, CLASSES[i] == CLASSES[i + 1]) for i in range(2399)], int)
SMALL = {"n_bits": 16, "n_steps": 24, "random_state": 0, "verbose": False}


def pairs_of(start, stop):
    rows = PAIRS[(PAIRS[:, 0] >= start) & (PAIRS[:, 1] < stop)]
    return rows - [start, start, 0]


@pytest.mark.parametrize("kind", ["neighbours", "classes", "pairs"])
def test_a_stream_that_has_doubled_is_learned_from_as_one_batch(kind):
    def known(start, stop):
        return {
            "neighbours": {},
            "classes": {"y": CLASSES[start:stop]},
            "pairs": {"similarity": pairs_of(start, stop)},
        }[kind]

    hasher, whole = (JRSH(arity=2, n_anchors=100, **SMALL) for _ in range(2))
    for start in (0, 600, 1200, 1800):
        hasher.partial_fit(X[start : start + 600], **known(start, start + 600))
    given = known(0, 2400)
    if kind == "pairs":  # those of two vectors of different batches were not given
        rows = given["similarity"]
        given["similarity"] = rows[rows[:, 0] // 600 == rows[:, 1] // 600]
    assert hasher.fingerprint == whole.fit(X, **given).fingerprint


def test_a_batch_in_between_learns_on_from_all_remembered_vectors(monkeypatch):
    seen, learn = [], JRSH._continue

    def watch(self, rng, layout, model, training, *window):
        seen.append((training.vectors.n_rows, model is None))
        return learn(self, rng, layout, model, training, *window)

    monkeypatch.setattr(JRSH, "_continue", watch)
    hasher = JRSH(**SMALL)
    fingerprints = {hasher.partial_fit(X[start : start + 400]).fingerprint for start in range(0, 2400, 400)}
    assert seen == [(400, True), (800, True), (1200, False), (1600, True), (2000, False), (2400, False)]
    assert len(fingerprints) == 6
    hasher.partial_fit(X[:400])
    assert seen[-1] == (2400, False)
    hasher.fit(X[:500]).partial_fit(X[500:700])
    assert seen[-2:] == [(500, True), (200, False)]


def test_what_is_remembered_is_bounded_and_the_latest(monkeypatch):
    monkeypatch.setattr(stream, "MAX_VECTORS", 5)
    window = StreamWindow()
    for start in (0, 3, 6):
        known = window.add(Training(batches(X[start : start + 3]), [1, 1, 2 + start], None))
    np.testing.assert_array_equal(known.vectors.whole(), X[4:9])
    assert known.y.tolist() == [1, 5, 1, 1, 8]
    assert not window.is_complete
    alone = Training(batches(X[:6]), [1, 2] * 3, None)
    assert window.add(alone) is alone
    assert window.add(Training(batches(X[:3]), [1, 2, 2], None)).vectors.n_rows == 3
    monkeypatch.setattr(stream, "MAX_FLOATS", 60)
    assert StreamWindow().add(alone) is alone


def test_given_pairs_of_remembered_vectors_stay_and_others_go(monkeypatch):
    monkeypatch.setattr(stream, "MAX_VECTORS", 5)
    window = StreamWindow()
    for start in (0, 3):
        rows = [(0, 1, 1), (1, 2, 0), (0, 2, 1), (1, 0, 1)]
        known = window.add(Training(batches(X[start : start + 3]), None, rows))
    assert isinstance(known.similarity, GivenPairs)
    assert known.similarity.pairs.tolist() == [[0, 1], [2, 3], [2, 4], [3, 4]]
    assert known.similarity.labels.tolist() == [0, 1, 1, 0]


def test_a_vector_that_comes_again_replaces_the_earlier_one():
    window, own = StreamWindow(), X[:4].copy()
    window.add(Training(batches(own), [1, 1, 2, 2], None))
    own[:] = 0
    known = window.add(Training(batches(X[2:6]), [3, 4, 3, 4], None))
    np.testing.assert_array_equal(known.vectors.whole(), X[:6])
    assert known.y.tolist() == [1, 1, 3, 4, 3, 4]
    assert window.is_complete


def test_labels_of_another_kind_get_one_sentence_or_start_the_memory_anew():
    window = StreamWindow()
    window.add(Training(batches(X[:3]), [1, 1, 2], None))
    with pytest.raises(InvalidInputError, match="of the same kind in all batches"):
        window.add(Training(batches(X[3:6]), ["a", "a", "b"], None))
    assert window.add(Training(batches(X[3:6]), None, None)).vectors.n_rows == 3
    assert not window.is_complete
    sets = csr_array(np.array([[1, 0], [1, 1], [0, 1]]))
    assert window.add(Training(batches(X[:3]), sets, None)).y.shape == (3, 2)
    with pytest.raises(InvalidInputError, match="of the same kind in all batches"):
        window.add(Training(batches(X[3:6]), [[1, 1, 0], [1, 0, 0], [0, 0, 1]], None))
