"""The settings of a server, chosen by its operator."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.metadata import version
from ipaddress import ip_address
from typing import Any

VERSION = version("rankhash")

TextEncoder = Callable[[list[str]], Any]


@dataclass(frozen=True)
class Limits:
    """Limits of one request and of all requests together."""

    k: int = 1000
    """Items per query, and items per page of a listing; 1000 by default"""
    batch: int = 1024
    """Queries, ids or new items of one request; 1024 by default"""
    matches: int = 200_000
    """Queries times items (or candidates to re-rank) per query; 200,000 by default"""
    body_bytes: int = 8 << 20
    """Bytes of a request's body; 8 MiB by default"""
    answer_bytes: int = 32 << 20
    """Bytes of an answer, as estimated from the metadata, symbols and ids that it holds; 32 MiB by default"""
    collections: int = 100
    """Collections that clients can bring a server to; 100 by default"""
    stored: int = 200_000
    """Stored vectors that are read to find true neighbours; 200,000 by default"""
    concurrent: int = 512
    """Requests at once; others are answered with 429; 512 by default"""
    per_client: int = 64
    """Requests at once of one address, on a server for other machines; others are answered with 429; 64 by default"""
    connections: int = 20_000
    """Open connections; beyond, those that have been idle for longest are closed; 20,000 by default"""
    search_seconds: float = 10.0
    """Seconds after which a search is interrupted and answered with 503; 10 by default"""
    body_seconds: float = 20.0
    """Seconds for a body to arrive; 20 by default"""
    idle_seconds: float = 20.0
    """Seconds for which a connection may be open without a whole request; 20 by default"""


@dataclass(frozen=True)
class Settings:
    """The settings of a server: its address, its token, and its limits."""

    host: str = "127.0.0.1"
    """Address to listen on; 127.0.0.1 by default, which only this machine can reach"""
    port: int = 8000
    """Port to listen on; 8000 by default, 0 chooses a free one"""
    writable: bool = False
    """Whether clients with the token can add, replace and delete items; False by default"""
    token: str | None = None
    """The token of clients, needed for changes and on other addresses; None by default"""
    folder: str | None = None
    """A folder in which clients with the token can create collections; None by default: they cannot"""
    images: str | None = None
    """A folder with images; the metadata field ``image`` of an item is the name of its file; None by default"""
    text_encoder: TextEncoder | None = None
    """A function that turns a list of texts into vectors ``(n, n_features)``; None by default"""
    n_threads: int | None = None
    """Threads per search; None (default) uses every core"""
    limits: Limits = field(default_factory=Limits)
    """Limits of requests; those of ``Limits()`` by default"""

    @property
    def is_local(self) -> bool:
        """Whether only this machine can reach the server."""
        if self.host in LOCAL:
            return True
        try:
            return ip_address(self.host).is_loopback
        except ValueError:  # a host name, which may resolve to any address
            return False

    @property
    def reads_need_token(self) -> bool:
        """Whether reading needs the token, as changes do."""
        return not self.is_local


LOCAL = ("127.0.0.1", "::1", "localhost")
