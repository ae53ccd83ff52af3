"""Joint rank subspace hashing across views: soft codes of different views of similar items are made to agree.

::

    fit((X, Z), y) ─▶ a JointModel per view ─▶ ViewSampler, objective ─▶ ViewLearner.learn ─▶ projections of every view
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from .. import _kernels
from .._checks import check_flag, check_integer, check_number
from .._types import F32
from ..codes import CodeLayout
from ..errors import InvalidInputError
from ._joint.calibration import best_sharpness
from ._joint.data import JointTraining
from ._joint.frame import measure_frame
from ._joint.labels import pair_labels
from ._joint.model import JointModel, new_model
from ._joint.objectives import AveragePrecision, Likelihood, Objective
from ._joint.schedule import Schedule
from ._views.batches import ViewSampler
from ._views.learner import ViewLearner
from ._views.projections import ViewProjections
from ._views.training import ViewTraining, labels_across
from .base import Arrays
from .parameters import Callback, check_callback
from .progress import FitProgress
from .training import new_generator, sample_rows, take_rows
from .views import ViewHasher

RATE = 0.2
"""Initial rate of Adam: 0.2 / √d for d features. Higher rates fit the items better and unseen ones worse."""

SHARPNESS = (1.35, 4.5)
"""First and last sharpness of the soft codes."""

STEEPNESS = 0.7
"""Slope of the logistic function of the likelihood: 0.7 / √n_symbols. Steeper functions overfit items that contradict
the others, which are frequent where one view hardly separates the classes."""

NOISE = {"pairs": 0.15, "linear": 0.25, "rbf": 0.5}
"""Noise by default: for paired rows alone; with labels for linear features; with labels if a view has RBF features."""

FEATURES = ("linear", "rbf")

MAX_CALIBRATION = 700
"""Largest number of items on which the sharpness of queries is chosen."""


class CrossJRSH(ViewHasher):
    """Codes of two or more views, learned together so that soft codes of similar items agree across the views.

    Symbols are argmaxes of projections, made soft, p = softmax(sharpness · scores), as in
    [`JRSH`][rankhash.JRSH]. The agreement of rows of different views is the expected number of equal symbols. With
    classes or given pairs, learning maximises the likelihood of the pairs across all views. With paired rows alone it
    maximises the average precision of the partners.

    Parameters
    ----------
    n_symbols
        Symbols per code, 1 to 4096; None by default.
    arity
        Projections per symbol, 2 to 16; 16 by default.
    n_bits, n_bytes
        The size of a code in bits or bytes instead; None by default. Without any of the three, a code has 64 bits.
    features
        ``"linear"``, the default, or ``"rbf"``: projections of the vectors, or of whitened RBF features, which separate
        classes better. One word for all views, or one per view, as in ``"rbf,linear"``.
    n_anchors
        Number of RBF features, 500 by default.
    n_steps
        Number of steps, 600 by default.
    batch_size
        Items per mini-batch, 400 by default. Up to this number of items are used whole in every step.
    noise
        Standard deviation of the noise on points of unit standard deviation. None, the default, takes 0.15 for paired
        rows alone, and with classes or pairs 0.25, or 0.5 if a view has RBF features.
    max_points
        Largest number of items to learn from, 100 000 by default; of more, a random sample.
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
    ((300, 4), (300, 4))
    """

    sharpness_: F32
    _side_arrays: ClassVar[tuple[str, ...]] = ("names_", "sharpness_")

    def __init__(
        self,
        n_symbols: int | None = None,
        arity: int = 16,
        *,
        n_bits: int | None = None,
        n_bytes: int | None = None,
        features: str = "linear",
        n_anchors: int = 500,
        n_steps: int = 600,
        batch_size: int = 400,
        noise: float | None = None,
        max_points: int = 100_000,
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
        if not words or not {*words} <= {*FEATURES}:
            raise InvalidInputError(f"features must be 'linear', 'rbf' or one word per view, got {self.features!r}")
        check_integer("n_anchors", self.n_anchors, 2, 100_000)
        check_integer("n_steps", self.n_steps, 1, 10_000_000)
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
        models = self._models(training, vectors, layout, rng, draws)
        points = [model.points(part) for model, part in zip(models, vectors, strict=True)]
        sampler = ViewSampler(source, len(models), self.batch_size, draws)
        objective = _objective(layout.n_symbols, sampler, labelled=training.is_labelled)
        noise = self._noise(labelled=training.is_labelled)
        schedule = Schedule(self.n_steps, RATE, noise, SHARPNESS, unit_rows=False)
        learner = ViewLearner([model.learner for model in models], [1 / np.sqrt(part.shape[1]) for part in points])
        with FitProgress(self.n_steps, "learning", shown=self.verbose) as progress:
            told = self.callback, progress.advance
            self.history_ = learner.learn(points, sampler, objective, schedule, draws, *told)
        some = sample_rows(draws, len(rows), MAX_CALIBRATION)
        scores = [model.learner.scores(part[some]) for model, part in zip(models, points, strict=True)]
        sharpness = best_sharpness(scores[0], pair_labels(labels_across(source, some)), scores[1])
        views = [_projections(model, part.shape[1]) for model, part in zip(models, vectors, strict=True)]
        return views, {"sharpness_": np.array([sharpness], np.float32)}

    def _noise(self, *, labelled: bool) -> float:
        if self.noise is not None:
            return self.noise
        return NOISE[("rbf" if "rbf" in self.features else "linear") if labelled else "pairs"]

    def _models(
        self,
        training: ViewTraining,
        vectors: list[F32],
        layout: CodeLayout,
        rng: np.random.RandomState,
        draws: np.random.Generator,
    ) -> list[JointModel]:
        """A model with random projections per view."""
        words = self.features.split(",")
        if len(words) not in (1, len(vectors)):
            raise InvalidInputError(f"features names {len(words)} views, but there are {len(vectors)}")
        words = words * len(vectors) if len(words) == 1 else words
        models = []
        for view, part, word in zip(training.views, vectors, words, strict=True):
            frame = measure_frame(part, view.mean(), principal=True)
            joint = JointTraining(part, training.item_pairs(), frame)
            n_anchors = self.n_anchors if word == "rbf" else None
            models.append(new_model(joint, layout, n_anchors, rng, draws, rotated=False))
        return models

    def _fits(self, arrays: Arrays, layout: CodeLayout, n_features: int) -> bool:
        sharpness = arrays.get("sharpness_", np.empty(0))
        return (
            sharpness.shape == (1,)
            and sharpness.dtype == np.float32
            and bool(np.isfinite(sharpness[0]) and sharpness[0] > 0)
            and "bias_" in arrays
            and super()._fits(arrays, layout, n_features)
        )


def _objective(n_symbols: int, sampler: ViewSampler, *, labelled: bool) -> Objective:
    """The likelihood of known pairs, or the average precision of partners."""
    threads = _kernels.resolve_threads(None)
    if not labelled:
        return AveragePrecision(n_symbols, sampler.counts, full=sampler.full, n_threads=threads)
    return Likelihood(n_symbols, sampler.counts, full=sampler.full, n_threads=threads, steepness=STEEPNESS)


def _projections(model: JointModel, n_features: int) -> ViewProjections:
    arrays = model.arrays()
    scale = float(arrays["scale_"][0]) if "scale_" in arrays else 0.0
    learned = arrays["projections_"], arrays["center_"]
    return ViewProjections(*learned, n_features, arrays["bias_"], arrays.get("anchors_"), scale)
