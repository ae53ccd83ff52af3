"""open_index opens the files of every kind of index."""

from __future__ import annotations

import numpy as np
import pytest

from rankhash import FileFormatError, FlatIndex, VectorIndex, _files, open_index
from vector_index.brute import clustered


@pytest.mark.parametrize("mmap", [False, True])
@pytest.mark.parametrize("learned", [False, True])
def test_a_vector_index_is_opened(tmp_path, mmap, learned):
    X = clustered(1, 1500)
    index = VectorIndex("euclidean", n_cells=16, bytes_per_vector=4, verbose=False)
    if learned:
        index.fit(X)
    index.add(X)
    index.save(tmp_path / "index")
    opened = open_index(tmp_path / "index", mmap=mmap)
    assert isinstance(opened, VectorIndex)
    assert opened.describe()["exact"] is not learned
    found, expected = opened.search(X[:20], 7), index.search(X[:20], 7)
    np.testing.assert_array_equal(found.ids, expected.ids)
    np.testing.assert_array_equal(found.distances, expected.distances)
    with pytest.raises(FileFormatError, match="does not hold a FlatIndex"):
        FlatIndex.load(tmp_path / "index")


def test_damage_is_noticed(tmp_path):
    index = VectorIndex("euclidean")
    index.add(clustered(1, 50))
    index.save(tmp_path / "index")
    content = (tmp_path / "index").read_bytes()
    (tmp_path / "index").write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    with pytest.raises(FileFormatError, match="checksum"):
        open_index(tmp_path / "index")


@pytest.mark.parametrize("kind", ["tree", None, 7])
def test_an_unknown_kind_of_index_is_refused(tmp_path, kind):
    _files.write_file(tmp_path / "index", {}, {"index": kind}, kind="index")
    with pytest.raises(FileFormatError, match="unknown kind"):
        open_index(tmp_path / "index")
