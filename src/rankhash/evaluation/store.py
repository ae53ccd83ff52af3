"""Raw results on disk: one JSON line per finished run, one file per data set and method.

::

    folder/mnist/SRSH.jsonl      {"set": "mnist", "method": "SRSH", "seed": 100, "n_symbols": 32, "ap": …}
                                 …

Only complete lines count. A partial line, left by a killed process or a full disk, is removed before the next line is
appended.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..errors import InvalidInputError

Row = dict[str, Any]


class Store:
    """The finished runs in a folder.

    >>> import tempfile
    >>> store = Store(Path(tempfile.mkdtemp()))
    >>> store.add({"set": "digits", "method": "LSH", "seed": 1, "n_symbols": 8, "settings": {}, "ap": 0.5})
    >>> [row["ap"] for row in store.rows("digits")]
    [0.5]
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def add(self, row: Row) -> None:
        """Store a finished run; it is durable once the call returns."""
        path = self._path(row["set"], row["method"])
        line = json.dumps(row, allow_nan=False, separators=(",", ":")).encode() + b"\n"
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("ab+") as file:
                fcntl.flock(file, fcntl.LOCK_EX)
                _drop_torn_line(file)
                _write_whole(file, line)
        except OSError as error:
            reason = "the disk is full" if error.errno == errno.ENOSPC else str(error)
            raise InvalidInputError(
                f"a result cannot be stored in {self.folder}: {reason}. All runs that were finished before are "
                "stored there; free some space and run the same command again"
            ) from error

    def rows(self, name: str) -> list[Row]:
        """The finished runs of a data set; of repeated runs only the last."""
        found: dict[str, Row] = {}
        for path in sorted((self.folder / safe_name(name)).glob("*.jsonl")):
            for row in read_lines(path):
                found[identity(row)] = row
        return list(found.values())

    def sets(self) -> list[str]:
        """The data sets that have results, in alphabetical order."""
        names = {row["set"] for path in self.folder.glob("*/*.jsonl") for row in read_lines(path)}
        return sorted(names)

    def _path(self, name: str, method: str) -> Path:
        return self.folder / safe_name(name) / f"{safe_name(method)}.jsonl"


def read_lines(path: Path) -> Iterator[Row]:
    """The complete lines of a file; damaged lines are skipped, so that their runs are repeated."""
    for line in path.read_bytes().splitlines(keepends=True):
        try:
            row = json.loads(line) if line.endswith(b"\n") else None
        except ValueError:
            continue
        if isinstance(row, dict) and {"set", "method", "seed", "n_symbols", "settings"} <= row.keys():
            yield row


def identity(row: Row) -> str:
    """The key of a run; a later row with the same key replaces an earlier one."""
    names = ["set", "method", "seed", "settings", "tuned_for"]
    names += ["length"] if row.get("tuned_for") else ["n_symbols", "arity"]
    return json.dumps([row.get(name) for name in names], sort_keys=True)


def safe_name(name: str) -> str:
    """A name with only the characters that are safe in file names."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip(".-") or "unnamed"


def _drop_torn_line(file: Any) -> None:
    """Truncate the file after its last complete line."""
    end = file.seek(0, os.SEEK_END)
    if not end:
        return
    file.seek(0)
    kept = file.read().rfind(b"\n") + 1
    if kept < end:
        file.truncate(kept)


def _write_whole(file: Any, line: bytes) -> None:
    """Append a line and flush it to disk; on failure the file keeps its old length."""
    end = file.seek(0, os.SEEK_END)
    try:
        file.write(line)
        file.flush()
        os.fsync(file.fileno())
    except OSError:
        os.truncate(file.fileno(), end)
        raise
