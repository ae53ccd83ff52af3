"""Rank subspace hashing: rank functions learned independently from labelled pairs (Algorithm 1)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from joblib import Parallel, delayed

from .. import _kernels
from .._checks import check_choice, check_number
from .._types import F32
from ..codes import CodeLayout
from ..errors import InvalidInputError
from ..vectors import batches
from ._features.orthogonal import orthogonal_directions
from ._pairwise.hasher import PairHasher
from ._pairwise.rank_function import Rule, Trace, learn_function
from ._pairwise.start import start_scale
from .base import Arrays
from .parameters import Callback, as_random_state, feature_names, one_blas_thread
from .progress import FitProgress
from .training import PairPool, Training

if TYPE_CHECKING:
    from typing_extensions import Self

PAIRS_PER_POINT = 40
"""Pairs per vector and function that ``partial_fit`` draws at most; more would overfit small batches."""


class RSH(PairHasher):
    """Codes whose symbols are argmaxes of a few learned projections; functions are learned independently.

    Every function is learned by one pass over labelled pairs [1]_: similar pairs should get equal symbols, dissimilar
    pairs different ones. [`SRSH`][rankhash.SRSH] learns better codes from the same pairs; RSH learns in parallel and
    from streams (``partial_fit``).

    The pairs come from ``fit(X, y)`` (class labels, also multi-label), from ``fit(X, similarity=...)`` (given
    pairs), or else from the distances of the vectors (``n_neighbors``).

    Parameters
    ----------
    n_symbols
        Functions, that is symbols per code, 1 to 4096; None by default.
    n_bits, n_bytes
        The size of a code in bits or bytes instead; None by default. Without any of the three, a code has 64 bits.
    arity
        Projections per symbol (the paper's K), 2 to 16; 4 by default.
    rho
        Loss of a similar pair with different symbols, 0.7 by default.
    lam
        Loss of a dissimilar pair with equal symbols, 1 by default. Vectors are scaled to unit mean squared length
        internally, so that the scale of ``X`` has no effect on both.
    learning_rate
        Initial step size, which falls linearly to 0; constant for ``update="paper"``. 0.075 by default.
    update
        ``"averaged"``, the default: the rate falls, and the result is the mean of the second half. ``"paper"``:
        Algorithm 1 as printed, with a Gaussian start, a constant rate, pairs at their natural rate (``similar_share``
        is ignored), and the last weights as the result.
    init
        The random start: ``"orthogonal"`` over all functions, or ``"gaussian"``. None, the default, takes
        ``"gaussian"`` for ``update="paper"``, else ``"orthogonal"``.
    init_scale
        Standard deviation of the random start, which decides how far a function moves from it. None, the default,
        chooses it: larger for long codes, whose functions must differ, smaller for pairs that do not follow the
        distance, such as classes; 1 for ``update="paper"``.
    similar_share
        Fraction of similar pairs among those that are drawn, 0.1 by default.
    n_neighbors
        Without labels: mean number of vectors that a vector is similar to, 50 by default.
    mode
        ``"online"``, the default: a step per pair. ``"batch"``: 80 steps along the gradient over all pairs.
    max_pairs
        Pairs per function, 40 000 by default.
    tol
        A function is finished early when an eighth of the pairs changes less than this fraction of the symbols, 0.002
        by default.
    max_points
        Largest number of vectors to learn from, 50 000 by default, drawn at random; given pairs are never sampled.
    center
        Whether the mean of the fitted vectors is subtracted first; True by default.
    random_state
        An integer for the same codes in every run, a RandomState, or None (the default).
    n_jobs
        Number of functions learned in parallel, as for joblib; None (the default) means 1 unless
        ``joblib.parallel_config`` sets another number. The result does not depend on it.
    callback
        Called after every function with a dict: function, n_functions, n_pairs, bound, changed. None by default.
    verbose
        Whether a progress bar is shown on a terminal if learning takes longer than a second; True by default.

    Attributes
    ----------
    projections_ : ndarray (n_symbols * arity, n_features_in_)
        The projections, grouped by symbol.
    center_ : ndarray (n_features_in_,) or None
        The mean of the fitted vectors, if ``center``.
    scale_ : ndarray (1,)
        The root of the mean squared length of the centred vectors.
    balance_, agreement_, errors_ : ndarray
        The numbers of ``report``.
    stream_ : ndarray (2,)
        The number of batches, and of pairs per function, that were learned from so far.
    history_ : dict of lists
        One entry per block of pairs: ``step`` (the block of its function), ``function``, ``n_pairs`` (seen so far),
        ``bound``, ``updated`` and ``changed`` (fractions of pairs and of symbols). It is not saved.
    n_iter_ : int
        The largest number of pairs that a function has seen.
    layout_, n_features_in_, feature_names_in_
        As for every hasher.

    Notes
    -----
    Departures from the paper unless ``update="paper"``, and choices that it leaves open: the start is orthogonal over
    all functions instead of Gaussian; the result is the mean of the weights over the second half of the pairs; the
    defaults are the same for all sets and lengths, as ``benchmarks/quality/rsh_defaults.py`` compares them. The paper's
    bound gives no step for a pair that is already wrong, since the largest rival is then the winner: only pairs inside
    the margin move a function, and the start matters.

    References
    ----------
    .. [1] K. Li, G. Qi, J. Ye, K. Hua, Rank subspace learning for compact hash codes, 2015.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> hasher = RSH(16, max_pairs=5000, random_state=0).fit(X)
    >>> hasher.transform(X).shape, hasher.encode(X).shape
    ((1797, 16), (1797, 4))
    >>> print(hasher.report().splitlines()[0])
    RSH: 16 symbols of arity 4
    """

    stream_: F32
    _side_arrays = (*PairHasher._side_arrays, "stream_")

    def __init__(
        self,
        n_symbols: int | None = None,
        arity: int = 4,
        *,
        n_bits: int | None = None,
        n_bytes: int | None = None,
        rho: float = 0.7,
        lam: float = 1.0,
        learning_rate: float = 0.075,
        update: str = "averaged",
        init: str | None = None,
        init_scale: float | None = None,
        similar_share: float = 0.1,
        n_neighbors: int = 50,
        mode: str = "online",
        max_pairs: int = 40_000,
        tol: float = 0.002,
        max_points: int = 50_000,
        center: bool = True,
        random_state: Any = None,
        n_jobs: int | None = None,
        callback: Callback | None = None,
        verbose: bool = True,
    ) -> None:
        super().__init__(n_symbols, n_bits=n_bits, n_bytes=n_bytes, random_state=random_state)
        self.arity = arity
        self.rho = rho
        self.lam = lam
        self.learning_rate = learning_rate
        self.update = update
        self.init = init
        self.init_scale = init_scale
        self.similar_share = similar_share
        self.n_neighbors = n_neighbors
        self.mode = mode
        self.max_pairs = max_pairs
        self.tol = tol
        self.max_points = max_points
        self.center = center
        self.n_jobs = n_jobs
        self.callback = callback
        self.verbose = verbose

    @property
    def nested(self) -> bool:
        """Whether, with the same ``random_state``, the first symbols of a longer code are a shorter code.

        True for ``update="paper"``, whose functions do not depend on the length of the code.
        """
        return self._literal and self.init in (None, "gaussian")

    def _check_parameters(self) -> None:
        super()._check_parameters()
        for name in ("rho", "lam", "learning_rate"):
            check_number(name, getattr(self, name), 0, 1e6)
        if self.init_scale is not None:
            check_number("init_scale", self.init_scale, 0, 1e6, open_interval=True)
        check_choice("mode", self.mode, ("online", "batch"))
        check_choice("update", self.update, ("averaged", "paper"))
        if self.init is not None:
            check_choice("init", self.init, ("orthogonal", "gaussian"))
        if self._literal and self.mode == "batch":
            raise InvalidInputError("update='paper' takes a step per pair; set mode='online'")

    def _learn(self, training: Training, rng: np.random.RandomState) -> Arrays:
        pool = self._pool(training, rng)
        starts = self._starts(pool, rng)
        arrays = self._learn_all(pool, starts, rng, self.learning_rate, self.max_pairs)
        arrays["stream_"] = np.array([1, self.max_pairs], np.float32)
        return arrays

    @one_blas_thread
    def partial_fit(self, X: Any, y: Any = None, *, similarity: Any = None) -> Self:
        """The hasher itself, after learning from one more batch of vectors.

        The first batch fixes centre, scale and number of features. Every batch gives up to 40 pairs per vector and
        function among its own vectors. The learning rate falls with the number n of pairs so far, as
        1 / √(1 + n / max_pairs). Batches should be alike. The fingerprint changes: earlier codes no longer fit.

        Parameters
        ----------
        X, y, similarity
            As for ``fit``; ``y`` and ``similarity`` are None by default.
        """
        layout = CodeLayout(self._n_symbols, self.arity)
        self._check_parameters()
        fitted = hasattr(self, "layout_")
        if fitted and (layout.n_symbols, layout.arity) != (self.layout_.n_symbols, self.layout_.arity):
            raise InvalidInputError("n_symbols and arity cannot change between batches; call fit to start anew")
        n_batches, n_seen = self.stream_ if fitted else (0, 0)
        rng = as_random_state(self.random_state)
        rng.randint(0, 2**31 - 1, size=int(n_batches))  # an integer random_state must not repeat its draws
        data = self._open(X) if fitted else batches(X, owner=type(self).__name__, sparse=True)
        names = getattr(self, "feature_names_in_", None) if fitted else feature_names(X)
        pool = self._pool(Training(data, y, similarity), rng, self._frame() if fitted else None)
        starts = self._learned() if fitted else self._starts(pool, rng)
        n_pairs = min(self.max_pairs, PAIRS_PER_POINT * len(pool.x))
        rate = self.learning_rate / (1.0 if self._literal else np.sqrt(1 + n_seen / self.max_pairs))
        arrays = self._learn_all(pool, starts, rng, rate, n_pairs)
        arrays["stream_"] = np.array([n_batches + 1, n_seen + n_pairs], np.float32)
        self._adopt(arrays, layout, data.n_features, names)
        return self

    def _frame(self) -> tuple[F32, float]:
        """The centre and scale of a fitted hasher."""
        center = np.zeros(self.n_features_in_, np.float32) if self.center_ is None else self.center_
        return center, float(self.scale_[0])

    def _learned(self) -> list[F32]:
        """The weights of a fitted hasher, in the units of learning."""
        rows = _kernels.pad_columns(self.projections_ * self.scale_)
        return list(rows.reshape(self._n_symbols, self.arity, -1))

    def _starts(self, pool: PairPool, rng: np.random.RandomState) -> list[F32]:
        """Random projections: orthogonal over all functions in blocks of up to d, or Gaussian."""
        d, rows = len(pool.center), self._n_symbols * self.arity
        scale = self.init_scale
        if scale is None:
            scale = 1.0 if self._literal else start_scale(pool, self._n_symbols)
        if (self.init or ("gaussian" if self._literal else "orthogonal")) == "gaussian":
            own = np.random.default_rng(rng.randint(0, 2**31 - 1, size=4))
            start = scale * own.standard_normal((rows, d))
        else:
            start = scale * np.sqrt(d) * orthogonal_directions(rng, rows, d)
        padded = _kernels.pad_columns(start.astype(np.float32))
        return list(padded.reshape(self._n_symbols, self.arity, -1))

    def _learn_all(
        self, pool: PairPool, starts: list[F32], rng: np.random.RandomState, rate: float, n_pairs: int
    ) -> Arrays:
        rule = Rule(False, self.rho, self.lam, rate, self.tol, self.mode == "batch", self._literal)
        seeds = rng.randint(0, 2**31 - 1, size=(self._n_symbols, 2))
        learn = delayed(_learn_one)
        tasks = (
            learn(pool, start, rule, seed, n_pairs, self._share(pool))
            for start, seed in zip(starts, seeds, strict=True)
        )
        weights, traces = [], []
        with FitProgress(self._n_symbols, "learning", shown=self.verbose) as progress:
            for function, (w, trace) in enumerate(_run(self.n_jobs, tasks)):
                weights.append(w)
                traces.append(trace)
                progress.advance()
                self._notify(function, trace)
        return self._results(pool, weights, traces)


def _learn_one(pool: PairPool, start: F32, rule: Rule, seed: Any, n_pairs: int, share: float) -> tuple[F32, Trace]:
    pairs, labels = pool.draw(np.random.default_rng(seed), n_pairs, share)
    return learn_function(pool.x, pairs, labels, start, rule)


def _run(n_jobs: int | None, tasks: Any) -> Any:
    """The results of the tasks in order, as they become available."""
    return Parallel(n_jobs=n_jobs, prefer="threads", return_as="generator")(tasks)
