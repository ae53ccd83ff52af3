"""What the operator of a server decides."""

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
    """How much one request, and all of them together, may ask for."""

    k: int = 1000
    """Items for one query, and items on one page of a listing"""
    batch: int = 1024
    """Queries, ids or new items in one request"""
    matches: int = 200_000
    """Queries times items (or candidates to re-rank) for each"""
    body_bytes: int = 8 << 20
    stored: int = 200_000
    """Stored vectors that are read to say which neighbours are true"""
    concurrent: int = 512
    """Requests at once; others are turned away with 429"""
    connections: int = 20_000
    """Open connections; beyond, those go that have been idle for longest"""
    search_seconds: float = 10.0
    """How long a search may wait and run before it is answered with 503"""
    body_seconds: float = 20.0
    """How long a body may take to arrive"""
    idle_seconds: float = 20.0
    """How long a connection may be open without a whole request"""


@dataclass(frozen=True)
class Settings:
    """What is served, to whom, and how much of it."""

    host: str = "127.0.0.1"
    port: int = 8000
    writable: bool = False
    """Whether items may be added, replaced and deleted; that needs a token."""
    token: str | None = None
    images: str | None = None
    """A folder with pictures that items name in their metadata as ``image``"""
    text_encoder: TextEncoder | None = None
    """Turns a list of texts into vectors (n, n_features)"""
    n_threads: int | None = None
    """Threads of one search; None for every core"""
    limits: Limits = field(default_factory=Limits)

    @property
    def is_local(self) -> bool:
        """Whether only this machine can reach the server."""
        if self.host in LOCAL:
            return True
        try:
            return ip_address(self.host).is_loopback
        except ValueError:  # a name, which may lead anywhere
            return False

    @property
    def reads_need_token(self) -> bool:
        """Whether reading needs the token, too."""
        return not self.is_local


LOCAL = ("127.0.0.1", "::1", "localhost")
