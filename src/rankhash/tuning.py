"""Choosing a hasher's parameters by cross-validation: :func:`tune`.

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
from .errors import InvalidInputError
from .hashers import Hasher
from .similarity import GivenPairs, MetricNeighbors, PairSource, label_source, within_radius
from .vectors import as_vectors

F32 = NDArray[np.float32]
I32 = NDArray[np.int32]
I64 = NDArray[np.int64]
Metric = Callable[[NDArray[np.generic], NDArray[np.bool_]], float]

METRICS: dict[str, Metric] = {"average_precision": _ranking.average_precision}
MAX_PAIRS = 300_000


@dataclass(frozen=True)
class Trial:
    """One set of parameters and how its codes did in every fold."""

    parameters: dict[str, Any]
    scores: tuple[float, ...]
    seconds: float

    @property
    def mean(self) -> float:
        """The mean score of the folds."""
        return float(np.mean(self.scores))

    @property
    def std(self) -> float:
        """The standard deviation of the scores over the folds."""
        return float(np.std(self.scores))


@dataclass(frozen=True)
class Tuning:
    """What :func:`tune` found: the best hasher, fitted on all vectors, and every trial, the best one first."""

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
    """One split: the rows to learn from, and labelled pairs of a held-out row and one that was learned from."""

    train: I64
    pairs: I32
    similar: NDArray[np.bool_]


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
    """The best of some parameters for a hasher, by cross-validation, and the hasher fitted with them.

    Parameters
    ----------
    hasher
        Any hasher; it is cloned, and stays as it is.
    X, y, similarity
        What to learn from, as for :meth:`Hasher.fit`. Without labels the truth is the distance that gives the
        training vectors of a fold ``n_neighbors`` neighbours on average.
    grid
        The values to try, by parameter; or several such grids.
    metric
        ``"average_precision"``, or a function of the distances ``(t,)`` of pairs and whether they are similar.
        In every fold the held-out vectors are the queries and those that were learned from the database.
    cv
        The number of folds, or a splitter of scikit-learn.
    n_neighbors
        See above; a parameter of the same name in the grid is what the hasher learns from, not the truth.
    random_state
        Fixes the folds and the pairs, which are the same for all parameters.
    n_jobs
        Fits that run at once, as joblib counts them.

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
    jobs = (
        run(clone(hasher).set_params(**parameters), vectors, labels, known, fold, score)
        for parameters in candidates
        for fold in folds
    )
    done = Parallel(n_jobs=n_jobs, prefer="threads")(jobs)
    trials = []
    for place, parameters in enumerate(candidates):
        mine = done[place * len(folds) : (place + 1) * len(folds)]
        scores, seconds = zip(*mine, strict=True)
        trials.append(Trial(dict(parameters), tuple(scores), float(np.mean(seconds))))
    trials.sort(key=lambda trial: -trial.mean)
    best = clone(hasher).set_params(**trials[0].parameters)
    return Tuning(best.fit(X, y, similarity=similarity), tuple(trials))


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
    """All pairs of a query and a vector of the database, or many random ones."""
    if len(queries) * len(database) <= MAX_PAIRS:
        pairs = np.stack(np.meshgrid(queries, database, indexing="ij"), axis=2).reshape(-1, 2)
    else:
        pairs = np.stack([rng.choice(queries, MAX_PAIRS), rng.choice(database, MAX_PAIRS)], axis=1)
    return pairs.astype(np.int32)


def _try(
    hasher: Hasher, vectors: F32, y: Any, known: PairSource | None, fold: _Fold, score: Metric
) -> tuple[float, float]:
    """The score of one fit in one fold, and its seconds."""
    start = time.perf_counter()
    if y is not None:
        hasher.fit(vectors[fold.train], y[fold.train])
    else:
        hasher.fit(vectors[fold.train], similarity=None if known is None else known.subset(fold.train))
    seconds = time.perf_counter() - start
    symbols = hasher.layout_.unpack(hasher.encode(vectors, n_threads=1))
    return score(_ranking.pair_distances(symbols, fold.pairs), fold.similar), seconds
