"""JRSH with classes: the size of codes, few labels and many."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_digits, load_wine

import oracles
from rankhash import JRSH, SDH
from rankhash.errors import InvalidInputError
from rankhash.evaluation import metrics

from .inputs import X

DIGITS, DIGIT = load_digits(return_X_y=True)
FAST = {"n_steps": 12, "n_neighbors": 8, "random_state": 0, "verbose": False}


def test_many_labels_and_streams_have_a_larger_auto_arity_of_the_same_size():
    many, classes = np.tile(X, (2100 // len(X) + 1, 1))[:2100], np.arange(2100) % 3
    for n, arity in [(2000, 4), (2100, 16)]:
        layout = JRSH(n_bits=32, features="linear", **FAST).fit(many[:n], classes[:n]).layout_
        assert (layout.bits, layout.arity) == (32, arity)
    stream = JRSH(n_bits=32, features="linear", **FAST)
    for n in (600, 2100):
        stream.partial_fit(many[:n], classes[:n])
    assert (stream.layout_.bits, stream.layout_.arity) == (32, 16)


@pytest.mark.parametrize("labels", [3, np.array(3), iter([1, 2])])
def test_labels_without_rows_get_one_sentence(labels):
    with pytest.raises(InvalidInputError, match="y must hold one label per vector"):
        JRSH(n_bits=8, **FAST).fit(X, labels)


@pytest.mark.parametrize(("name", "n_bits", "gain"), [("digits", 16, -0.005), ("wine", 64, 0.1)])
def test_few_labels_are_learned_from_as_well_as_by_sdh(name, n_bits, gain):
    points, classes = (DIGITS, DIGIT) if name == "digits" else load_wine(return_X_y=True)
    order, n = np.random.default_rng(0).permutation(len(points)), len(points) // 2
    points, classes, found = points[order], classes[order], {}
    if name == "wine":
        points = (points - points.mean(axis=0)) / points.std(axis=0)
    for kind in (JRSH, SDH):
        codes = kind(n_bits=n_bits, random_state=0).fit(points[:n], classes[:n]).transform(points)
        relevant = classes[n:, None] == classes[:n]
        found[kind] = metrics.query_average_precision(oracles.hamming(codes[n:], codes[:n]), relevant).mean()
    assert found[JRSH] > found[SDH] + gain


def test_few_labels_without_a_meaning_are_not_memorised():
    """The sharpness is chosen on leave-one-out scores, and codes of unseen vectors do not look surer than they are."""
    labels = np.random.default_rng(0).integers(0, 3, 300)
    hasher = JRSH(8, 4, random_state=0).fit(DIGITS[:300], labels)
    assert hasher.history_["average_precision"][-1] < 0.5


def test_classes_with_rbf_features_are_found():
    hasher = JRSH(10, features="rbf", n_anchors=200, n_steps=150, random_state=0).fit(DIGITS[:1200], DIGIT[:1200])
    codes = hasher.transform(DIGITS)
    distances = oracles.hamming(codes[1200:], codes[:1200])
    assert oracles.average_precision(distances, DIGIT[1200:, None] == DIGIT[:1200]) > 0.9
