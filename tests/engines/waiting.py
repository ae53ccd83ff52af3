"""A call that must end: tests fail, and do not hang, if it waits for ever."""

from __future__ import annotations

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
