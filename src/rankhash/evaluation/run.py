"""Experiments: a list of runs, executed in parallel and resumable.

::

    Experiment ─▶ tasks ─▶ minus those finished in the store ─▶ run_task ─▶ row ─▶ store
"""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Future, ProcessPoolExecutor, as_completed, wait
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from sklearn.model_selection import ParameterGrid
from threadpoolctl import threadpool_limits

from ..codes import CodeLayout
from ..datasets import Dataset
from ..errors import InvalidInputError, RankhashError
from ..hashers import Hasher
from ..tuning import Trial, tune
from .measure import course, measure, pictures
from .methods import AXES, METHODS, Method
from .origin import origin
from .protocol import Protocol, Split, split
from .store import Row, Store, identity

LENGTHS = (8, 12, 16, 24, 32, 48, 64)
QUIET = ("n_symbols", "arity", "random_state", "n_jobs", "verbose", "callback")
"""Parameters that a row stores in other fields, or that do not influence the codes."""


@dataclass(frozen=True)
class Task:
    """One run: a method at one code length on one split.

    ``axis`` and ``length`` are set for runs with tuned parameters: candidates are compared at equal symbols or equal
    bits.
    """

    method: str
    layout: CodeLayout
    seed: int
    axis: str | None = None
    length: int = 0
    pictures: bool = False


@dataclass(frozen=True)
class Failure:
    """A run that failed, and the reason."""

    task: Task
    reason: str


@dataclass(frozen=True)
class Experiment:
    """Methods, code lengths and splits of one data set that are to be compared."""

    data: Dataset
    methods: tuple[Method, ...]
    lengths: tuple[int, ...] = LENGTHS
    axes: tuple[str, ...] = AXES
    seeds: tuple[int, ...] = tuple(range(100, 110))
    protocol: Protocol = field(default_factory=Protocol)
    tuned: bool = False

    def __post_init__(self) -> None:
        if not (self.methods and self.lengths and self.seeds):
            raise InvalidInputError("an experiment needs at least one method, one code length and one run")
        if min(self.lengths) < 1:
            raise InvalidInputError(f"code lengths must be 1 or more, got {min(self.lengths)}")
        self.protocol.sizes(self.data)

    @property
    def settings(self) -> Row:
        """The settings that comparable runs share: the protocol, and the fingerprint of a user's file."""
        named = {"data": self.data.fingerprint} if self.data.fingerprint else {}
        return self.protocol.settings() | named

    def rows(self, store: Store) -> list[Row]:
        """The finished runs with these settings, for any method, length and seed."""
        return [row for row in store.rows(self.data.name) if row["settings"] == self.settings]

    @property
    def picture_length(self) -> int:
        """The number of bits at which example neighbours are shown: the available length nearest to 32."""
        return min(self.lengths, key=lambda length: (abs(length - 32), length))

    def tasks(self) -> list[Task]:
        """All runs, split by split; codes that are the same on both axes are run once."""
        tasks: dict[tuple[Any, ...], Task] = {}
        for seed in self.seeds:
            for method in self.methods:
                for axis in self.axes:
                    for length in self.lengths:
                        task = self._task(method, axis, length, seed)
                        tasks.setdefault((task.method, task.layout, seed, task.axis, task.length), task)
        return list(tasks.values())

    def _task(self, method: Method, axis: str, length: int, seed: int) -> Task:
        layout = method.layout(axis, length)
        pictured = method.layout("bits" if "bits" in self.axes else "symbols", self.picture_length)
        shown = self.data.image_shape is not None and seed == self.seeds[0] and layout == pictured
        if self.tuned:
            return Task(method.name, layout, seed, axis, length, shown)
        return Task(method.name, layout, seed, pictures=shown)

    def missing(self, store: Store) -> list[Task]:
        """The runs that are not finished, or were run with other parameters."""
        done = {identity(row): row["parameters"] for row in self.rows(store)}
        return [task for task in self.tasks() if not self._is_done(task, done)]

    def _is_done(self, task: Task, done: dict[str, Any]) -> bool:
        found = done.get(identity(run_key(task, self)))
        if found is None or self.tuned:
            return found is not None
        return bool(found == parameters_of(METHODS[task.method].make(task.layout, task.seed)))

    def groups(self, tasks: list[Task]) -> list[list[Task]]:
        """The runs that one process executes together: those whose parameters are chosen by the same fits."""
        groups: dict[tuple[Any, ...], list[Task]] = {}
        for place, task in enumerate(tasks):
            together = task.axis is not None and METHODS[task.method].nested
            groups.setdefault((task.method, task.seed) if together else (place,), []).append(task)
        return list(groups.values())

    def run(self, groups: list[list[Task]], store: Store, jobs: int = 1) -> Iterator[list[Row | Failure]]:
        """Execute the runs, by `groups`, and store the results of a group; ``jobs`` processes, default 1."""
        for outcomes in self._outcomes(groups, jobs):
            for outcome in outcomes:
                if not isinstance(outcome, Failure):
                    store.add(outcome)
            yield outcomes

    def _outcomes(self, groups: list[list[Task]], jobs: int) -> Iterator[list[Row | Failure]]:
        if jobs == 1:
            yield from (_attempts(self, group) for group in groups)
            return
        context = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(jobs, context, initializer=_start_worker, initargs=(self,)) as pool:
            waiting: set[Future[list[Row | Failure]]] = set()
            try:
                for group in groups:
                    waiting.add(pool.submit(_attempts_here, group))
                    if len(waiting) >= 2 * jobs:
                        done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
                        yield from (future.result() for future in done)
                yield from (future.result() for future in as_completed(waiting))
            except BrokenExecutor as error:
                raise InvalidInputError(
                    "a worker process died, perhaps for lack of memory; all finished runs are stored: "
                    "run the same command again with fewer jobs"
                ) from error
            finally:
                pool.shutdown(wait=False, cancel_futures=True)


_WORKER: list[Experiment] = []


def _start_worker(experiment: Experiment) -> None:
    _WORKER[:] = [experiment]


def _attempts_here(group: list[Task]) -> list[Row | Failure]:
    return _attempts(_WORKER[0], group)


def _attempts(experiment: Experiment, group: list[Task]) -> list[Row | Failure]:
    return [_attempt(experiment, task) for task in group]


def _attempt(experiment: Experiment, task: Task) -> Row | Failure:
    try:
        return run_task(experiment, task)
    except RankhashError as error:
        return Failure(task, str(error))


@lru_cache(maxsize=1)
def _split(data: Dataset, protocol: Protocol, seed: int) -> Split:
    with threadpool_limits(1):
        return split(data, protocol, seed)


def run_key(task: Task, experiment: Experiment) -> Row:
    """The fields that identify a run."""
    return {
        "set": experiment.data.name,
        "method": task.method,
        "seed": task.seed,
        "n_symbols": task.layout.n_symbols,
        "arity": task.layout.arity,
        "tuned_for": task.axis,
        "length": task.length or None,
        "settings": experiment.settings,
    }


def run_task(experiment: Experiment, task: Task) -> Row:
    """The result of one run: fit, encode, compare all queries with the whole database."""
    data = _vectors(experiment.data, experiment.protocol, task.seed, task.method)
    row = run_key(task, experiment)
    with threadpool_limits(1):
        hasher, seconds = _fitted(experiment, task)
        row |= {"n_symbols": hasher.layout_.n_symbols, "arity": hasher.layout_.arity, "bits": hasher.layout_.bits}
        row |= {"parameters": parameters_of(hasher), "fit_seconds": round(seconds, 4)}
        row |= measure(hasher, data)
        if (learned := course(hasher)) is not None:
            row["course"] = learned
        if task.pictures:
            row["pictures"] = pictures(hasher, data)
    return row | {"origin": origin()}


def _fitted(experiment: Experiment, task: Task) -> tuple[Hasher, float]:
    """The fitted hasher and the CPU seconds of its fit, not counting the search for its parameters."""
    chosen = {} if task.axis is None else _chosen(experiment, task)
    layout = CodeLayout(chosen.get("n_symbols", task.layout.n_symbols), chosen.get("arity", task.layout.arity))
    return _fit(experiment.data, experiment.protocol, task.seed, task.method, layout, tuple(sorted(chosen.items())))


@lru_cache(maxsize=16)
def _fit(
    data: Dataset, protocol: Protocol, seed: int, name: str, layout: CodeLayout, chosen: tuple[tuple[str, Any], ...]
) -> tuple[Hasher, float]:
    """The hasher and its CPU seconds; the last are kept, since codes tuned for bits and for symbols can be the same."""
    learned = _vectors(data, protocol, seed, name)
    hasher = METHODS[name].make(layout, seed, **dict(chosen))
    start = time.process_time()
    hasher.fit(learned.train, learned.y, similarity=learned.similarity)
    return hasher, time.process_time() - start


def _vectors(data: Dataset, protocol: Protocol, seed: int, name: str) -> Split:
    """The split as a method sees it."""
    chosen = _split(data, protocol, seed)
    return chosen.raw(data) if METHODS[name].raw else chosen


def _chosen(experiment: Experiment, task: Task) -> Row:
    """The parameters of a run that are best by cross-validation on its training vectors."""
    method = METHODS[task.method]
    wanted = [*ParameterGrid(method.candidates(str(task.axis), task.length))]
    if len(wanted) == 1:
        return dict(wanted[0])
    places = [(axis, length) for axis in experiment.axes for length in experiment.lengths]
    places = places if method.nested else [(str(task.axis), task.length)]
    trials = _trials(experiment.data, experiment.protocol, task.seed, task.method, tuple(places))
    return next(dict(trial.parameters) for trial in trials if trial.parameters in wanted)


@lru_cache(maxsize=1)
def _trials(
    data: Dataset, protocol: Protocol, seed: int, name: str, places: tuple[tuple[str, int], ...]
) -> tuple[Trial, ...]:
    """The trials of a method at the given axes and lengths, best first."""
    method, chosen = METHODS[name], _vectors(data, protocol, seed, name)
    hasher, grid = method.make(method.layout(*places[0]), seed), method.grids(places)
    return tune(hasher, chosen.train, chosen.y, similarity=chosen.similarity, grid=grid, random_state=seed).trials


def parameters_of(hasher: Hasher) -> Row:
    """The parameters that are stored with a result."""
    return {name: value for name, value in hasher.get_params().items() if name not in QUIET}
