"""A client of `rankhash serve` that needs only NumPy: `Client`, and `RemoteCollection` for a served collection."""

from ._http import ServerError
from .client import Client
from .remote_collection import Match, RemoteCollection

__all__ = ["Client", "Match", "RemoteCollection", "ServerError"]
