"""A server in a thread of this process, for tests that speak to it as a browser does."""

from __future__ import annotations

import contextlib
import socket
import threading
import time

import uvicorn

from rankhash.server import create_app


@contextlib.contextmanager
def serving(collections, settings=None):
    """The address of a server that runs meanwhile."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        config = uvicorn.Config(create_app(collections, settings), log_level="warning", ws="none", lifespan="on")
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, args=([listener],))
        thread.start()
        try:
            give_up = time.monotonic() + 20
            while not server.started and thread.is_alive() and time.monotonic() < give_up:
                time.sleep(0.01)
            assert server.started
            yield "http://127.0.0.1:{}".format(listener.getsockname()[1])
        finally:
            server.should_exit = True
            thread.join(20)
