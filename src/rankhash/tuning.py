"""Parameters of a hasher by cross-validation: `tune`.

::

    X ─▶ folds ─▶ fit on the training part ─▶ codes of queries (held out) and database (training part)
      ─▶ pairs (query, database) with their true similarity ─▶ average precision ─▶ the best parameters ─▶ fit on X
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.model_selection import BaseCrossValidator, KFold, ParameterGrid

from . import _ranking
from ._types import F32, I32, I64
from .errors import InvalidInputError
from .hashers import Hasher
from .similarity import GivenPairs, MetricNeighbors, PairSource, label_source, within_radius
from .vectors import as_vectors

Metric = Callable[[NDArray[np.generic], NDArray[np.bool_]], float]

METRICS: dict[str, Metric] = {"average_precision": _ranking.average_precision}
"""Metrics by name."""

MAX_PAIRS = 300_000
"""Largest number of pairs of a query and a database vector that a fold is scored with."""


@dataclass(frozen=True)
class Trial:
    """One set of parameters, its score in every fold, and the mean seconds of a fit."""

    parameters: dict[str, Any]
    scores: tuple[float, ...]
    seconds: float

    @property
    def mean(self) -> float:
        """The mean score over the folds."""
        return float(np.mean(self.scores))

    @property
    def std(self) -> float:
        """The standard deviation of the scores over the folds."""
        return float(np.std(self.scores))


@dataclass(frozen=True)
class Tuning:
    """The result of [`tune`][rankhash.tune]: the best hasher, fitted on all vectors, and all trials, best first."""

    hasher: Hasher
    trials: tuple[Trial, ...]

    @property
    def best(self) -> Trial:
        """The trial with the highest mean score."""
        return self.trials[0]

    def __str__(self) -> str:
        lines = [" mean     std  seconds  parameters"]
        for trial in self.trials:
            chosen = ", ".join(f"{name}={value!r}" for name, value in trial.parameters.items())
            lines.append(f"{trial.mean:.4f}  {trial.std:.4f}  {trial.seconds:7.2f}  {chosen}")
        return "\n".join(lines)


@dataclass(frozen=True)
class _Fold:
    """One split: the training rows, and labelled pairs of a held-out row and a training row."""

    train: I64
    pairs: I32
    similar: NDArray[np.bool_]


@dataclass(frozen=True)
class _Fit:
    """An unfitted hasher, and the candidates whose codes are its own or the first symbols of its own."""

    hasher: Hasher
    candidates: list[dict[str, Any]]


def tune(
    hasher: Hasher,
    X: Any,
    y: Any = None,
    *,
    similarity: Any = None,
    grid: Mapping[str, Sequence[Any]] | Sequence[Mapping[str, Sequence[Any]]],
    metric: str | Metric = "average_precision",
    cv: int | BaseCrossValidator = 3,
    n_neighbors: int = 50,
    random_state: int = 0,
    n_jobs: int | None = None,
) -> Tuning:
    """The best parameters of a grid by cross-validation, and the hasher fitted with them.

    Parameters
    ----------
    hasher
        Any hasher; it is cloned and not changed.
    X
        Vectors ``(n, d)``.
    y, similarity
        Classes or given pairs, as for [`Hasher.fit`][rankhash.Hasher.fit]; None by default. Without both, pairs are
        similar up to the distance that gives the training vectors of a fold ``n_neighbors`` neighbours on average.
    grid
        The values to compare, by parameter; or several such grids. Values of ``n_symbols`` are compared by one fit of
        the longest code if the hasher is ``nested``, as SRSH is.
    metric
        ``"average_precision"`` (the default), or a function of the distances ``(t,)`` of pairs and whether they are
        similar. In every fold the held-out vectors are the queries, the training vectors the database.
    cv
        Number of folds, 3 by default, or a splitter of scikit-learn.
    n_neighbors
        Mean number of neighbours of the truth, 50 by default; a parameter of the same name in the grid is what the
        hasher learns from.
    random_state
        Seed of the folds and of the pairs, which are the same for all parameters; 0 by default.
    n_jobs
        Number of parallel fits, as for joblib; None (the default) means 1.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from rankhash import WTA
    >>> X, y = load_digits(return_X_y=True)
    >>> tuning = tune(WTA(16, random_state=0), X, y, grid={"arity": [2, 4]})
    >>> tuning.best.parameters, len(tuning.best.scores)
    ({'arity': 4}, 3)
    """
    score = METRICS.get(metric) if isinstance(metric, str) else metric
    if score is None:
        raise InvalidInputError(f"metric must be one of {', '.join(METRICS)} or a function, got {metric!r}")
    vectors, labels = as_vectors(X, owner="tune"), None if y is None else np.asarray(y)
    known = label_source(y, similarity, len(vectors))
    rng = np.random.default_rng(random_state)
    folds = list(_folds(vectors, known, cv, n_neighbors, rng, random_state))
    candidates = list(ParameterGrid(grid))
    run = delayed(_try)
    fits = list(_fits(hasher, candidates))
    jobs = (run(fit, vectors, labels, known, fold, score) for fit in fits for fold in folds)
    done = Parallel(n_jobs=n_jobs, prefer="threads")(jobs)
    trials = []
    for place, fit in enumerate(fits):
        by_fold = done[place * len(folds) : (place + 1) * len(folds)]
        for parameters, *mine in zip(fit.candidates, *by_fold, strict=True):
            scores, seconds = zip(*mine, strict=True)
            trials.append(Trial(dict(parameters), tuple(scores), float(np.mean(seconds))))
    trials.sort(key=lambda trial: -trial.mean)
    best = clone(hasher).set_params(**trials[0].parameters)
    return Tuning(best.fit(X, y, similarity=similarity), tuple(trials))


def _fits(hasher: Hasher, candidates: list[dict[str, Any]]) -> Iterator[_Fit]:
    """The fits that score all candidates: one for all lengths where the first symbols of a code are a shorter code."""
    groups: dict[str, list[dict[str, Any]]] = {}
    for place, parameters in enumerate(candidates):
        others = {name: value for name, value in parameters.items() if name != "n_symbols"}
        nested = "n_symbols" in parameters and getattr(clone(hasher).set_params(**parameters), "nested", False)
        groups.setdefault(repr(sorted(others.items())) if nested else str(place), []).append(parameters)
    for group in groups.values():
        longest = max(group, key=lambda parameters: parameters.get("n_symbols", 0))
        yield _Fit(clone(hasher).set_params(**longest), group)


def _folds(
    vectors: F32,
    known: PairSource | None,
    cv: int | BaseCrossValidator,
    n_neighbors: int,
    rng: np.random.Generator,
    random_state: int,
) -> Iterator[_Fold]:
    splitter = KFold(cv, shuffle=True, random_state=random_state) if isinstance(cv, int) else cv
    for train, test in splitter.split(vectors):
        if isinstance(known, GivenPairs):
            held_out = np.isin(known.pairs, test)
            pairs = known.pairs[held_out.sum(axis=1) == 1]
        else:
            pairs = _crossing(rng, test, train)
        if known is None:
            radius = MetricNeighbors(vectors[train], n_neighbors, rng).radius
            similar = within_radius(vectors, pairs, radius) == 1
        else:
            similar = known.labels_of(pairs) == 1
        if not similar.any():
            raise InvalidInputError("a fold has no similar pair to score with; take fewer folds or more vectors")
        yield _Fold(train, pairs, similar)


def _crossing(rng: np.random.Generator, queries: I64, database: I64) -> I32:
    """All pairs of a query and a database vector, or 300 000 random ones if there are more."""
    if len(queries) * len(database) <= MAX_PAIRS:
        pairs = np.stack(np.meshgrid(queries, database, indexing="ij"), axis=2).reshape(-1, 2)
    else:
        pairs = np.stack([rng.choice(queries, MAX_PAIRS), rng.choice(database, MAX_PAIRS)], axis=1)
    return pairs.astype(np.int32)


def _try(
    fit: _Fit, vectors: F32, y: Any, known: PairSource | None, fold: _Fold, score: Metric
) -> list[tuple[float, float]]:
    """The score of each candidate of a fit in one fold, and the seconds of the fit."""
    hasher, start = clone(fit.hasher), time.perf_counter()
    if y is not None:
        hasher.fit(vectors[fold.train], y[fold.train])
    else:
        hasher.fit(vectors[fold.train], similarity=None if known is None else known.subset(fold.train))
    seconds = time.perf_counter() - start
    symbols = hasher.layout_.unpack(hasher.encode(vectors, n_threads=1))
    lengths = (parameters.get("n_symbols", symbols.shape[1]) for parameters in fit.candidates)
    distances = (_ranking.pair_distances(symbols[:, :length], fold.pairs) for length in lengths)
    return [(score(far, fold.similar), seconds) for far in distances]
