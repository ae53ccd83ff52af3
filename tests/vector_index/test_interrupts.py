"""A change that fails at any line, as after Ctrl-C or without memory, leaves the index as it was."""

from __future__ import annotations

import copy
import sys

import numpy as np
import pytest

from rankhash import VectorIndex
from rankhash.vector_index import _cells

from .brute import clustered

FOLDER = _cells.__file__.rpartition("/")[0]


class StopError(BaseException):
    pass


def fails_at(n, change):
    """Whether the change came to its n-th line in the files of the index, where it is ended."""
    left = n

    def line(frame, event, _):
        nonlocal left
        left -= event == "line"
        if not left and event == "line":
            raise StopError
        return line

    def call(frame, *_):
        return line if frame.f_code.co_filename.startswith(FOLDER) else None

    before = sys.gettrace()
    sys.settrace(call)
    try:
        change()
    except StopError:
        return True
    finally:
        sys.settrace(before)
    return False


def answers(index, queries):
    found = [index.search(queries[:10], recall=recall, n_threads=1).ids for recall in (0.9, 1)]
    arrays = [*found, index.ids, index.get(index.ids), *index._engine.cells.in_order()]
    return [array.tobytes() for array in arrays]


CROWD = (clustered(1, 1) + np.random.default_rng(4).normal(size=(900, 12)) * 0.01).astype(np.float32)
CHANGES = {
    "add": lambda index: index.add(clustered(5, 40)),
    "add and split": lambda index: index.add(CROWD),
    "add and measure again": lambda index: index.add(clustered(5, 1200)),
    "upsert": lambda index: index.upsert(clustered(6, 40), np.arange(90, 130)),
    "remove": lambda index: index.remove(np.arange(200, 220)),
    "remove and compact": lambda index: index.remove(np.arange(200, 1700)),
    "compact": lambda index: index.compact(),
}


@pytest.fixture
def small(monkeypatch):
    """An index that has learned cells of its own number, with removed vectors."""
    monkeypatch.setattr("rankhash.vector_index._coder.CODES_PER_CELL", 60)
    index = VectorIndex("euclidean", bytes_per_vector=4, verbose=False)
    vectors = clustered(1, 2000)
    index.fit(vectors).add(vectors)
    index.remove(np.arange(0, 100, 5))
    return index


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_that_fails_leaves_the_index_as_it_was(small, queries, name):
    change, before, n_cells = CHANGES[name], answers(small, queries), small._engine.cells.coder.n_cells
    expected = copy.deepcopy(small)
    change(expected)
    after = answers(expected, queries)
    n, n_failed = 1, 0
    while fails_at(n, lambda: change(small)) and answers(small, queries) != after:  # which it is behind the last change
        assert answers(small, queries) == before, n
        n_failed += 1
        n += 1 + n // (16 if n < 200 else 3)  # most lines come again and again in loops
    assert n_failed > 5
    assert answers(small, queries) == after
    assert (name == "add and split") == (expected._engine.cells.coder.n_cells > n_cells)


def test_a_first_change_that_fails_leaves_an_empty_index(monkeypatch):
    index = VectorIndex(verbose=False)
    with monkeypatch.context() as patched:
        patched.setattr("rankhash.vector_index._ids.RowIds.append", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            index.add(clustered(1, 5))
        with pytest.raises(ZeroDivisionError):
            index.upsert(clustered(1, 5), range(5))
    assert (len(index), index.n_features) == (0, None)
    index.add(np.ones((1, 3)))
    assert index.n_features == 3


def test_a_copy_of_cells_stays_as_it_was_when_a_cell_is_split(small):
    cells, vectors = small._engine.cells, small._engine.rows
    cells._reserve(4 * cells.n_blocks)  # so that the arena is not replaced
    kept, arena, largest = cells.copied(), cells.blocks, int(cells.sizes.argmax())
    before = [array.tobytes() for array in kept.in_order()]
    rows = cells.rows_in(largest)
    cells.split(largest, vectors.take(rows), rows, random_state=0, n_threads=1)
    assert cells.blocks is arena
    assert len(cells) == len(kept)
    assert [array.tobytes() for array in kept.in_order()] == before
