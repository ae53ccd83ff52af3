"""Joint rank subspace hashing across views: soft codes of different views of similar items are made to agree.

::

    classes:       Posteriors per view     ─▶ ViewLearner.learn_classes ─┐
    given pairs:   ViewSampler, Likelihood ─────▶ ViewLearner.learn ─────┼▶ a JointModel per view ─▶ ViewProjections
    paired rows:   ViewSampler, AveragePrecision ▶ ViewLearner.learn ────┘
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from .. import _kernels
from .._checks import check_flag, check_integer, check_number
from .._types import F32
from ..codes import CodeLayout
from ..errors import InvalidInputError
from ..similarity import PairSource
from ._joint.calibration import best_sharpness
from ._joint.data import JointTraining
from ._joint.frame import measure_frame
from ._joint.labels import pair_labels
from ._joint.learner import JointLearner
from ._joint.model import JointModel, new_model
from ._joint.objectives import AveragePrecision, Likelihood, PairObjective
from ._joint.posteriors import FEATURES, class_indicators, class_posteriors
from ._joint.schedule import Schedule
from ._views.batches import ViewSampler
from ._views.learner import ViewLearner
from ._views.projections import ViewProjections
from ._views.training import SelfPairs, ViewTraining, labels_across
from .base import Arrays
from .parameters import Callback, check_callback
from .progress import FitProgress
from .training import new_generator, sample_rows, take_rows
from .views import ViewHasher

RATE, CLASS_RATE = 0.2, 0.4
"""Initial rate of Adam over √d for d features: for pairs, of which higher rates fit the items better and unseen ones
worse, and for the few class scores."""

SHARPNESS = (1.35, 4.5)
"""First and last sharpness of the soft codes."""

STEEPNESS = 0.7
"""Slope of the logistic function of the likelihood: 0.7 / √n_symbols. Steeper functions overfit items that contradict
the others, which are frequent where one view hardly separates the classes."""

NOISE = {"paired": 0.15, "linear": 0.25, "rbf": 0.5}
"""Noise by default: for paired rows alone; for given pairs and linear features; for given pairs if a view has RBF
features. Leave-one-out scores of classes need none."""

BATCH, CLASS_BATCH = 400, 1000
"""Items per mini-batch by default, for pairs and for classes, whose cost grows with the number of items only."""

MAX_CALIBRATION = 700
"""Largest number of items on which the sharpness of queries is chosen."""


class CrossJRSH(ViewHasher):
    """Codes of two or more views, learned together so that soft codes of similar items agree across the views.

    Symbols are argmaxes of projections, made soft, p = softmax(sharpness · scores), as in
    [`JRSH`][rankhash.JRSH]. The agreement of rows of different views is the expected number of equal symbols. With
    classes, it is fitted to the probability that both rows are of one class, which ridge regressions of the classes
    give for every view; rows are judged by the regression of all others. With given pairs, learning maximises the
    likelihood of the pairs across all views, with paired rows alone the average precision of the partners.

    Parameters
    ----------
    n_symbols
        Symbols per code, 1 to 4096; None by default.
    arity
        Projections per symbol, 2 to 16; 4 by default.
    n_bits, n_bytes
        The size of a code in bits or bytes instead; None by default. Without any of the three, a code has 64 bits.
    features
        ``"linear"`` or ``"rbf"``: projections of the vectors, or of RBF features. One word for all views, or one per
        view, as in ``"rbf,linear"``. None, the default, takes with classes those of the smaller leave-one-out error in
        every view, else linear ones.
    n_anchors
        Number of RBF features, 2000 by default; all items if there are fewer.
    n_steps
        Number of steps, 600 by default.
    batch_size
        Items per mini-batch. None, the default, takes 1000 with classes and 400 with pairs. Up to this number of items
        are used whole in every step.
    noise
        Standard deviation of the noise on points of unit standard deviation. None, the default, takes 0 for classes,
        0.15 for paired rows alone, and for given pairs 0.25, or 0.5 if a view has RBF features.
    max_points
        Largest number of items to learn from, 20 000 by default; of more, a random sample.
    random_state
        An integer for the same codes in every run, a RandomState, or None (the default).
    callback
        Called up to 25 times with a dict: step, value, sharpness. None by default.
    verbose
        Whether a progress bar is shown on a terminal if learning takes longer than a second; True by default.

    Attributes
    ----------
    projections_, bias_, center_
        A symbol is the argmax of ``projections_ · (x - center_) + bias_`` over its rows; the columns of all views stand
        side by side, as ``widths_`` says. For arity 2 there is one row per symbol, which is 1 if the value is positive.
    anchors_, scale_
        The anchors of RBF features, and the scale of distances to them for each view; 0 for linear features.
    sharpness_ : ndarray (1,)
        Factor of the scores before the softmax of ``score_tables``, chosen on the training items.
    history_ : dict of lists
        ``step``, ``value`` of the objective and ``sharpness``. It is not saved.
    layout_, views_, n_features_, n_features_in_
        As for every hasher of several views.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> y, pictures, texts = rng.integers(0, 3, 300), rng.normal(size=(3, 8)), rng.normal(size=(3, 5))
    >>> X, Z = pictures[y] + rng.normal(size=(300, 8)) / 2, texts[y] + rng.normal(size=(300, 5)) / 2
    >>> hasher = CrossJRSH(8, n_steps=30, random_state=0).fit({"picture": X, "text": Z}, y)
    >>> hasher.encode(X, view="picture").shape, hasher.encode(Z, view="text").shape
    ((300, 2), (300, 2))
    """

    sharpness_: F32
    _side_arrays: ClassVar[tuple[str, ...]] = ("names_", "sharpness_")

    def __init__(
        self,
        n_symbols: int | None = None,
        arity: int = 4,
        *,
        n_bits: int | None = None,
        n_bytes: int | None = None,
        features: str | None = None,
        n_anchors: int = 2000,
        n_steps: int = 600,
        batch_size: int | None = None,
        noise: float | None = None,
        max_points: int = 20_000,
        random_state: Any = None,
        callback: Callback | None = None,
        verbose: bool = True,
    ) -> None:
        self.n_symbols = n_symbols
        self.arity = arity
        self.n_bits = n_bits
        self.n_bytes = n_bytes
        self.features = features
        self.n_anchors = n_anchors
        self.n_steps = n_steps
        self.batch_size = batch_size
        self.noise = noise
        self.max_points = max_points
        self.random_state = random_state
        self.callback = callback
        self.verbose = verbose

    def _check_parameters(self) -> None:
        words = self.features.split(",") if isinstance(self.features, str) else []
        if self.features is not None and (not words or not {*words} <= {*FEATURES}):
            raise InvalidInputError(f"features must be 'linear', 'rbf' or one word per view, got {self.features!r}")
        check_integer("n_anchors", self.n_anchors, 2, 100_000)
        check_integer("n_steps", self.n_steps, 1, 10_000_000)
        if self.batch_size is not None:
            check_integer("batch_size", self.batch_size, 4, 10_000)
        if self.noise is not None:
            check_number("noise", self.noise, 0, 1e6)
        check_integer("max_points", self.max_points, 3, 2**31 - 1)
        check_flag("verbose", self.verbose)
        check_callback(self.callback)

    def _learn_views(self, training: ViewTraining, rng: np.random.RandomState) -> tuple[list[ViewProjections], Arrays]:
        layout, draws = self._layout(training.y), new_generator(rng)
        source = training.item_pairs()
        rows = np.arange(training.n_items)
        if not source.is_partial:
            rows = sample_rows(rng, training.n_items, self.max_points)
            source = source if len(rows) == training.n_items else source.subset(rows)
        vectors = [view.whole() if len(rows) == view.n_rows else take_rows(view, rows) for view in training.views]
        sample = ViewSample(vectors, [view.mean() for view in training.views], source, self._words(len(vectors)))
        learn = self._learn_pairs if class_indicators(source) is None else self._learn_classes
        models, points = learn(sample, layout, rng, draws)
        some = sample_rows(draws, len(rows), MAX_CALIBRATION)
        scores = [model.learner.scores(part[some]) for model, part in zip(models, points, strict=True)]
        sharpness = best_sharpness(scores[0], pair_labels(labels_across(source, some)), scores[1])
        views = [_projections(model, part.shape[1]) for model, part in zip(models, vectors, strict=True)]
        return views, {"sharpness_": np.array([sharpness], np.float32)}

    def _words(self, n_views: int) -> list[str | None]:
        """The features of every view, None where they are to be chosen."""
        if self.features is None:
            return [None] * n_views
        words: list[str | None] = [*self.features.split(",")]
        if len(words) not in (1, n_views):
            raise InvalidInputError(f"features names {len(words)} views, but there are {n_views}")
        return words * n_views if len(words) == 1 else words

    def _learn_classes(
        self, sample: ViewSample, layout: CodeLayout, rng: np.random.RandomState, draws: np.random.Generator
    ) -> tuple[list[JointModel], list[F32]]:
        """Models of every view, and the leave-one-out points that they learned from."""
        indicators = class_indicators(sample.source)
        assert indicators is not None
        found = [
            class_posteriors(
                part, center, indicators, self.n_anchors, rng, features=FEATURES if word is None else (word,)
            )
            for part, center, word in zip(sample.vectors, sample.centers, sample.words, strict=True)
        ]
        points = [one.points for one in found]
        learners = [JointLearner.random(draws, layout.n_symbols, layout.arity, part.shape[1]) for part in points]
        schedule = Schedule(self.n_steps, CLASS_RATE, self.noise or 0.0, SHARPNESS, unit_rows=False)
        size = CLASS_BATCH if self.batch_size is None else self.batch_size
        with FitProgress(self.n_steps, "learning", shown=self.verbose) as progress:
            self.history_ = ViewLearner(learners, _rates(points)).learn_classes(
                points, [one.posteriors for one in found], size, schedule, draws, self.callback, progress.advance
            )
        models = [JointModel(one.frame, one.rbf, learner) for one, learner in zip(found, learners, strict=True)]
        return models, points

    def _learn_pairs(
        self, sample: ViewSample, layout: CodeLayout, rng: np.random.RandomState, draws: np.random.Generator
    ) -> tuple[list[JointModel], list[F32]]:
        """Models of every view, and the points that they learned from; for given pairs and for paired rows."""
        models = []
        for part, center, word in zip(sample.vectors, sample.centers, sample.words, strict=True):
            joint = JointTraining(part, sample.source, measure_frame(part, center, principal=True))
            n_anchors = self.n_anchors if word == "rbf" else None
            models.append(new_model(joint, layout, n_anchors, rng, draws, rotated=False))
        points = [model.points(part) for model, part in zip(models, sample.vectors, strict=True)]
        size = BATCH if self.batch_size is None else self.batch_size
        sampler = ViewSampler(sample.source, len(models), size, draws)
        paired = isinstance(sample.source, SelfPairs)
        objective = _objective(layout.n_symbols, sampler, paired=paired)
        usual = NOISE["paired" if paired else "rbf" if "rbf" in sample.words else "linear"]
        noise = usual if self.noise is None else self.noise
        schedule = Schedule(self.n_steps, RATE, noise, SHARPNESS, unit_rows=False)
        learner = ViewLearner([model.learner for model in models], _rates(points))
        with FitProgress(self.n_steps, "learning", shown=self.verbose) as progress:
            told = self.callback, progress.advance
            self.history_ = learner.learn(points, sampler, objective, schedule, draws, *told)
        return models, points

    def _fits(self, arrays: Arrays, layout: CodeLayout, n_features: int) -> bool:
        sharpness = arrays.get("sharpness_", np.empty(0))
        return (
            sharpness.shape == (1,)
            and sharpness.dtype == np.float32
            and bool(np.isfinite(sharpness[0]) and sharpness[0] > 0)
            and "bias_" in arrays
            and super()._fits(arrays, layout, n_features)
        )


@dataclass(frozen=True)
class ViewSample:
    """The items to learn from: vectors, their means and features for every view, and the similarity of the items."""

    vectors: list[F32]
    centers: list[F32]
    source: PairSource
    words: list[str | None]


def _objective(n_symbols: int, sampler: ViewSampler, *, paired: bool) -> PairObjective:
    """The average precision of partners, or the likelihood of given pairs."""
    threads = _kernels.resolve_threads(None)
    if paired:
        return AveragePrecision(n_symbols, sampler.counts, full=sampler.full, n_threads=threads)
    return Likelihood(n_symbols, sampler.counts, full=sampler.full, n_threads=threads, steepness=STEEPNESS)


def _rates(points: list[F32]) -> list[float]:
    """Factors of the rate of every view."""
    return [1 / float(np.sqrt(part.shape[1])) for part in points]


def _projections(model: JointModel, n_features: int) -> ViewProjections:
    arrays = model.arrays()
    scale = float(arrays["scale_"][0]) if "scale_" in arrays else 0.0
    learned = arrays["projections_"], arrays["center_"]
    return ViewProjections(*learned, n_features, arrays["bias_"], arrays.get("anchors_"), scale)
