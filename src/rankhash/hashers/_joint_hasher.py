"""A hasher whose functions are learned together: :class:`JointHasher`.

::

    fit, partial_fit ─▶ gather (vectors, pairs) ─▶ begin (features, frame, start) ─▶ Grids, objective ─▶ learn ─▶ arrays
"""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from scipy.special import softmax

from ..codes import CodeLayout
from ..errors import InvalidInputError
from ..vectors import batches
from ._base import F32, F64, U8, Arrays, Hasher, Training, _feature_names
from ._decoder import DecoderHasher
from ._grids import Grids
from ._joint import Course, balance
from ._kernel import KernelHasher
from ._parameters import as_random_state
from ._progress import FitProgress
from ._recipes import WHOLE, Recipe, Stream, begin, gather, radius_objective, ranking_objective
from ._sharpness import best_sharpness

if TYPE_CHECKING:
    from typing_extensions import Self

STREAM_STEPS = 8
"""``partial_fit`` takes this part of the steps of ``fit``."""


class JointHasher(DecoderHasher, KernelHasher):
    """What :class:`JRSH` does with its parameters: learns, at once or from a stream, and encodes."""

    arity: int | str  # type: ignore[assignment]
    objective: str
    target: str
    radius: int
    features: str
    n_neighbors: int
    n_steps: int | None
    batch_size: int
    noise: float | None
    anchors_: F32 | None  # type: ignore[assignment]
    scale_: F32 | None  # type: ignore[assignment]
    sharpness_: F32
    balance_: F32
    history_: dict[str, list[float]]
    _stream: Stream | None
    _code_arrays: ClassVar[tuple[str, ...]] = (*KernelHasher._code_arrays, *DecoderHasher._decoder_code_arrays)
    _side_arrays = ("sharpness_", "balance_", *DecoderHasher._decoder_side_arrays)

    @abstractmethod
    def _layout(self, y: Any) -> CodeLayout:
        """What codes look like if these labels are given."""

    @abstractmethod
    def _recipe(self, y: Any) -> Recipe:
        """What to learn with if these labels are given."""

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
        rng = as_random_state(self.random_state)
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
            objective = radius_objective(layout, self.radius, material.source, grids)
        else:
            objective = ranking_objective(recipe, layout, material.source, grids)
        rate = recipe.rate[0 if grids.whole else 1] / np.sqrt(points.shape[1])
        course = self._course(recipe, rate, stream.n_steps, part)
        with FitProgress(course.n_steps, "learning", shown=self.verbose) as progress:
            history = stream.learner.learn(points, grids, objective, course, draws, self.callback, progress.advance)
        stream.n_steps += course.n_steps
        self._stream, self.history_ = stream, vars(history)
        return stream.arrays() | self._diagnose(stream, points, grids)

    def _course(self, recipe: Recipe, rate: float, n_before: int, part: int) -> Course:
        n_steps = -(-(recipe.n_steps if self.n_steps is None else self.n_steps) // part)
        noise = recipe.noise if self.noise is None else self.noise
        return Course(n_steps, rate, noise, recipe.sharpness, recipe.unit_rows, n_before)

    def _diagnose(self, stream: Stream, points: F32, grids: Grids) -> Arrays:
        """Diagnostics, and how sharp the scores of queries should be."""
        grid = grids.draw()
        scores = stream.learner.scores(points[grid.rows])
        sharpness = best_sharpness(scores, grid.plain)
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
