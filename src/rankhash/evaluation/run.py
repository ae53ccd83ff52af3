"""Runs of the protocol: what is to be done, one run, and all of them, on several cores and resumable.

::

    Experiment ─▶ tasks ─▶ without the finished ones of the store ─▶ run_task ─▶ row ─▶ store
"""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Future, ProcessPoolExecutor, as_completed, wait
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from threadpoolctl import threadpool_limits

from ..codes import CodeLayout
from ..datasets import Dataset
from ..errors import InvalidInputError, RankhashError
from ..hashers import Hasher
from ..tuning import tune
from .measure import course, measure, pictures
from .methods import AXES, METHODS, Method
from .origin import origin
from .protocol import Protocol, Split, split
from .store import Row, Store, identity

LENGTHS = (8, 12, 16, 24, 32, 48, 64)
QUIET = ("n_symbols", "arity", "random_state", "n_jobs", "verbose", "callback")
"""Parameters that a row names elsewhere, or that change no code."""


@dataclass(frozen=True)
class Task:
    """One run: a method at a length on one split. ``axis`` says at equal what its parameters are tuned, if they are."""

    method: str
    layout: CodeLayout
    seed: int
    axis: str | None = None
    length: int = 0
    pictures: bool = False


@dataclass(frozen=True)
class Failure:
    """A run that could not be done, and why."""

    task: Task
    reason: str


@dataclass(frozen=True)
class Experiment:
    """What is compared, on what, and how often."""

    data: Dataset
    methods: tuple[Method, ...]
    lengths: tuple[int, ...] = LENGTHS
    axes: tuple[str, ...] = AXES
    seeds: tuple[int, ...] = tuple(range(100, 110))
    protocol: Protocol = field(default_factory=Protocol)
    tuned: bool = False

    def __post_init__(self) -> None:
        if not (self.methods and self.lengths and self.seeds):
            raise InvalidInputError("there must be at least one method, one code length and one run")
        if min(self.lengths) < 1:
            raise InvalidInputError(f"code lengths must be 1 or more, got {min(self.lengths)}")
        self.protocol.sizes(self.data)

    @property
    def settings(self) -> Row:
        """What two runs must have in common to be compared: the protocol, and a user's file."""
        named = {"data": self.data.fingerprint} if self.data.fingerprint else {}
        return self.protocol.settings() | named

    def rows(self, store: Store) -> list[Row]:
        """The finished runs with these settings, of any method, length and seed."""
        return [row for row in store.rows(self.data.name) if row["settings"] == self.settings]

    @property
    def picture_length(self) -> int:
        """The number of symbols at which neighbours are shown: 32, or the nearest there is."""
        return min(self.lengths, key=lambda length: (abs(length - 32), length))

    def tasks(self) -> list[Task]:
        """All runs, one split after the other; codes that are the same on both axes are made once."""
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
        shown = self.data.image_shape is not None and seed == self.seeds[0] and layout.n_symbols == self.picture_length
        if self.tuned:
            return Task(method.name, layout, seed, axis, length, shown)
        return Task(method.name, layout, seed, pictures=shown)

    def missing(self, store: Store) -> list[Task]:
        """The runs that are not finished yet, or were made with other parameters."""
        done = {identity(row): row["parameters"] for row in self.rows(store)}
        return [task for task in self.tasks() if not self._is_done(task, done)]

    def _is_done(self, task: Task, done: dict[str, Any]) -> bool:
        found = done.get(identity(head(task, self)))
        if found is None or self.tuned:
            return found is not None
        return bool(found == parameters_of(METHODS[task.method].make(task.layout, task.seed)))

    def run(self, tasks: list[Task], store: Store, jobs: int = 1) -> Iterator[Row | Failure]:
        """Do the runs and keep each in the store as soon as it is finished."""
        for outcome in self._outcomes(tasks, jobs):
            if not isinstance(outcome, Failure):
                store.add(outcome)
            yield outcome

    def _outcomes(self, tasks: list[Task], jobs: int) -> Iterator[Row | Failure]:
        if jobs == 1:
            yield from (_attempt(self, task) for task in tasks)
            return
        context = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(jobs, context, initializer=_start_worker, initargs=(self,)) as pool:
            waiting: set[Future[Row | Failure]] = set()
            try:
                for task in tasks:
                    waiting.add(pool.submit(_attempt_here, task))
                    if len(waiting) >= 2 * jobs:
                        done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
                        yield from (future.result() for future in done)
                yield from (future.result() for future in as_completed(waiting))
            except BrokenExecutor as error:
                raise InvalidInputError(
                    "a job ended by itself, perhaps for want of memory; all finished runs are kept: "
                    "give the same command again, with fewer jobs"
                ) from error
            finally:
                pool.shutdown(wait=False, cancel_futures=True)


_WORKER: list[Experiment] = []


def _start_worker(experiment: Experiment) -> None:
    _WORKER[:] = [experiment]


def _attempt_here(task: Task) -> Row | Failure:
    return _attempt(_WORKER[0], task)


def _attempt(experiment: Experiment, task: Task) -> Row | Failure:
    try:
        return run_task(experiment, task)
    except RankhashError as error:
        return Failure(task, str(error))


@lru_cache(maxsize=1)
def _split(data: Dataset, protocol: Protocol, seed: int) -> Split:
    with threadpool_limits(1):
        return split(data, protocol, seed)


def head(task: Task, experiment: Experiment) -> Row:
    """What names a run."""
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
    """One run: fit, encode, compare all queries with the whole database."""
    data = _split(experiment.data, experiment.protocol, task.seed)
    if METHODS[task.method].raw:
        data = data.raw(experiment.data)
    row = head(task, experiment)
    with threadpool_limits(1):
        hasher, seconds = _fitted(METHODS[task.method], task, data)
        row |= {"n_symbols": hasher.layout_.n_symbols, "arity": hasher.layout_.arity, "bits": hasher.layout_.bits}
        row |= {"parameters": parameters_of(hasher), "fit_seconds": round(seconds, 4)}
        row |= measure(hasher, data)
        if (learned := course(hasher)) is not None:
            row["course"] = learned
        if task.pictures:
            row["pictures"] = pictures(hasher, data)
    return row | {"origin": origin()}


def _fitted(method: Method, task: Task, data: Split) -> tuple[Hasher, float]:
    """The hasher and the CPU seconds that its fit took, without the search for its parameters."""
    hasher = method.make(task.layout, task.seed)
    if task.axis is not None:
        grid = method.candidates(task.axis, task.length)
        hasher = tune(hasher, data.train, data.y, similarity=data.similarity, grid=grid, random_state=task.seed).hasher
    start = time.process_time()
    hasher.fit(data.train, data.y, similarity=data.similarity)
    return hasher, time.process_time() - start


def parameters_of(hasher: Hasher) -> Row:
    """The parameters that a row is made with."""
    return {name: value for name, value in hasher.get_params().items() if name not in QUIET}
