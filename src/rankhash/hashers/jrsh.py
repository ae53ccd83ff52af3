"""Joint rank subspace hashing: all functions are learned together, on the objective of the search.

::

    fit, partial_fit ─▶ joint_training ─▶ start_learning, or the model so far ─▶ BatchSampler, objective ─▶ learn
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from scipy.special import softmax

from .._checks import check_choice, check_integer, check_number, check_verbose
from .._types import F32, F64
from ..codes import CodeLayout
from ..errors import InvalidInputError
from ..vectors import batches
from ._diagnostics import SymbolReport
from ._features.anchors import KernelHasher
from ._joint.batches import BatchSampler
from ._joint.calibration import calibration
from ._joint.check import HeldOut, check_lines, take_better
from ._joint.data import joint_training
from ._joint.learner import JointLearner
from ._joint.lists import MIN_POINTS, NearestLists
from ._joint.model import JointModel, next_learning, start_learning
from ._joint.schedule import MAX_FULL_BATCH, PARTIAL_STEPS, ROTATED, Schedule, auto_arity, features_for, recipe_for
from ._joint.stream import StreamWindow
from ._joint.targets import objective_for
from .base import Arrays
from .parameters import Callback, as_random_state, bits_of, check_callback, feature_names, one_blas_thread, symbols_of
from .progress import FitProgress
from .training import Training, new_generator

if TYPE_CHECKING:
    from typing_extensions import Self


class JRSH(SymbolReport, KernelHasher):
    """Codes whose symbols are argmaxes of a few learned projections, all of them learned together.

    Symbols are made soft, p = softmax(sharpness · scores), so that the agreement of two points, the expected number of
    equal symbols, is differentiable. Learning maximises an objective that ranks similar pairs first, while symbols
    become hard. Without labels, learning starts from the codes of ITQ, and ``report`` compares the learned codes with
    these on held-out vectors. With classes, it learns from RBF features, which make codes far better.

    The pairs come from ``fit(X, y)`` (class labels, also multi-label), from ``fit(X, similarity=...)`` (given pairs),
    or else from the distances of the vectors (``n_neighbors``).

    Parameters
    ----------
    n_symbols
        Symbols per code, 1 to 4096; None by default.
    n_bits, n_bytes
        The size of a code in bits or bytes instead; None by default. Without any of the three, a code has 64 bits.
    arity
        Projections per symbol, 2 to 16. ``"auto"``, the default, takes 2, which is best for a given number of bits. If
        ``fit`` is given classes and a size in bits or bytes, it takes 4 for up to 2000 labels (2 for an odd number of
        bits); for more labels and in streams 8, or 16, 4 or 2 if the bits are no multiple of 3; with ``n_symbols``, 8.
    target
        ``"ranking"``, the default: similar vectors come first. The objective is the average precision for neighbours
        and given pairs, the likelihood for classes. ``"radius"``: the objective is the precision within a Hamming
        ball, for look-ups in hash tables; an empty ball counts as 0. From 32 bits on, an arity of 4 to 16 is better
        for ``"radius"`` than 2.
    radius
        Radius of that ball in symbols, 2 by default.
    features
        ``"linear"``: projections of the vectors. ``"rbf"``: projections of whitened RBF features, which separate
        classes better and make encoding slower. ``"auto"``, the default, takes ``"rbf"`` if ``fit`` is given classes.
    n_anchors
        Number of RBF features. None, the default, takes 2000, or all vectors if there are fewer. If all vectors are
        anchors, ``fit`` with classes learns from leave-one-out scores of a regression (see Notes).
    n_neighbors
        Without labels, a vector has this many similar vectors on average. None, the default, takes 50, or one in 200 of
        more than 10 000 vectors. With more than 1500 vectors, locally close ones count as well.
    n_steps
        Steps of learning. None, the default, takes 200 from the projections of ITQ (without labels, arity 2, ranking),
        600 with classes, else 400.
    batch_size
        Mini-batch size, used above 1500 training vectors; 1024 by default.
    noise
        Standard deviation of the noise on the training points in every step, which prevents overfitting, in units of
        the typical standard deviation; without labels (linear features), of the standard deviation of similar vectors
        along an axis. None, the default, takes 0.2, in that last case 0.43. With classes it takes
        0.7 √(features / vectors), at least 0.05 and at most 0.7.
    max_points
        Largest number of vectors to learn from, 1 000 000 by default; of more, or of more than 2²⁸ numbers, a random
        sample. Without labels at most 200 000 are used, since the mini-batches of all steps hold hardly more.
    random_state
        An integer for the same codes in every run, a RandomState, or None (the default).
    callback
        Called up to 25 times with a dict: step, value, average_precision, balance, sharpness. None by default.
    verbose
        Whether a progress bar is shown on a terminal if learning takes longer than a second; True by default.

    Attributes
    ----------
    projections_, bias_, center_
        A symbol is the argmax of ``projections_ · (x - center_) + bias_`` over its rows. For arity 2 there is one row
        per symbol, which is 1 if the value is positive. With ``features="rbf"``, x stands for the kernel values.
    anchors_, scale_
        The anchors of the features and the scale of distances to them; None for linear features.
    sharpness_ : ndarray (1,)
        Factor of the scores before the softmax of ``score_tables``, chosen on the training points.
    balance_ : ndarray (n_symbols, arity)
        Fraction of the training points that have each value of each symbol.
    check_ : ndarray (2, 2) or None
        Recall of the 10 nearest among 100, and average precision, of up to 1000 held-out vectors: learned codes and
        those of ITQ of as many bits. For arity 2, codes are those of ITQ if the learned recall is lower,
        and lie between the two if that is better. ``fit``
        without labels makes the check on 2000 vectors or more, for linear features and ``target="ranking"``.
    history_ : dict of lists
        ``step``, ``value`` of the objective, ``average_precision`` of hard codes, ``balance`` (the effective number of
        values per symbol) and ``sharpness``. It is not saved.
    layout_, n_features_in_, feature_names_in_
        As for every hasher.

    Notes
    -----
    With as many RBF features as vectors, projections could fit any classes. Few labelled vectors are therefore learned
    from in two stages: a ridge regression of the classes, whose kernel width (gamma 2, 4 or 8) and ridge are those of
    the smallest leave-one-out error plus a third of the training error, then codes whose agreement follows the
    probability that two vectors share a class, by leave-one-out scores.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> hasher = JRSH(32, n_steps=40, random_state=0).fit(X)
    >>> hasher.transform(X).shape, hasher.encode(X).shape
    ((1797, 32), (1797, 4))
    >>> JRSH(8, n_steps=40, features="rbf", n_anchors=100, random_state=0).fit(X, y).layout_.arity
    8
    """

    sharpness_: F32
    check_: F32 | None
    _model: JointModel | None
    _side_arrays: ClassVar[tuple[str, ...]] = ("sharpness_", "balance_", "check_")
    _needs_anchors, _rotates = False, True

    def __init__(
        self,
        n_symbols: int | None = None,
        arity: int | str = "auto",
        *,
        n_bits: int | None = None,
        n_bytes: int | None = None,
        target: str = "ranking",
        radius: int = 2,
        features: str = "auto",
        n_anchors: int | None = None,
        n_neighbors: int | None = None,
        n_steps: int | None = None,
        batch_size: int = 1024,
        noise: float | None = None,
        max_points: int = 1_000_000,
        random_state: Any = None,
        callback: Callback | None = None,
        verbose: bool = True,
    ) -> None:
        super().__init__(n_symbols, n_bits=n_bits, n_bytes=n_bytes, random_state=random_state)
        self.arity = arity  # type: ignore[assignment]  # "auto" until fit
        self.target = target
        self.radius = radius
        self.features = features
        self.n_anchors = n_anchors
        self.n_neighbors = n_neighbors
        self.n_steps = n_steps
        self.batch_size = batch_size
        self.noise = noise
        self.max_points = max_points
        self.callback = callback
        self.verbose = verbose

    def _check_parameters(self) -> None:
        check_choice("target", self.target, ("ranking", "radius"))
        check_choice("features", self.features, ("auto", "linear", "rbf"))
        check_integer("radius", self.radius, 0, 4096)
        check_integer("batch_size", self.batch_size, 16, 20_000)
        check_integer("max_points", self.max_points, 3, 2**31 - 1)
        check_verbose(self.verbose)
        most = {"n_anchors": (2, 100_000), "n_steps": (1, 10_000_000), "n_neighbors": (1, 2**31 - 1)}
        for name, limits in most.items():
            if getattr(self, name) is not None:
                check_integer(name, getattr(self, name), *limits)
        if self.noise is not None:
            check_number("noise", self.noise, 0, 1e6)
        check_callback(self.callback)

    def _layout(self, y: Any, *, stream: bool = False) -> CodeLayout:
        arity: Any = self.arity
        if isinstance(arity, str) and arity != "auto":
            raise InvalidInputError(f"arity must be an integer from 2 to 16 or 'auto', got {arity!r}")
        if arity == "auto":
            n_bits = bits_of(self.n_bits, self.n_bytes) if self.n_symbols is None else None
            arity = auto_arity(n_bits, y, stream=stream)
        return CodeLayout(symbols_of(self.n_symbols, self.n_bits, self.n_bytes, arity), arity)

    def _learn(self, training: Training, rng: np.random.RandomState) -> Arrays:
        return self._continue(rng, self._layout(training.y), None, training)

    @one_blas_thread
    def partial_fit(self, X: Any, y: Any = None, *, similarity: Any = None) -> Self:
        """The hasher itself, after learning from one more batch of vectors.

        The latest 20 000 vectors, or 2²⁴ numbers, are remembered with their labels. Learning starts anew when they have
        doubled and none was forgotten; otherwise a batch takes n_steps / 8 further steps on all of them. Larger batches
        are learned from alone, and so is the first one after ``fit``. Batches should be alike. The fingerprint changes:
        earlier codes no longer belong to the hasher. A hasher from a file cannot continue to learn.

        Parameters
        ----------
        X, y, similarity
            As for ``fit``; ``y`` and ``similarity`` are None by default.
        """
        self._check_parameters()
        fitted = hasattr(self, "layout_")
        if fitted and getattr(self, "_model", None) is None:
            raise InvalidInputError("a hasher from a file cannot learn on; call fit, or go on with the one in memory")
        layout = self._layout(y, stream=True)
        if fitted and (layout.n_symbols, layout.arity) != (self.layout_.n_symbols, self.layout_.arity):
            raise InvalidInputError("size and arity of codes cannot change between batches; call fit to start anew")
        rng = as_random_state(self.random_state)
        data = self._open(X) if fitted else batches(X, owner=type(self).__name__, sparse=True)
        names = getattr(self, "feature_names_in_", None) if fitted else feature_names(X)
        known = next_learning(self._model if fitted else None, Training(data, y, similarity))
        self._adopt(self._continue(rng, layout, *known), layout, data.n_features, names)
        return self

    def _continue(
        self,
        rng: np.random.RandomState,
        layout: CodeLayout,
        model: JointModel | None,
        training: Training,
        window: StreamWindow | None = None,
    ) -> Arrays:
        """The arrays after n_steps steps of a new model, or n_steps / 8 of a given one; a stream has a window."""
        features = features_for(training, self.features)
        recipe = recipe_for(training, layout.arity, features, self.target)
        part, ranked = (1, self.target == "ranking") if model is None else (PARTIAL_STEPS, False)
        joint = joint_training(training, rng, self.max_points, self.n_neighbors, check=ranked and recipe.metric)
        draws, source = new_generator(rng), joint.source
        if model is None:
            given = joint, layout, recipe, features, self.n_anchors, rng, draws
            model, points, posteriors = start_learning(*given, regress=ranked and window is None)
            model.n_vectors = training.vectors.n_rows
        else:
            points, posteriors = model.points(joint.vectors), None
        start = model.learner.copy()
        sampler = BatchSampler(source, self.batch_size if len(points) > MAX_FULL_BATCH else MAX_FULL_BATCH, draws)
        radius = self.radius if self.target == "radius" else None
        objective = objective_for(recipe, layout.n_symbols, source, sampler, radius, posteriors)
        lists = None
        if recipe is ROTATED and joint.neighbors is not None and len(points) >= MIN_POINTS:
            lists = NearestLists(points, joint.neighbors, layout.n_symbols, draws)
        unit = joint.spread if recipe.metric else 1.0
        sizes = self.n_steps, self.noise, unit, part, model.n_steps
        schedule = Schedule.of(recipe, *sizes, *points.shape, full=sampler.full)
        with FitProgress(schedule.n_steps, "learning", shown=self.verbose) as progress:
            told = self.callback, progress.advance
            self.history_ = model.learner.learn(points, sampler, objective, lists, schedule, draws, *told)
        model.n_steps += schedule.n_steps
        model.window = StreamWindow(is_complete=False) if window is None else window
        self._model = model
        checked: Arrays = {}
        if joint.held_out is not None and joint.neighbors is not None:
            itq = start if recipe is ROTATED else JointLearner.rotated(rng, layout.bits, points)
            held_out = HeldOut.of(model.points(joint.held_out), joint.neighbors, itq.n_symbols, draws)
            checked["check_"] = take_better(model.learner, itq, held_out)
        return model.arrays() | calibration(model, joint.vectors, points, sampler.draw()) | checked

    def report(self) -> str:
        """A table of the learned functions, one line per function, and the check on held-out vectors.

        ``effective`` is the effective number of values (the exponential of their entropy), ``symbols`` the percentage
        of training points that have each value. The check is that of ``check_``.
        """
        table: str = super().report()
        return table if self.check_ is None else "\n".join([table, *check_lines(self.check_, self.layout_.arity)])

    def _scores(self, vectors: F32) -> F64:
        """The probability of each value of each symbol."""
        scores: F64 = softmax(super()._scores(vectors) * float(self.sharpness_[0]), axis=2)
        return scores

    def _fits(self, arrays: Arrays, layout: CodeLayout, n_features: int) -> bool:
        sharpness, shares = (arrays.get(name, np.empty(0)) for name in ("sharpness_", "balance_"))
        return (
            sharpness.shape == (1,)
            and bool(sharpness[0] > 0)
            and shares.shape == (layout.n_symbols, layout.arity)
            and bool((shares >= 0).all() and (shares <= 1).all())
            and "bias_" in arrays
            and arrays.get("check_", np.empty((2, 2))).shape == (2, 2)
            and super()._fits(arrays, layout, n_features)
        )
