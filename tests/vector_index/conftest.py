"""Indexes that have learned cells: made once, loaded afresh for each test."""

from __future__ import annotations

import pytest

from rankhash import VectorIndex, _files

from .brute import METRICS, clustered


@pytest.fixture(scope="session")
def stored():
    """The vectors of the learned indexes; their ids are their row numbers."""
    return clustered(1, 5000)


@pytest.fixture(scope="session")
def queries():
    return clustered(2, 60)


@pytest.fixture(scope="session")
def files(stored, tmp_path_factory):
    """Paths of learned indexes by metric, and of one that keeps codes only by ``"codes"``."""
    folder, paths = tmp_path_factory.mktemp("indexes"), {}
    for name in [*METRICS, "codes"]:
        codes_only = name == "codes"
        metric, vectors = ("euclidean", None) if codes_only else (name, "float32")
        index = VectorIndex(metric, n_cells=32, bytes_per_vector=6, vectors=vectors, verbose=False)
        index.fit(stored[::2]).add(stored)
        paths[name] = folder / f"{name}.rankhash"
        index.save(paths[name])
    return paths


@pytest.fixture
def learned(files):
    """A function that gives a learned index of a metric, or of codes only."""
    return lambda name="euclidean", **how: VectorIndex.load(files[name], **how)


@pytest.fixture
def rewritten(files, tmp_path):
    """A function that changes header and arrays of a good file and writes them with honest checksums."""

    def rewrite(change, name="euclidean"):
        header, arrays = _files.read_file(files[name], "index")
        arrays = {key: array.copy() for key, array in arrays.items()}
        change(header, arrays)
        path = tmp_path / "changed.rankhash"
        _files.write_file(path, arrays, header, kind="index")
        return path

    return rewrite
