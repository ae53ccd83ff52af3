"""Index files whose checksums are right and whose contents are not: refused, or used without harm."""

from __future__ import annotations

import json

import numpy as np
import pytest

from rankhash import CodeLayout, FileFormatError, FlatIndex, RankhashError, _files

from .model import draw
from .test_lookup import Eager

ARITIES = [2, 3, 4, 5, 6, 7, 9, 13, 16]
KINDS = {"flat": FlatIndex, "tables": Eager}
N = 700


def contents(kind, layout, seed):
    """A header and writable arrays of an index that has seen additions, removals and ids out of order."""
    rng = np.random.default_rng(seed)
    index = KINDS[kind](layout)
    codes = layout.pack(draw(rng, layout, N))
    index.add(codes[:400], ids=np.arange(400) * 2)
    index.add(codes[400:], ids=2000 - np.arange(N - 400))
    index.remove(np.arange(0, 40, 2))
    index.upsert(codes[:5], [2000, 100, 1999, 102, 5000])
    header, arrays = index._store.state()
    return json.loads(json.dumps(header)), {name: np.array(array) for name, array in arrays.items()}


def use(index, rng):
    """Every call that reads or moves codes."""
    layout = index.layout
    queries = layout.pack(draw(rng, layout, 9))
    for codes in (queries, queries[:1]):
        index.search(codes, 20)
        index.search_radius(codes, 2)
        index.search(codes, 3, weights=np.ones(layout.n_symbols))
    index.search_scores(rng.normal(size=(3, layout.n_symbols, layout.arity)), 5)
    index.get(index.ids[:9])
    index.upsert(queries[:4], index.ids[:4] if len(index) >= 4 else np.arange(4))
    index.add(layout.pack(draw(rng, layout, 300)))
    index.remove(index.ids[:50])
    index.compact()
    index.search(queries, 20)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("arity", ARITIES)
def test_symbols_beyond_the_arity_are_refused_or_do_no_harm(arity, kind, tmp_path):
    layout = CodeLayout(13, arity)
    header, arrays = contents(kind, layout, 0)
    arrays["blocks"][:] = 0xFF
    _files.write_file(tmp_path / "index", arrays, {"index": kind, **header}, kind="index")
    if arity & (arity - 1):
        with pytest.raises(FileFormatError, match=f"not below the arity {arity}"):
            KINDS[kind].load(tmp_path / "index")
    for mmap in (False, True):
        index = KINDS[kind].load(tmp_path / "index", mmap=mmap, verify=False)
        use(index, np.random.default_rng(1))
        index.save(tmp_path / "again")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("arity", ARITIES)
def test_random_contents_with_honest_checksums_are_refused_or_do_no_harm(arity, kind, tmp_path):
    layout = CodeLayout(13, arity)
    header, original = contents(kind, layout, 2)
    opened = 0
    for seed in range(24):
        rng = np.random.default_rng(seed)
        arrays = {name: array.copy() for name, array in original.items()}
        for name in rng.choice(sorted(arrays), 2):
            flat = arrays[name].reshape(-1).view(np.uint8)
            places = rng.integers(0, max(flat.size, 1), rng.integers(1, 40) if flat.size else 0)
            flat[places] = rng.integers(0, 256, len(places))
        _files.write_file(tmp_path / "index", arrays, {"index": kind, **header}, kind="index")
        try:
            index = KINDS[kind].load(tmp_path / "index", mmap=bool(seed % 2), verify=bool(seed % 3))
            opened += 1
            use(index, rng)
            index.save(tmp_path / "again")
            KINDS[kind].load(tmp_path / "again", verify=False)
        except RankhashError:
            continue
    assert opened > 0
