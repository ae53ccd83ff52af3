"""How everything here is timed: contenders take turns, every repetition is kept, CPU time counts."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Mapping
from statistics import median

Contender = Callable[[], object]
Samples = dict[str, dict[str, list[float]]]  # clock → contender → one number a repetition

CLOCKS: dict[str, Callable[[], float]] = {
    "thread": time.thread_time,  # CPU time of the calling thread
    "process": time.process_time,  # CPU time of all threads
    "wall": time.perf_counter,
}
OFF_THREAD_SHARE = 0.05
OFF_THREAD_SECONDS = 0.002


def interleave(contenders: Mapping[str, Contender], repeats: int) -> Samples:
    """Seconds of every call on every clock, the contenders taking turns after one untimed round.

    Each round starts with another contender, so that none always follows the same neighbour.
    """
    samples: Samples = {clock: {name: [] for name in contenders} for clock in CLOCKS}
    for call in contenders.values():
        call()
    names = list(contenders)
    gc.collect()
    gc.disable()
    try:
        for turn in range(repeats):
            first = turn % len(names)
            for name in names[first:] + names[:first]:
                _time_once(contenders[name], name, samples)
    finally:
        gc.enable()
    return samples


def one_thread(contenders: Mapping[str, Contender], repeats: int) -> Samples:
    """As `interleave`, for calls whose work stays in the calling thread; raises if it does not.

    The thread clock does not see work that was handed to another thread: such a call would look fast.
    """
    samples = interleave(contenders, repeats)
    for name in contenders:
        inside = median(samples["thread"][name])
        whole = median(samples["process"][name])
        if whole - inside > OFF_THREAD_SHARE * whole + OFF_THREAD_SECONDS:
            raise RuntimeError(
                f"{name} spent {whole - inside:.4f} of {whole:.4f} s in other threads; "
                "its thread CPU time means nothing: make it run in one thread"
            )
    return samples


def _time_once(call: Contender, name: str, samples: Samples) -> None:
    before = {clock: read() for clock, read in CLOCKS.items()}
    call()
    after = {clock: read() for clock, read in CLOCKS.items()}
    for clock in CLOCKS:
        samples[clock][name].append(after[clock] - before[clock])
