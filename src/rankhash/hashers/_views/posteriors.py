"""The classes of one view's vectors: ridge regression of the classes, judged by leave-one-out scores.

::

    vectors ─▶ linear or RBF features ─▶ ridge regression of the classes ─▶ leave-one-out scores ─▶ posteriors
                                              └── a Frame whose axes are the directions of the scores

The scores of a training item come from all other items. They are distributed like those of unseen items, so that
learning is not misled by items that the regression has memorised.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import softmax

from ..._types import F32, F64
from ...similarity import ClassLabels, LabelSets, PairSource
from .._features.anchors import RBFAnchors
from .._joint.frame import Frame, measure_frame

FEATURES = ("linear", "rbf")
"""Kinds of features, in the order in which they are tried."""

GAMMA = 4.0
"""Width of the RBF kernel. Half of it gives the same quality on unseen items, and remembers learned items less well."""

RIDGES = 10.0 ** np.arange(-4, 4, 0.5)
"""Ridges that are tried, relative to the mean squared length of the features."""

TEMPERATURES = 2.0 ** np.arange(0, 7, 0.5)
"""Factors of the scores before the softmax that are tried."""

MIN_REMAINDER = 1e-6
"""Lower limit of 1 - leverage."""


@dataclass(frozen=True)
class ViewPosteriors:
    """What the vectors of one view say about the classes.

    Attributes
    ----------
    frame, rbf
        Features, and the axes along which class scores differ.
    points : ndarray (n, k)
        Leave-one-out scores of the training items along these axes.
    posteriors : ndarray (n, n_classes)
        Leave-one-out class probabilities of the training items.
    error : float
        Mean squared leave-one-out error, relative to the variance of the classes.
    """

    frame: Frame
    rbf: RBFAnchors | None
    points: F32
    posteriors: F32
    error: float


def class_indicators(source: PairSource) -> F64 | None:
    """One column of 0 and 1 per class or label; None if the pairs do not come from classes."""
    if isinstance(source, ClassLabels):
        columns: F64 = np.eye(int(source.classes.max()) + 1)[source.classes]
        return columns
    return source.indicators.astype(np.float64) if isinstance(source, LabelSets) else None


def view_posteriors(
    vectors: F32, center: F32, indicators: F64, word: str | None, n_anchors: int, rng: np.random.RandomState
) -> ViewPosteriors:
    """The posteriors of one view's vectors with the features ``word``; None takes those of the smaller error."""
    tried = [_fitted(vectors, center, indicators, w, n_anchors, rng) for w in (FEATURES if word is None else (word,))]
    return min(tried, key=lambda one: one.error)


def _fitted(
    vectors: F32, center: F32, indicators: F64, word: str, n_anchors: int, rng: np.random.RandomState
) -> ViewPosteriors:
    rbf = None
    if word == "rbf":
        rbf = RBFAnchors(n_anchors, gamma=GAMMA, random_state=rng).fit(vectors)
        vectors = rbf.transform(vectors)
        center = np.zeros(vectors.shape[1], np.float32)
    inner = measure_frame(vectors, center, principal=False)
    targets = indicators - indicators.mean(axis=0)
    weights, scores, error = ridge_regression(inner.points(vectors).astype(np.float64), targets)
    outer = measure_frame(scores, np.zeros(scores.shape[1], np.float32), principal=True)
    assert outer.axes is not None
    axes = (outer.axes.astype(np.float64) @ weights.T / inner.scale).astype(np.float32)
    frame = Frame(center, axes, 1.0)
    return ViewPosteriors(frame, rbf, outer.points(scores), posteriors_of(scores, indicators), error)


def ridge_regression(x: F64, targets: F64) -> tuple[F64, F32, float]:
    """The weights ``(d, n_classes)`` of the ridge with the smallest leave-one-out error.

    Also the leave-one-out predictions ``(n, n_classes)``, and their squared error relative to that of 0. Features and
    targets have the mean 0. With the leverage h of a row, its prediction from all others is (p - h t) / (1 - h).
    """
    variances, axes = np.linalg.eigh(x.T @ x)
    variances = np.maximum(variances, 0)
    rotated = x @ axes
    products, squares = rotated.T @ targets, np.square(rotated)
    total, best = max(float(np.square(targets).sum()), np.finfo(np.float64).tiny), None
    for ridge in RIDGES * max(variances.sum() / len(x), np.finfo(np.float64).tiny):
        shrunk = products / (variances + ridge)[:, None]
        leverage = (squares @ (1 / (variances + ridge)) + 1 / len(x))[:, None]
        left_out = (rotated @ shrunk - leverage * targets) / np.maximum(1 - leverage, MIN_REMAINDER)
        error = float(np.square(left_out - targets).sum()) / total
        if best is None or error < best[2]:
            best = shrunk, left_out, error
    assert best is not None
    return axes @ best[0], best[1].astype(np.float32), best[2]


def posteriors_of(scores: F32, indicators: F64) -> F32:
    """softmax(t · scores), with the factor t of the highest likelihood of the classes."""
    tried = [softmax(scores * np.float32(factor), axis=1) for factor in TEMPERATURES]
    known = indicators.sum(axis=1) > 0
    tiny = np.finfo(np.float32).tiny
    likelihoods = [np.log(np.maximum((p[known] * indicators[known]).sum(axis=1), tiny)).mean() for p in tried]
    best: F32 = tried[int(np.argmax(likelihoods))]
    return best
