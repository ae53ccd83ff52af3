"""A server in a thread of this process, for tests that speak to it as a browser does."""

from __future__ import annotations

import contextlib
import threading

from rankhash.server import Settings, create_app
from rankhash.server.run import Server, listen


@contextlib.contextmanager
def serving(collections, settings=None):
    """The address of a server that runs meanwhile."""
    settings = settings or Settings()
    with listen("127.0.0.1", 0) as listening:
        server = Server(create_app(collections, settings), settings)
        started = threading.Event()
        server.started_at = started.set
        thread = threading.Thread(target=server.run, args=([listening],))
        thread.start()
        try:
            assert started.wait(20)
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join(20)
