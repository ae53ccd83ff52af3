"""The cluster that does the work: a client that is given, the current one, or a small cluster of our own."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import CancelledError
from typing import Any, TypeAlias, TypeVar

from distributed import Client, LocalCluster, as_completed, futures_of, wait
from distributed.client import ClosedClientError
from distributed.comm.core import CommClosedError
from distributed.scheduler import KilledWorker

from ..._kernels import default_threads
from ...errors import EngineError, InvalidInputError
from ...hashers._progress import FitProgress

TIMEOUT = 30.0
"""Seconds to wait for a scheduler, then for its first worker, and for another one if all are lost."""

LOOK_AGAIN = 2.0
"""Seconds after which somebody who waits asks whether there are any workers left."""

ClientLike: TypeAlias = "Client | str | None"
T = TypeVar("T")


class Cluster:
    """A client, and whether it is ours to close."""

    def __init__(self, client: Client, started: Sequence[Any], timeout: float = TIMEOUT) -> None:
        self.client = client
        self._started = started
        self._timeout = timeout

    def workers(self) -> list[str]:
        """The addresses of all workers, sorted."""
        return sorted(self.client.nthreads())

    def close(self) -> None:
        """Close what was started here; a client that was given stays as it is."""
        for thing in self._started:
            thing.close()
        self._started = ()

    @contextlib.contextmanager
    def plain_errors(self, doing: str) -> Iterator[None]:
        """Turn what Dask raises when workers or the scheduler are lost into one sentence."""
        try:
            yield
        except KilledWorker as error:
            raise EngineError(
                f"{doing} was given up: the workers that tried it died again and again; "
                "make the shards or blocks smaller, or give the workers more memory"
            ) from error
        except ModuleNotFoundError as error:
            raise EngineError(
                f"a worker cannot import {error.name}; install the same packages on all machines"
            ) from error
        except ClosedClientError:
            raise EngineError(f"{doing} needs a running client, and this one is closed") from None
        except (CancelledError, CommClosedError, asyncio.TimeoutError, TimeoutError) as error:
            raise EngineError(f"the Dask cluster was lost while {doing}; connect again and repeat it") from error

    def gather(self, futures: Any, doing: str) -> Any:
        """The results of futures; the first error of a task is raised as it is."""
        with self.plain_errors(doing):
            self._wait(futures, doing)
            return self.client.gather(futures)

    def _wait(self, futures: Any, doing: str) -> None:
        """Wait until all futures are done, but not for ever if there is nobody left to work on them."""
        deadline = None
        while True:
            try:
                with self.client.as_current():
                    wait(futures_of(futures), timeout=LOOK_AGAIN)
                return
            except (asyncio.TimeoutError, TimeoutError):
                now = time.monotonic()
                if self.client.nthreads():
                    deadline = None
                elif deadline is None:
                    deadline = now + self._timeout
                elif now > deadline:
                    raise EngineError(
                        f"all workers were lost while {doing}, and for {self._timeout:g} s no other has come; "
                        "start some and repeat it"
                    ) from None

    def follow(self, futures: Sequence[Any], title: str, *, shown: bool) -> None:
        """Wait until all futures are done, with a bar if that takes a while; the first error is raised at once."""
        with self.plain_errors(title), FitProgress(len(futures), title, shown=shown) as progress:
            for future in as_completed(futures, loop=self.client.loop):
                if future.status != "finished":
                    future.result()
                progress.advance()


def connect(client: ClientLike, *, timeout: float = TIMEOUT) -> Cluster:
    """The cluster of ``client``: a client, the address of a scheduler, or None for the current client if there is one.

    Otherwise a local cluster is started with a process for every core; it ends with :meth:`Cluster.close`.

    Raises
    ------
    EngineError
        If the scheduler does not answer, or has no workers, within ``timeout`` seconds.
    """
    cluster = _open(client, timeout)
    try:
        cluster.client.wait_for_workers(1, timeout=timeout)
    except (asyncio.TimeoutError, TimeoutError):
        cluster.close()
        raise EngineError(
            f"the Dask scheduler at {cluster.client.scheduler.address} has had no workers for {timeout:g} s; start some"
        ) from None
    return cluster


def _open(client: ClientLike, timeout: float) -> Cluster:
    if client is None:
        with contextlib.suppress(ValueError):
            client = Client.current()
    if client is None:
        return _local(timeout)
    if isinstance(client, str):
        return _remote(client, timeout)
    if not isinstance(client, Client):
        raise InvalidInputError(f"client must be a distributed.Client, an address or None, got {client!r}")
    if client.asynchronous:
        raise InvalidInputError("client is asynchronous, and a plain one is needed: Client(address)")
    if client.status != "running":
        raise EngineError(f"the client must be connected, but it is {client.status}; make a new one")
    return Cluster(client, (), timeout)


def _local(timeout: float) -> Cluster:
    local = LocalCluster(n_workers=default_threads(), threads_per_worker=1, dashboard_address="127.0.0.1:0")
    client = Client(local, set_as_default=False)
    return Cluster(client, (client, local), timeout)


def _remote(address: str, timeout: float) -> Cluster:
    try:
        client = Client(address, timeout=timeout, set_as_default=False)
    except (OSError, asyncio.TimeoutError, TimeoutError, ValueError) as error:
        raise EngineError(
            f"no Dask scheduler answers at {address!r} within {timeout:g} s; check the address and that it runs"
        ) from error
    return Cluster(client, (client,), timeout)


@contextlib.contextmanager
def connected(client: ClientLike, *, timeout: float = TIMEOUT) -> Iterator[Cluster]:
    """The cluster of ``client`` for the time of a block."""
    cluster = connect(client, timeout=timeout)
    try:
        yield cluster
    finally:
        cluster.close()


def spread(items: Iterable[T], workers: Sequence[str]) -> Iterator[tuple[T, str]]:
    """Every item with the worker that it should go to, in turns."""
    for i, item in enumerate(items):
        yield item, workers[i % len(workers)]
