"""Rank subspace hashing: rank functions learned independently from labelled pairs (Algorithm 1)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from joblib import Parallel, delayed

from .. import _kernels
from ..codes import CodeLayout
from ..errors import InvalidInputError
from ..vectors import batches
from ._base import F32, Arrays, Training, _feature_names
from ._learning import Rule, Trace, learn_function
from ._pairs import Callback, PairHasher, Problem
from ._parameters import as_random_state, check_number
from ._progress import FitProgress
from ._start import start_scale
from .lsh import _orthogonal_normals

if TYPE_CHECKING:
    from typing_extensions import Self

PAIRS_PER_POINT = 40
"""Pairs that a batch of a stream gives for each of its vectors; more would overfit small batches."""


class RSH(PairHasher):
    """Codes whose symbols tell which of a few learned projections of a vector is the largest.

    Every function is learned on its own by passing over labelled pairs [1]_: similar ones should get the same
    symbol, dissimilar ones different ones. :class:`SRSH` learns better codes from the same pairs; RSH learns
    in parallel and from streams (:meth:`partial_fit`).

    The pairs come from ``fit(X, y)`` (class labels, also multi-label), from ``fit(X, similarity=...)`` (given
    pairs), or else from the distances of the vectors (``n_neighbors``); see :mod:`rankhash.similarity`.

    Parameters
    ----------
    n_symbols
        Functions, and so symbols of a code, 1 to 4096.
    arity
        Projections that compete for a symbol (the paper's K), 2 to 16.
    rho, lam
        What it costs to tell a similar pair apart, and to put a dissimilar pair together. Vectors have unit
        mean square length inside, so that these margins do not depend on the scale of ``X``.
    learning_rate
        The first step's size; it falls linearly to 0.
    init_scale
        The size of the random start, which decides how far a function moves away from it. None chooses it:
        larger for long codes, whose functions must differ, smaller for pairs that do not follow the distance,
        such as classes.
    similar_share
        The share of similar pairs among those that are drawn.
    n_neighbors
        Without labels: how many others a vector is similar to on average.
    mode
        ``"online"``: a step after every pair. ``"batch"``: 80 steps, each along the gradient over all pairs.
    max_pairs
        Pairs that a function is learned from.
    tol
        A function is finished early when an eighth of the pairs changes less than this share of symbols.
    max_points
        From more vectors than this a sample is drawn; given pairs are never sampled.
    center
        Whether the mean of the fitted vectors is subtracted first.
    random_state
        An integer for the same hasher in every run, a RandomState, or None.
    n_jobs
        Functions that are learned at once, as joblib counts them; the result does not depend on it.
        ``joblib.parallel_config`` chooses where they run.
    callback
        Called after every function with a dict: function, n_functions, n_pairs, bound, changed.
    verbose
        Whether a progress bar is shown on a terminal when fitting takes more than a second.

    Attributes
    ----------
    projections_ : ndarray (n_symbols * arity, n_features_in_)
        The projections, those of one symbol together.
    center_ : ndarray (n_features_in_,) or None
        The mean of the fitted vectors, if ``center``.
    scale_ : ndarray (1,)
        The root of the mean square length of the centred vectors.
    balance_, agreement_, errors_ : ndarray
        What :meth:`report` shows.
    stream_ : ndarray (2,)
        The batches, and the pairs a function, that were learned from so far; see :meth:`partial_fit`.
    history_, n_iter_
        How learning went, and the most pairs that a function needed.
    layout_ : CodeLayout
        The layout of the codes.
    n_features_in_, feature_names_in_
        Columns of the vectors that were fitted, and their names if they had any.

    Notes
    -----
    Where the paper leaves the choice open or was departed from: the start is orthogonal over all functions
    instead of Gaussian; the result is the mean of the weights over the second half of the pairs; the defaults
    are the same for all sets and lengths, as ``benchmarks/tune_rsh.py`` compared them. The paper's bound gives
    no step for a pair that is already wrong, since its largest rival is what won: only pairs inside the margin
    move a function, and the start matters.

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
        n_symbols: int = 32,
        arity: int = 4,
        *,
        rho: float = 0.7,
        lam: float = 1.0,
        learning_rate: float = 0.075,
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
        self.n_symbols = n_symbols
        self.arity = arity
        self.rho = rho
        self.lam = lam
        self.learning_rate = learning_rate
        self.init_scale = init_scale
        self.similar_share = similar_share
        self.n_neighbors = n_neighbors
        self.mode = mode
        self.max_pairs = max_pairs
        self.tol = tol
        self.max_points = max_points
        self.center = center
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.callback = callback
        self.verbose = verbose

    def _check_parameters(self) -> None:
        super()._check_parameters()
        for name in ("rho", "lam", "learning_rate"):
            check_number(name, getattr(self, name), 0, 1e6)
        if self.init_scale is not None:
            check_number("init_scale", self.init_scale, 0, 1e6, open_interval=True)
        if self.mode not in ("online", "batch"):
            raise InvalidInputError(f"mode must be 'online' or 'batch', got {self.mode!r}")

    def _learn(self, training: Training, rng: np.random.RandomState) -> Arrays:
        problem = self._problem(training, rng)
        starts = self._starts(problem, rng)
        arrays = self._learn_all(problem, starts, rng, self.learning_rate, self.max_pairs)
        arrays["stream_"] = np.array([1, self.max_pairs], np.float32)
        return arrays

    def partial_fit(self, X: Any, y: Any = None, *, similarity: Any = None) -> Self:
        """The hasher itself, after it has learned on from one more batch of vectors.

        The first batch, if the hasher is not fitted, fixes centre, scale and number of features; every batch
        gives the pairs among its own vectors, up to 40 a vector and function. The learning rate falls with
        the number of pairs seen so far, so that codes settle. Batches should look alike and hold some hundred
        vectors or more. Codes that were made before a batch no longer belong to the hasher, whose fingerprint
        changes.
        """
        layout = CodeLayout(self.n_symbols, self.arity)
        self._check_parameters()
        fitted = hasattr(self, "layout_")
        if fitted and (layout.n_symbols, layout.arity) != (self.layout_.n_symbols, self.layout_.arity):
            raise InvalidInputError("n_symbols and arity cannot change between batches; call fit to start anew")
        n_batches, n_seen = self.stream_ if fitted else (0, 0)
        rng = as_random_state(self.random_state)
        rng.randint(0, 2**31 - 1, size=int(n_batches))  # an integer random_state must not draw the same again
        data = self._open(X) if fitted else batches(X, owner=type(self).__name__)
        names = getattr(self, "feature_names_in_", None) if fitted else _feature_names(X)
        problem = self._problem(Training(data, y, similarity), rng, self._frame() if fitted else None)
        starts = self._learned() if fitted else self._starts(problem, rng)
        n_pairs = min(self.max_pairs, PAIRS_PER_POINT * len(problem.x))
        rate = self.learning_rate / np.sqrt(1 + n_seen / self.max_pairs)
        arrays = self._learn_all(problem, starts, rng, rate, n_pairs)
        arrays["stream_"] = np.array([n_batches + 1, n_seen + n_pairs], np.float32)
        self._adopt(arrays, layout, data.n_features, names)
        return self

    def _frame(self) -> tuple[F32, float]:
        """Centre and scale of a fitted hasher."""
        center = np.zeros(self.n_features_in_, np.float32) if self.center_ is None else self.center_
        return center, float(self.scale_[0])

    def _learned(self) -> list[F32]:
        """The functions of a fitted hasher, as they were while it was learning."""
        rows = _kernels.pad_columns(self.projections_ * self.scale_)
        return list(rows.reshape(self.n_symbols, self.arity, -1))

    def _starts(self, problem: Problem, rng: np.random.RandomState) -> list[F32]:
        """Random projections, orthogonal to each other over all functions as far as there is room."""
        d, rows = len(problem.center), self.n_symbols * self.arity
        scale = start_scale(problem, self.n_symbols) if self.init_scale is None else self.init_scale
        start = scale * np.sqrt(d) * _orthogonal_normals(rng, rows, d)
        padded = _kernels.pad_columns(start.astype(np.float32))
        return list(padded.reshape(self.n_symbols, self.arity, -1))

    def _learn_all(
        self, problem: Problem, starts: list[F32], rng: np.random.RandomState, rate: float, n_pairs: int
    ) -> Arrays:
        rule = Rule(False, self.rho, self.lam, rate, self.tol, self.mode == "batch")
        seeds = rng.randint(0, 2**31 - 1, size=(self.n_symbols, 2))
        learn = delayed(_learn_one)
        tasks = (
            learn(problem, start, rule, seed, n_pairs, self.similar_share)
            for start, seed in zip(starts, seeds, strict=True)
        )
        weights, traces = [], []
        with FitProgress(self.n_symbols, "learning", shown=self.verbose) as progress:
            for function, (w, trace) in enumerate(_run(self.n_jobs, tasks)):
                weights.append(w)
                traces.append(trace)
                progress.advance()
                self._tell(function, trace)
        return self._results(problem, weights, traces)


def _learn_one(problem: Problem, start: F32, rule: Rule, seed: Any, n_pairs: int, share: float) -> tuple[F32, Trace]:
    pairs, labels = problem.draw(np.random.default_rng(seed), n_pairs, share)
    return learn_function(problem.x, pairs, labels, start, rule)


def _run(n_jobs: int | None, tasks: Any) -> Any:
    """The results of the tasks in their order, as they come."""
    return Parallel(n_jobs=n_jobs, prefer="threads", return_as="generator")(tasks)
