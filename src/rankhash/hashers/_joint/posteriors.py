"""The classes of vectors: ridge regression of the classes, judged by leave-one-out scores.

::

    vectors ─▶ linear or RBF features ─▶ ridge regression of the classes ─▶ leave-one-out scores ─▶ posteriors
                                              └── a Frame whose axes are the directions of the scores

The scores of a training vector come from all other vectors. They are distributed like those of unseen vectors, so that
learning is not misled by vectors that the regression has memorised.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import softmax

from ..._types import F32, F64
from ...similarity import ClassLabels, LabelSets, PairSource
from .._features.anchors import RBFAnchors
from .frame import Frame, measure_frame

FEATURES = ("linear", "rbf")
"""Kinds of features, in the order in which they are tried."""

GAMMAS = (4.0,)
"""Widths of the RBF kernel by default. Half of it is as good on unseen vectors and remembers learned ones less well."""

RIDGES = 10.0 ** np.arange(-4, 4, 0.5)
"""Ridges that are tried, relative to the mean squared length of the features."""

TEMPERATURES = 2.0 ** np.arange(0, 7, 0.5)
"""Factors of the scores before the softmax that are tried."""

MIN_REMAINDER = 1e-6
"""Lower limit of 1 - leverage."""


@dataclass(frozen=True)
class Posteriors:
    """What vectors say about the classes.

    Attributes
    ----------
    frame, rbf
        Features, and the axes along which class scores differ.
    points : ndarray (n, k)
        Leave-one-out scores of the training vectors along these axes.
    posteriors : ndarray (n, n_classes)
        Leave-one-out class probabilities of the training vectors.
    error : float
        Mean squared leave-one-out error, relative to the variance of the classes, plus the weighted training error.
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


def class_posteriors(
    vectors: F32,
    center: F32,
    indicators: F64,
    n_anchors: int,
    rng: np.random.RandomState,
    *,
    features: tuple[str, ...] = FEATURES,
    gammas: tuple[float, ...] = GAMMAS,
    training_weight: float = 0.0,
) -> Posteriors:
    """The posteriors of vectors with the features of the smallest error; by default linear ones and one RBF kernel.

    ``training_weight`` (0 by default) is the weight of the training error beside the leave-one-out error.
    """
    widths: list[float | None] = [None] * ("linear" in features)
    widths += [*gammas] * ("rbf" in features)
    tried = (_fitted(vectors, center, indicators, n_anchors, rng, width, training_weight) for width in widths)
    return min(tried, key=lambda one: one.error)


def _fitted(
    vectors: F32,
    center: F32,
    indicators: F64,
    n_anchors: int,
    rng: np.random.RandomState,
    gamma: float | None,
    training_weight: float,
) -> Posteriors:
    """The posteriors with RBF features of the width ``gamma``; None for linear features."""
    rbf = None
    if gamma is not None:
        rbf = RBFAnchors(n_anchors, gamma=gamma, random_state=rng).fit(vectors)
        vectors = rbf.transform(vectors)
        center = np.zeros(vectors.shape[1], np.float32)
    inner = measure_frame(vectors, center, principal=False)
    targets = indicators - indicators.mean(axis=0)
    points = inner.points(vectors).astype(np.float64)
    weights, scores, error = ridge_regression(points, targets, training_weight)
    outer = measure_frame(scores, np.zeros(scores.shape[1], np.float32), principal=True)
    assert outer.axes is not None
    axes = (outer.axes.astype(np.float64) @ weights.T / inner.scale).astype(np.float32)
    frame = Frame(center, axes, 1.0)
    return Posteriors(frame, rbf, outer.points(scores), posteriors_of(scores, indicators), error)


def ridge_regression(x: F64, targets: F64, training_weight: float = 0.0) -> tuple[F64, F32, float]:
    """The weights ``(d, n_classes)`` of the ridge with the smallest error.

    Also the leave-one-out predictions ``(n, n_classes)``, and the error: their squared error, plus ``training_weight``
    (0 by default) times that of the predictions, relative to the squared error of 0. Features and targets have the mean
    0. With the leverage h of a row, its prediction from all others is (p - h t) / (1 - h).
    """
    variances, axes = np.linalg.eigh(x.T @ x)
    variances = np.maximum(variances, 0)
    rotated = x @ axes
    products, squares = rotated.T @ targets, np.square(rotated)
    total, best = max(float(np.square(targets).sum()), np.finfo(np.float64).tiny), None
    for ridge in RIDGES * max(variances.sum() / len(x), np.finfo(np.float64).tiny):
        shrunk = products / (variances + ridge)[:, None]
        leverage = (squares @ (1 / (variances + ridge)) + 1 / len(x))[:, None]
        predicted = rotated @ shrunk
        left_out = (predicted - leverage * targets) / np.maximum(1 - leverage, MIN_REMAINDER)
        error = float(np.square(left_out - targets).sum())
        error = (error + training_weight * float(np.square(predicted - targets).sum())) / total
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
