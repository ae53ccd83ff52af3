"""Codes in PostgreSQL: :class:`PostgresIndex` for one table, :class:`PostgresShards` for tables on several servers.

Needs the extra ``postgres`` (psycopg 3). The server needs pgvector 0.7 for approximate search only.
"""

try:
    import psycopg as _psycopg  # noqa: F401
except ImportError as error:
    raise ImportError("rankhash.engines.postgres needs psycopg: pip install 'rankhash[postgres]'") from error

from .index import ApproximateNeighbors, PostgresIndex
from .shards import PostgresShards

__all__ = ["ApproximateNeighbors", "PostgresIndex", "PostgresShards"]
