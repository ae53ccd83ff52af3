"""Calls that must end: tests fail, and do not hang, if a call waits for ever."""

from __future__ import annotations

import os
import signal
import threading


def ended(call, seconds=120):
    """What the call returns or raises; an AssertionError if it has not ended after that many seconds."""
    outcome = {}

    def run():
        try:
            outcome["result"] = call()
        except BaseException as error:
            outcome["error"] = error

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(seconds)
    assert not thread.is_alive(), f"the call has not ended after {seconds} s"
    if "error" in outcome:
        raise outcome["error"]
    return outcome["result"]


def answer_after_a_kill(client, search, *, is_long=False):
    """The answer of a search during which a worker that searches a shard is killed, and the address of the worker.

    A long search must go on after the kill.
    """
    answers, pids = [], client.run(os.getpid)
    thread = threading.Thread(target=lambda: answers.append(search()))
    thread.start()
    victim = None
    while victim is None:
        assert thread.is_alive(), "the search was over before a worker was killed"
        busy = client.processing().items()
        victim = next(
            (name for name, tasks in busy if any(str(task).startswith("search_shard-") for task in tasks)), None
        )
    os.kill(pids[victim], signal.SIGKILL)
    assert thread.is_alive() or not is_long
    thread.join(timeout=240)
    assert not thread.is_alive()
    return answers[0], victim
