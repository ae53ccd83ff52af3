"""The upgrade of a file of version 1 to the current version, inside the transaction of its first change."""

from __future__ import annotations

import sqlite3
from dataclasses import replace

import numpy as np

from . import _chunks, _vector_rows
from ._encoding import Encoding
from ._schema import TABLES, VERSION, Counters, write_counters, write_setting

_COLUMNS = "one, generation, epoch, next_number, next_id, n_items, n_rows"


def upgrade(connection: sqlite3.Connection, counters: Counters, before: Encoding) -> Counters:
    """The counters of the file after its upgrade; ``before`` is its encoding so far."""
    connection.execute("ALTER TABLE state RENAME TO state_1")
    connection.execute(TABLES["state"])
    connection.execute(f"INSERT INTO state ({_COLUMNS}, encoding) SELECT {_COLUMNS}, 0 FROM state_1")
    connection.execute("DROP TABLE state_1")
    connection.execute(TABLES["vector_chunks"])
    if before.vectors is not None:
        waiting: _chunks.Parts = []
        for chunk in _vector_rows.chunks(connection, before.vectors, 0):
            waiting.append((chunk.all_numbers(), np.zeros(len(chunk.rows), bool), chunk.rows))
            waiting = _chunks.write_full(connection, before.vectors, waiting)
        _chunks.write_full(connection, before.vectors, waiting, also_rest=True)
    _vector_rows.delete(connection)
    write_setting(connection, "metric", before.metric)
    write_setting(connection, "recall", before.recall)
    connection.execute(f"PRAGMA user_version = {VERSION}")
    now = replace(counters, encoding=0, generation=counters.generation + 1)
    write_counters(connection, now)
    return now
