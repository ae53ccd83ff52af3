"""Codes in PostgreSQL: `PostgresIndex` for one table, `PostgresShards` for tables on several servers.

Needs the extra ``postgres`` (psycopg 3). The server needs pgvector 0.7 for approximate search only.
"""

try:
    import psycopg as _psycopg  # noqa: F401
except ImportError as error:
    raise ImportError(
        "rankhash.engines.postgres needs psycopg: pip install 'rankhash[postgres]' (in a checkout: '.[postgres]')"
    ) from error

from ._search import ApproximateNeighbors
from .index import PostgresIndex
from .shards import PostgresShards

__all__ = ["ApproximateNeighbors", "PostgresIndex", "PostgresShards"]
