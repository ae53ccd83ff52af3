"""Joint rank subspace hashing: all functions are learned together, on what is searched for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from scipy.special import softmax
from sklearn.utils.validation import check_is_fitted

from ..codes import CodeLayout
from ..errors import InvalidInputError
from ..vectors import batches
from ._base import (
    F32,
    F64,
    U8,
    Arrays,
    Hasher,
    Training,
    _feature_names,
    _random_state,
    check_flag,
    check_integer,
)
from ._decoder import DecoderHasher
from ._grids import Grids
from ._history import plot_curves
from ._joint import Course, balance, effective_symbols
from ._kernel import KernelHasher
from ._pairs import Callback, check_number
from ._progress import FitProgress
from ._recipes import CLASSES, NEIGHBORS, WHOLE, Recipe, Stream, begin, gather, radius_objective, ranking_objective
from ._refinement import Refinement
from ._sharpness import best_sharpness

if TYPE_CHECKING:
    from typing_extensions import Self

STREAM_STEPS = 8
"""``partial_fit`` takes this part of the steps of ``fit``."""


CHOICES = {
    "objective": ("pairs", "reconstruction"),
    "target": ("ranking", "radius"),
    "features": ("linear", "rbf"),
}


class JRSH(DecoderHasher, KernelHasher):
    """Codes whose symbols tell which of a few learned projections is the largest, all of them learned together.

    Symbols are made soft, p = softmax(sharpness · scores), so that the agreement of two points, the expected number
    of equal symbols, has a gradient. It is made to rank similar pairs first, while symbols become hard. At equal
    bits the codes find neighbours better than those of any other method here; with classes, ``features="rbf"``
    makes them far better.

    Parameters
    ----------
    n_symbols
        Functions, and so symbols of a code, 1 to 4096.
    arity
        Projections that compete for a symbol, 2 to 16. ``"auto"``: 8 if ``fit`` is given classes, else 2, which is
        best for a given number of bits; 16 to reconstruct.
    objective
        ``"pairs"``: codes of similar vectors are alike, what the next six parameters are about.
        ``"reconstruction"``: vectors can be decoded from codes, which finds more of the nearest vectors in a scan with
        :meth:`score_tables`, but makes codes that are worse to compare with each other. What is known of the vectors'
        similarity is ignored. ``n_symbols * arity`` is at most 4096.
    refine
        To reconstruct: 0 makes symbols of winners; with 1 or more, :meth:`encode` goes on to improve them together so
        many times (8 is plenty), which takes tens of microseconds a vector. They are no longer an argmax then.
    target
        ``"ranking"``: similar vectors come first. From neighbours and given pairs, the average precision is made
        large; from classes, the likelihood. ``"radius"``: the precision within a Hamming ball, for look-ups in hash
        tables; empty balls count as 0. With 32 bits or more, an arity of 4 to 16 is better for that than 2.
    radius
        The radius of that ball, in symbols.
    features
        ``"linear"``: projections of the vectors. ``"rbf"``: of whitened features that tell how near the vectors are
        to some of them, which separates classes better and makes encoding slower.
    n_anchors
        How many vectors those are.
    n_neighbors
        Without labels, vectors are similar if their distance is at most that which gives a vector so many others
        on average.
    n_steps
        Steps of learning; None stands for 400, for 600 with classes.
    batch_size
        Points that a step looks at, if there are more than 1500.
    noise
        How far points are moved at random in every step, in usual deviations along a direction; it keeps codes
        from clinging to the training points. None stands for 0.2, for 0.05 with classes.
    max_points
        From more vectors than this, or 2²⁸ numbers, a random sample is learned from.
    random_state
        An integer for the same codes in every run, a RandomState, or None.
    callback
        Called some times with a dict: step, value, average_precision, balance, sharpness.
    verbose
        Whether a bar is shown on a terminal if learning takes longer than a second.

    Attributes
    ----------
    projections_, bias_, center_
        A symbol is the argmax of ``projections_ · (x - center_) + bias_`` over its rows; for arity 2 there is one row
        a symbol, which is 1 if that is positive. With ``features="rbf"``, x stands for the features.
    anchors_, scale_
        The anchors of the features, and the scale of distances to them; None for linear features.
    sharpness_ : ndarray (1,)
        What scores are multiplied with before the softmax of :meth:`score_tables`, chosen on the training points.
    balance_ : ndarray (n_symbols, arity)
        The share of training points that has each value of each symbol.
    decoder_ : ndarray (n_symbols * arity, n_features_in_)
        To reconstruct: a vector is about ``center_`` plus one of the rows for each symbol (:meth:`decode`).
    lengths_ : ndarray (n_symbols * arity,)
        What the rows add to the squared length of that sum, as :meth:`score_tables` takes it.
    crossing_, refinement_
        What refined symbols are found with; None without ``refine``.
    history_ : dict of lists
        The course of learning: ``step``, ``value`` of the objective, ``average_precision`` of hard codes,
        ``balance`` (values in use), ``sharpness``; to reconstruct, ``step`` and ``error``, the mean squared error in
        units of the variance. It is not saved.
    layout_, n_features_in_, feature_names_in_
        As for every hasher.

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

    anchors_: F32 | None  # type: ignore[assignment]
    scale_: F32 | None  # type: ignore[assignment]
    sharpness_: F32
    balance_: F32
    history_: dict[str, list[float]]
    _stream: Stream | None
    _code_arrays: ClassVar[tuple[str, ...]] = (*KernelHasher._code_arrays, *DecoderHasher._decoder_code_arrays)
    _side_arrays = ("sharpness_", "balance_", *DecoderHasher._decoder_side_arrays)

    def __init__(
        self,
        n_symbols: int = 64,
        arity: int | str = "auto",
        *,
        objective: str = "pairs",
        refine: int = 0,
        target: str = "ranking",
        radius: int = 2,
        features: str = "linear",
        n_anchors: int = 1000,
        n_neighbors: int = 50,
        n_steps: int | None = None,
        batch_size: int = 1024,
        noise: float | None = None,
        max_points: int = 1_000_000,
        random_state: Any = None,
        callback: Callback | None = None,
        verbose: bool = True,
    ) -> None:
        self.n_symbols = n_symbols
        self.arity = arity  # type: ignore[assignment]
        self.objective = objective
        self.refine = refine
        self.target = target
        self.radius = radius
        self.features = features
        self.n_anchors = n_anchors
        self.n_neighbors = n_neighbors
        self.n_steps = n_steps
        self.batch_size = batch_size
        self.noise = noise
        self.max_points = max_points
        self.random_state = random_state
        self.callback = callback
        self.verbose = verbose

    def _check_parameters(self) -> None:
        for name, choices in CHOICES.items():
            if getattr(self, name) not in choices:
                raise InvalidInputError(
                    f"{name} must be {' or '.join(map(repr, choices))}, got {getattr(self, name)!r}"
                )
        if self.objective == "reconstruction" and self.features == "rbf":
            raise InvalidInputError("objective='reconstruction' takes features='linear' only")
        check_integer("refine", self.refine, 0, Refinement.MOST)
        check_integer("radius", self.radius, 0, 4096)
        check_integer("n_anchors", self.n_anchors, 2, 100_000)
        check_integer("n_neighbors", self.n_neighbors, 1, 2**31 - 1)
        check_integer("batch_size", self.batch_size, 16, 20_000)
        check_integer("max_points", self.max_points, 3, 2**31 - 1)
        check_flag("verbose", self.verbose)
        if self.n_steps is not None:
            check_integer("n_steps", self.n_steps, 1, 10_000_000)
        if self.noise is not None:
            check_number("noise", self.noise, 0, 1e6)
        if self.callback is not None and not callable(self.callback):
            raise InvalidInputError(f"callback must be a function or None, got {self.callback!r}")

    def _layout(self, y: Any) -> CodeLayout:
        if isinstance(self.arity, str) and self.arity != "auto":
            raise InvalidInputError(f"arity must be an integer from 2 to 16 or 'auto', got {self.arity!r}")
        auto = 16 if self.objective == "reconstruction" else self._recipe(y).arity
        return CodeLayout(self.n_symbols, auto if isinstance(self.arity, str) else self.arity)

    def _recipe(self, y: Any) -> Recipe:
        return NEIGHBORS if y is None else CLASSES

    def _learn(self, training: Training, rng: np.random.RandomState) -> Arrays:
        self._stream = None
        if self.objective == "reconstruction":
            return self._learn_decoder(training, rng, self._layout(training.y))
        return self._learn_on(training, rng, self._layout(training.y), 1)

    def partial_fit(self, X: Any, y: Any = None, *, similarity: Any = None) -> Self:
        """The hasher itself, after it has learned on from one more batch of vectors.

        The first batch fixes centre, scale, features and arity; every batch gives the pairs among its own vectors
        and takes an eighth of the steps. The rate of learning is high again at the beginning of a batch, but less
        so from batch to batch. Batches should look alike and hold a thousand vectors or more. Codes that were made
        before a batch no longer belong to the hasher, whose fingerprint changes. A hasher from a file cannot learn
        on.
        """
        self._check_parameters()
        if self.objective == "reconstruction":
            raise InvalidInputError("objective='reconstruction' cannot learn from a stream; call fit with all vectors")
        fitted = hasattr(self, "layout_")
        if fitted and getattr(self, "_stream", None) is None:
            raise InvalidInputError("a hasher from a file cannot learn on; call fit, or go on with the one in memory")
        layout = CodeLayout(self.layout_.n_symbols, self.layout_.arity) if fitted else self._layout(y)
        if layout.n_symbols != self.n_symbols or self.arity not in ("auto", layout.arity):
            raise InvalidInputError("n_symbols and arity cannot change between batches; call fit to start anew")
        rng = _random_state(self.random_state)
        data = self._open(X) if fitted else batches(X, owner=type(self).__name__)
        names = getattr(self, "feature_names_in_", None) if fitted else _feature_names(X)
        if not fitted:
            self._stream = None
        arrays = self._learn_on(Training(data, y, similarity), rng, layout, STREAM_STEPS)
        self._adopt(arrays, layout, data.n_features, names)
        return self

    def _learn_on(self, training: Training, rng: np.random.RandomState, layout: CodeLayout, part: int) -> Arrays:
        """The arrays after learning from some vectors, from the beginning or from where it stopped."""
        recipe = self._recipe(training.y)
        material = gather(training, rng, self.max_points, self.n_neighbors)
        draws = np.random.default_rng(rng.randint(0, 2**31 - 1, size=4))
        stream = self._stream
        if stream is None:
            stream = begin(material, layout, self.n_anchors if self.features == "rbf" else None, rng, draws)
        points = stream.points(material.vectors)
        grids = Grids(material.source, self.batch_size if len(points) > WHOLE else WHOLE, draws)
        if self.target == "radius":
            objective = radius_objective(layout, self.radius)
        else:
            objective = ranking_objective(recipe, layout, material.source, grids)
        course = self._course(recipe, points.shape[1], stream.n_steps, part)
        with FitProgress(course.n_steps, "learning", shown=self.verbose) as progress:
            history = stream.learner.learn(points, grids, objective, course, draws, self.callback, progress.advance)
        stream.n_steps += course.n_steps
        self._stream, self.history_ = stream, vars(history)
        return stream.arrays() | self._diagnose(stream, points, grids)

    def _course(self, recipe: Recipe, n_axes: int, n_before: int, part: int) -> Course:
        n_steps = -(-(recipe.n_steps if self.n_steps is None else self.n_steps) // part)
        noise = recipe.noise if self.noise is None else self.noise
        return Course(n_steps, recipe.rate / np.sqrt(n_axes), noise, recipe.sharpness, recipe.unit_rows, n_before)

    def _diagnose(self, stream: Stream, points: F32, grids: Grids) -> Arrays:
        """Diagnostics, and how sharp the scores of queries should be."""
        grid = grids.draw()
        scores = stream.learner.scores(points[grid.rows])
        sharpness = best_sharpness(scores, grid.labels)
        arity = stream.learner.arity
        return {
            "sharpness_": np.array([sharpness], np.float32),
            "balance_": balance(scores.argmax(axis=2).astype(np.uint8), arity),
        }

    def _features(self, batch: F32) -> F32:
        return batch if self.anchors_ is None else super()._features(batch)

    def _encode_batch(self, batch: F32, n_threads: int) -> tuple[U8, int]:
        encode = Hasher._encode_batch if self.anchors_ is None else KernelHasher._encode_batch
        codes, bad = encode(self, batch, n_threads)
        return (self._refined(batch, codes, n_threads) if bad < 0 else codes), bad

    def _scores(self, vectors: F32) -> F64:
        """The probability of each value of each symbol."""
        scores: F64 = softmax(super()._scores(vectors) * float(self.sharpness_[0]), axis=2)
        return scores

    def _fits(self, arrays: Arrays, layout: CodeLayout, n_features: int) -> bool:
        if "decoder_" in arrays:
            return self._decoder_fits(arrays, layout, n_features)
        sharpness, shares = (arrays.get(name, np.empty(0)) for name in ("sharpness_", "balance_"))
        anchors, scale = (arrays.get(name, np.empty(0)) for name in ("anchors_", "scale_"))
        linear = not {"anchors_", "scale_"} & arrays.keys()
        kernel = anchors.ndim == 2 and anchors.shape[1] == n_features and scale.shape == (1,) and bool(scale[0] > 0)
        return (
            (linear or kernel)
            and not arrays.keys() & {"crossing_", "refinement_", "lengths_"}
            and sharpness.shape == (1,)
            and bool(sharpness[0] > 0)
            and shares.shape == (layout.n_symbols, layout.arity)
            and bool((shares >= 0).all() and (shares <= 1).all())
            and {"bias_", "center_"} <= arrays.keys()
            and len(arrays.get("projections_", ())) == layout.n_symbols * (1 if layout.arity == 2 else layout.arity)
            and Hasher._fits(self, arrays, layout, n_features if linear else len(anchors))
        )

    def report(self) -> str:
        """A table of the learned functions, one a line.

        ``effective`` is the number of values that are really in use (the exponential of their entropy), ``symbols``
        the share of training points that has each of them, in per cent.
        """
        check_is_fitted(self)
        lines = [f"{type(self).__name__}: {self.layout_.n_symbols} symbols of arity {self.layout_.arity}"]
        lines.append("function  effective  symbols %")
        used = effective_symbols(self.balance_)
        for function, shares in enumerate(self.balance_):
            percent = " ".join(f"{100 * share:.0f}" for share in shares)
            lines.append(f"{function:8d}  {used[function]:9.2f}  {percent}")
        lines.append(f"    mean  {used.mean():9.2f}")
        return "\n".join(lines)

    def plot_history(self) -> Any:
        """The course of learning as a plotly figure: the objective, the precision of hard codes, balance.

        It needs plotly (``pip install rankhash[report]``) and a hasher that was fitted here, not one from a file.
        """
        check_is_fitted(self)
        if not hasattr(self, "history_"):
            raise InvalidInputError("the course of learning is not saved with a hasher; fit it to see it")
        return plot_curves(self.history_, type(self).__name__)
