"""The model of JRSH while it learns: features, frame and projections, and the arrays that encode vectors."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, field

import numpy as np

from ..._types import F32
from ...codes import CodeLayout
from ...similarity import ClassLabels
from .._features.anchors import GAMMA, RIDGE, RBFAnchors
from ..base import Arrays
from ..training import Training
from .data import JointTraining
from .frame import Frame, measure_frame
from .learner import JointLearner
from .posteriors import class_indicators, class_posteriors
from .schedule import CLASS_GAMMA, CLASSES, REGRESSED_GAMMAS, ROTATED, TRAINING_WEIGHT, Recipe, anchors_for, ridge_for
from .stream import StreamWindow

GROWTH = 2
"""Learning from a stream starts anew with this many times as many vectors."""


@dataclass
class JointModel:
    """The state that ``partial_fit`` continues from.

    It has a frame, RBF features or None, projections, the number of steps so far, the number of vectors that it started
    from, and the vectors of a stream that are remembered.
    """

    frame: Frame
    rbf: RBFAnchors | None
    learner: JointLearner
    n_steps: int = 0
    n_vectors: int = 0
    window: StreamWindow = field(default_factory=StreamWindow)

    def points(self, vectors: F32) -> F32:
        """The input ``(n, k)`` of the projections for vectors ``(n, d)``."""
        return self.frame.points(vectors if self.rbf is None else self.rbf.transform(vectors))

    def arrays(self) -> Arrays:
        """The learned arrays of a hasher, which apply to vectors instead of points."""
        weights, bias = self.learner.projections()
        projections = self.frame.input_weights(weights)
        if self.rbf is None:
            return {"projections_": projections, "bias_": bias, "center_": self.frame.center}
        arrays = {"projections_": self.rbf.kernel_weights(projections), "bias_": bias, "center_": self.rbf.mean_}
        return arrays | {"anchors_": self.rbf.anchors_, "scale_": self.rbf.scale_}


def next_learning(model: JointModel | None, batch: Training) -> tuple[JointModel | None, Training, StreamWindow]:
    """The model that a batch of a stream goes on with, None to start anew; what is learned from; what is remembered."""
    window = StreamWindow() if model is None else copy(model.window)
    training = window.add(batch)
    if model is not None and window.is_complete and training.vectors.n_rows >= GROWTH * model.n_vectors:
        model = None
    return model, training, window


def new_model(
    training: JointTraining,
    layout: CodeLayout,
    n_anchors: int | None,
    rng: np.random.RandomState,
    draws: np.random.Generator,
    *,
    rotated: bool,
    ridge: float = RIDGE,
    gamma: float = GAMMA,
) -> JointModel:
    """A model with random projections, or ``rotated`` those of ITQ; ``n_anchors`` is None for linear features.

    ``ridge`` (0.01 by default) is that of the whitening of RBF features, ``gamma`` (2 by default) their width.
    """
    frame, rbf = training.frame, None
    if rotated:
        return JointModel(frame, rbf, JointLearner.rotated(rng, layout.n_symbols, frame.points(training.vectors)))
    if n_anchors is not None:
        rbf = RBFAnchors(n_anchors, whiten=True, ridge=ridge, gamma=gamma, random_state=rng).fit(training.vectors)
        features = rbf.transform(training.vectors)
        frame = measure_frame(features, np.zeros(features.shape[1], np.float32), principal=False)
    return JointModel(frame, rbf, JointLearner.random(draws, layout.n_symbols, layout.arity, frame.n_axes))


def recipe_model(
    training: JointTraining,
    layout: CodeLayout,
    recipe: Recipe,
    n_anchors: int,
    rng: np.random.RandomState,
    draws: np.random.Generator,
) -> JointModel:
    """A model for a recipe; ``n_anchors`` is 0 for linear features."""
    if n_anchors == 0:
        return new_model(training, layout, None, rng, draws, rotated=recipe is ROTATED)
    n = len(training.vectors)
    if recipe is not CLASSES:
        return new_model(training, layout, n_anchors, rng, draws, rotated=False)
    ridge = ridge_for(n, min(n, n_anchors))
    return new_model(training, layout, n_anchors, rng, draws, rotated=False, ridge=ridge, gamma=CLASS_GAMMA)


def start_learning(
    training: JointTraining,
    layout: CodeLayout,
    recipe: Recipe,
    features: str,
    n_anchors: int | None,
    rng: np.random.RandomState,
    draws: np.random.Generator,
    *,
    regress: bool,
) -> tuple[JointModel, F32, F32 | None]:
    """A new model and its training points; with ``regress`` also their class probabilities if all are anchors.

    Projections of as many features as vectors fit any classes. So few vectors are learned from by leave-one-out scores
    of a regression, which does not memorise them, and the projections are those of class scores.
    """
    wanted = anchors_for(features, n_anchors)
    indicators = class_indicators(training.source) if isinstance(training.source, ClassLabels) else None
    if not regress or indicators is None or len(training.vectors) > wanted:
        model = recipe_model(training, layout, recipe, wanted, rng, draws)
        return model, model.points(training.vectors), None
    found = class_posteriors(
        training.vectors,
        training.frame.center,
        indicators,
        wanted,
        rng,
        features=("rbf",),
        gammas=REGRESSED_GAMMAS,
        training_weight=TRAINING_WEIGHT,
    )
    learner = JointLearner.random(draws, layout.n_symbols, layout.arity, found.frame.n_axes)
    return JointModel(found.frame, found.rbf, learner), found.points, found.posteriors
