"""What :class:`JRSH` learns with: constants for each kind of labels, the points, and the state between batches."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .. import _kernels
from ..codes import CodeLayout
from ..errors import InvalidInputError
from ..similarity import GivenPairs, MetricNeighbors, PairSource, label_source
from ..vectors import VectorBatches
from ._base import F32, Arrays, Training
from ._frame import Frame, measure_frame
from ._grids import Grids
from ._joint import JointLearner
from ._kernel import RBFAnchors, some_rows, take_rows
from ._objectives import AveragePrecision, BallPrecision, Likelihood, Objective, SimilarAndClose
from ._reduced import is_reduced

MAX_FLOATS = 1 << 28
"""Numbers of all training points; from more, some of the points are left out."""

WHOLE = 1500
"""Up to so many points every step sees all of them."""

MAX_UNLABELED = 200_000
"""Points whose neighbours are learned from at most: in all steps, random batches see about twice as many."""

MAX_RARITY = 1000
"""One of so many points is a neighbour at least: steps see some of the points, and in these neighbours must be."""

BALL_WIDTHS = 16.0, 0.5
"""How soft the edge of a ball is: symbols over the first number, at least 1, when learning begins; the second in the
end."""


@dataclass(frozen=True)
class Recipe:
    """Constants for one kind of labels.

    ``rate`` is that of Adam for weights of unit mean square, if a step sees all points and if it sees some of them;
    ``noise`` and the first and last ``sharpness`` refer to points of unit deviation.
    """

    arity: int
    n_steps: int
    rate: tuple[float, float]
    noise: float
    sharpness: tuple[float, float]
    unit_rows: bool


NEIGHBORS = Recipe(2, 400, (0.6, 0.3), 0.2, (1.35, 4.5), unit_rows=True)
CLASSES = Recipe(8, 600, (0.6, 0.6), 0.05, (1.35, 4.5), unit_rows=False)


@dataclass
class Stream:
    """What is learned, and what learning on from further batches needs."""

    frame: Frame
    rbf: RBFAnchors | None
    learner: JointLearner
    n_steps: int = 0

    def points(self, vectors: F32) -> F32:
        """What the functions see of vectors."""
        return self.frame.points(vectors if self.rbf is None else self.rbf.transform(vectors))

    def arrays(self) -> Arrays:
        """The learned arrays, for vectors as they come."""
        weights, bias = self.learner.projections()
        projections = self.frame.fold(weights)
        if self.rbf is None:
            return {"projections_": projections, "bias_": bias, "center_": self.frame.center}
        folded = {"projections_": self.rbf.fold(projections), "bias_": bias, "center_": self.rbf.mean_}
        return folded | {"anchors_": self.rbf.anchors_, "scale_": self.rbf.scale_}


@dataclass(frozen=True)
class Material:
    """Vectors to learn from, the labels of their pairs, and the vectors' own frame."""

    vectors: F32
    source: PairSource
    frame: Frame


def gather(training: Training, rng: np.random.RandomState, max_points: int, n_neighbors: int) -> Material:
    """All vectors of a training set, or as many as fit, and what is known of their pairs."""
    data = training.vectors
    if data.n_rows < 2:
        raise InvalidInputError("JRSH learns from pairs, but there is 1 sample: n_samples=1")
    known = label_source(training.y, training.similarity, data.n_rows)
    center = data.mean()
    rows = some_rows(rng, data.n_rows, _most(known, data, max_points))
    vectors = data.whole() if len(rows) == data.n_rows else take_rows(data, rows)
    frame = measure_frame(vectors, center, turned=True)
    if known is None:
        source: PairSource = MetricNeighbors(
            frame.points(vectors),
            max(n_neighbors, len(rows) // MAX_RARITY),
            np.random.default_rng(rng.randint(2**31)),
            one_length=is_reduced(vectors, center),
        )
    else:
        source = known if len(rows) == data.n_rows else known.subset(rows)
        source.require_both_kinds("the sample of max_points vectors is too small for so rare classes")
    return Material(vectors, source, frame)


def _most(known: PairSource | None, data: VectorBatches, max_points: int) -> int:
    if isinstance(known, GivenPairs):
        return data.n_rows
    most = max_points if known is not None else min(max_points, MAX_UNLABELED)
    return max(3, min(most, MAX_FLOATS // data.n_features))


def begin(
    material: Material,
    layout: CodeLayout,
    n_anchors: int | None,
    rng: np.random.RandomState,
    draws: np.random.Generator,
) -> Stream:
    """Features, frame and random functions to start from; ``n_anchors`` is None for linear features."""
    frame, rbf = material.frame, None
    if n_anchors is not None:
        rbf = RBFAnchors(n_anchors, whiten=True, random_state=rng).fit(material.vectors)
        features = rbf.transform(material.vectors)
        frame = measure_frame(features, np.zeros(features.shape[1], np.float32), turned=False)
    n_axes = len(frame.center) if frame.turn is None else len(frame.turn)
    return Stream(frame, rbf, JointLearner.random(draws, layout.n_symbols, layout.arity, n_axes))


def ranking_objective(recipe: Recipe, layout: CodeLayout, source: PairSource, grids: Grids) -> Objective:
    """What makes similar pairs come first; of many points' neighbours, those that are close as well."""
    threads = _kernels.resolve_threads(None)
    if isinstance(source, MetricNeighbors) and not grids.whole:
        return SimilarAndClose(layout.n_symbols, source.similar_rate, threads)
    kind = AveragePrecision if recipe is NEIGHBORS else Likelihood
    counts = source.n_dissimilar, source.n_similar
    objective: Objective = kind(layout.n_symbols, counts, whole=grids.whole, n_threads=threads)
    return objective


def radius_objective(layout: CodeLayout, radius: int, source: PairSource, grids: Grids) -> Objective:
    """What fills Hamming balls with similar points."""
    widths = max(1.0, layout.n_symbols / BALL_WIDTHS[0]), BALL_WIDTHS[1]
    share = grids.share if isinstance(source, MetricNeighbors) else 1.0
    return BallPrecision(layout.n_symbols, radius, widths, share)
