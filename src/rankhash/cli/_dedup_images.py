"""Hashes of the images of a folder, stored in a file so that an interrupted run can be resumed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np

from .._types import U8
from ..duplicates import ImageHashes, hash_images
from . import _common

MAX_LINE = 32 << 20

_BATCH = 64
_SIZE = 8


def hash_folder(files: list[Path], root: Path, resume: str | None) -> ImageHashes:
    """The hashes of all files; those in the file ``resume`` with the same size and time are not computed again."""
    known = _read(resume) if resume else {}
    codes: dict[Path, U8] = {}
    unreadable: list[tuple[Path, str]] = []
    with _common.progress("images", len(files)) as update:
        for done, (path, code, reason) in enumerate(_hashes(files, root, known, resume), 1):
            if code is None:
                unreadable.append((path, reason))
            else:
                codes[path] = code
            update(done)
    rows = np.stack(list(codes.values())) if codes else np.empty((0, _SIZE * _SIZE // 8), np.uint8)
    return ImageHashes(list(codes), rows, unreadable)


def _hashes(
    files: list[Path], root: Path, known: dict[str, dict[str, Any]], resume: str | None
) -> Iterator[tuple[Path, U8 | None, str]]:
    for start in range(0, len(files), _BATCH):
        stamps = {path: _stamp(path, root) for path in files[start : start + _BATCH]}
        new = [path for path, stamp in stamps.items() if not _same(known.get(stamp["path"]), stamp)]
        made = hash_images(new, size=_SIZE)
        reasons = dict(made.unreadable)
        fresh = dict(zip(made.paths, made.codes, strict=True))
        if resume and fresh:
            with open(resume, "a", encoding="utf-8") as file:
                for path, code in fresh.items():
                    file.write(json.dumps(stamps[path] | {"hash": code.tobytes().hex()}) + "\n")
        for path, stamp in stamps.items():
            if path in reasons:
                yield path, None, reasons[path]
            elif path in fresh:
                yield path, fresh[path], ""
            else:
                yield path, np.frombuffer(bytes.fromhex(known[stamp["path"]]["hash"]), np.uint8), ""


def _stamp(path: Path, root: Path) -> dict[str, Any]:
    try:
        facts = path.stat()
    except OSError:
        return {"path": path.relative_to(root).as_posix(), "size": -1, "time": -1}
    return {"path": path.relative_to(root).as_posix(), "size": facts.st_size, "time": facts.st_mtime_ns}


def _same(entry: dict[str, Any] | None, stamp: dict[str, Any]) -> bool:
    return entry is not None and entry["size"] == stamp["size"] and entry["time"] == stamp["time"]


def bounded_lines(file: IO[bytes]) -> Iterator[bytes]:
    """The lines of a file, cut to MAX_LINE bytes."""
    while line := file.readline(MAX_LINE):
        yield line
        while len(line) == MAX_LINE and not line.endswith(b"\n"):
            line = file.readline(MAX_LINE)


def _read(resume: str) -> dict[str, dict[str, Any]]:
    """The entries of a file; damaged lines, such as the last one of a killed run, are skipped."""
    known: dict[str, dict[str, Any]] = {}
    if not Path(resume).exists():
        return known
    with open(resume, "rb") as file:
        for line in bounded_lines(file):
            try:
                entry = json.loads(line)
                if len(bytes.fromhex(entry["hash"])) == _SIZE * _SIZE // 8 and "size" in entry and "time" in entry:
                    known[str(entry["path"])] = entry
            except (ValueError, KeyError, TypeError, RecursionError):
                continue
    return known
