"""Files whose checksums are right and whose contents are random: refused, or used by every later call without harm."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import settings

from rankhash import RankhashError, VectorIndex, _files

from .brute import METRICS, clustered

KINDS = [*METRICS, "codes"]
N_CASES = 20 if settings().max_examples >= 100 else 12  # fewer under the sanitizers, where a case takes seconds


def damaged(arrays, rng):
    """The arrays with random bytes, or an array that is longer, shorter or repeated."""
    arrays = {name: array.copy() for name, array in arrays.items()}
    for name in rng.choice(sorted(arrays), rng.integers(1, 4)):
        array = arrays[name]
        kind = rng.integers(0, 8)
        if kind == 0:
            arrays[name] = array[: len(array) // 2]
        elif kind == 1:
            arrays[name] = np.concatenate([array, array[:3]])
        elif kind == 2 and len(array):
            arrays[name] = array[rng.integers(0, len(array), len(array))]
        elif kind == 3:
            array[...] = np.array(rng.choice([0, 1, 255, -1])).astype(array.dtype)
        else:
            flat = array.reshape(-1).view(np.uint8)
            places = rng.integers(0, max(flat.size, 1), rng.integers(1, 30) if flat.size else 0)
            flat[places] = rng.integers(0, 256, len(places))
    return {name: np.ascontiguousarray(array) for name, array in arrays.items()}


def use(index, *, stored):
    """Every call that reads or moves codes and vectors."""
    queries = clustered(3, 9)
    for some in (queries, queries[:1]):
        index.search(some, 20)
        index.search(some, 3, recall=0.99)
    index.search(queries, 5, filter=index.ids[::2])
    if stored:
        index.search(queries, 5, exact=True)
        index.get(index.ids[:9])
        if index.metric != "dot":
            index.near_pairs(0.99 if index.metric == "cosine" else 0.01)
    index.add(queries)
    index.upsert(queries[:4], index.ids[:4])
    index.remove(index.ids[:50])
    index.add(clustered(4, 600))
    index.compact()
    index.search(queries, 20)


@pytest.mark.parametrize("name", KINDS)
def test_random_contents_with_honest_checksums_are_refused_or_do_no_harm(files, tmp_path, name):
    header, original = _files.read_file(files[name], "index")
    opened = used = 0
    for seed in range(N_CASES):
        rng = np.random.default_rng(seed)
        _files.write_file(tmp_path / "index", damaged(original, rng), header, kind="index")
        try:
            index = VectorIndex.load(tmp_path / "index", mmap=bool(seed % 2), verify=bool(seed % 3))
            opened += 1
            use(index, stored=name != "codes")
            index.save(tmp_path / "again")
            VectorIndex.load(tmp_path / "again")
            used += 1
        except RankhashError:
            continue
    assert opened
    assert used
