"""The Dask cluster that does the work: a given client, the current client, or a local cluster started here."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import CancelledError
from typing import Any, TypeAlias

from distributed import Client, LocalCluster, futures_of, wait
from distributed.client import ClosedClientError
from distributed.comm.core import CommClosedError
from distributed.scheduler import KilledWorker

from ..._kernels import default_threads
from ...errors import EngineError, InvalidInputError
from ...hashers.progress import FitProgress

TIMEOUT = 30.0
"""Seconds to wait for a scheduler, then for its first worker, and for another one if all are lost."""

LOOK_AGAIN = 0.5
"""Seconds between two checks for progress and for remaining workers while waiting."""

ClientLike: TypeAlias = "Client | str | None"


class Cluster:
    """A client, with what must be closed with it (``started``)."""

    def __init__(self, client: Client, started: Sequence[Any], timeout: float = TIMEOUT) -> None:
        self.client = client
        self._started = started
        self._timeout = timeout

    def close(self) -> None:
        """Close what was started here; a given client stays open."""
        for thing in self._started:
            thing.close()
        self._started = ()

    @contextlib.contextmanager
    def plain_errors(self, doing: str) -> Iterator[None]:
        """A block in which Dask's errors about lost workers, schedulers and clients become ``EngineError``."""
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
        """The results of futures; the first error of a task is raised unchanged."""
        with self.plain_errors(doing):
            self.watch(futures_of(futures), doing)
            return self.client.gather(futures)

    def follow(self, futures: Sequence[Any], title: str, *, shown: bool) -> None:
        """Wait until all futures are done, with a progress bar if that takes long; raise the first error."""
        with self.plain_errors(title), FitProgress(len(futures), title, shown=shown) as progress:
            self.watch(futures, title, progress)

    def watch(self, futures: Sequence[Any], doing: str, progress: FitProgress | None = None) -> None:
        """Wait until all futures are done. Raises when a task fails, or when no worker is left for ``timeout`` seconds.

        ``progress`` (None) advances by one for every future that is done.
        """
        deadline, n_done = None, 0
        while n_done < len(futures):
            with self.client.as_current(), contextlib.suppress(asyncio.TimeoutError, TimeoutError):
                wait(futures, timeout=LOOK_AGAIN)
            done = [future for future in futures if future.done()]
            for future in done:
                if future.status != "finished":
                    future.result()
            if progress is not None:
                for _ in range(len(done) - n_done):
                    progress.advance()
            n_done = len(done)
            if n_done < len(futures):
                deadline = self._check_workers(deadline, doing)

    def _check_workers(self, deadline: float | None, doing: str) -> float | None:
        """When waiting ends if no worker comes; None while there are workers."""
        now = time.monotonic()
        if self.client.nthreads():
            return None
        if deadline is not None and now > deadline:
            raise EngineError(
                f"all workers were lost while {doing}, and for {self._timeout:g} s no other has come; "
                "start some and repeat it"
            )
        return now + self._timeout if deadline is None else deadline


def connect(client: ClientLike, *, timeout: float = TIMEOUT) -> Cluster:
    """The cluster of ``client``: a client, the address of a scheduler, or None for the current client if there is one.

    Otherwise a local cluster is started with one process per core; ``Cluster.close`` ends it.

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
