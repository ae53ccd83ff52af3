"""Files of a LookupIndex: the same on every machine, and refused where they contradict themselves."""

from __future__ import annotations

import json

import numpy as np
import pytest

from rankhash import (
    CodeLayout,
    FileFormatError,
    FlatIndex,
    LookupIndex,
    _files,
    _kernels,
    cpu_info,
    open_index,
)

from .eager import Eager, clustered
from .model import assert_same


def test_a_saved_index_holds_nothing_of_the_machine(rng, tmp_path):
    layout, before = CodeLayout(32, 4), cpu_info().isa
    codes = clustered(rng, layout, 20_000)
    for name in ("scalar", before):
        _kernels.use_isa(name)
        try:
            index = LookupIndex(layout)
            index.add(codes)
            index.search(codes[:3], 10)
            index.save(tmp_path / name)
        finally:
            _kernels.use_isa(before)
    assert (tmp_path / "scalar").read_bytes() == (tmp_path / before).read_bytes()


def test_files_of_older_versions_get_their_costs_measured(rng, tmp_path):
    layout = CodeLayout(32, 4)
    index = LookupIndex(layout)
    codes = clustered(rng, layout, 20_000)
    index.add(codes)
    header, arrays = index._store.state()
    header["costs"] = {"n_codes": 16384, "tries": [[1, 1e9, 1e9]]}
    _files.write_file(tmp_path / "index", arrays, {"index": "tables", **header}, kind="index")
    opened = LookupIndex.load(tmp_path / "index")
    assert_same(opened.search(codes[:9], 10), index.search(codes[:9], 10))
    assert opened._store.state()[0]["costs"]["samples"]


@pytest.mark.parametrize("make", [FlatIndex, LookupIndex, Eager])
def test_open_index_opens_either_kind(rng, tmp_path, make):
    layout = CodeLayout(32, 4, "abc")
    index = make(layout)
    index.add(clustered(rng, layout, 700))
    index.save(tmp_path / "index")
    for mmap in (False, True):
        opened = open_index(tmp_path / "index", mmap=mmap)
        assert opened.kind == index.kind
        assert_same(opened.search(index.get([3]), 9), index.search(index.get([3]), 9))
    other = FlatIndex if index.kind == "tables" else LookupIndex
    with pytest.raises(FileFormatError, match=f"does not hold a {other.__name__}"):
        other.load(tmp_path / "index")


def contradictions():
    yield "start", lambda header, _: header["segments"][0].update(start=256)
    yield "size", lambda header, _: header["segments"][0].update(size=10**12)
    yield "ragged", lambda header, _: header["segments"][0].update(size=255)
    yield "spans", lambda header, _: header["segments"][0].update(spans=[[0, 40]])
    yield "overlap", lambda header, _: header["segments"][0].update(spans=[[0, 4], [2, 4]])
    yield "none", lambda header, _: header["segments"][0].update(spans=[])
    yield "text", lambda header, _: header.update(segments="x")
    yield "n_tables", lambda header, _: header.update(n_tables=0)
    yield "costs", lambda header, _: header.update(costs={"n_codes": "x", "samples": []})
    yield "sample", lambda header, _: header.update(costs={"n_codes": 600, "samples": [[1, [-1.0]]]})
    yield "falling", lambda _, arrays: arrays["segment0.table0.offsets"][1:-1].__imul__(0).__iadd__(999)
    yield "beyond", lambda _, arrays: arrays["segment0.table0.offsets"].__setitem__(3, 2**31)
    yield "short", lambda _, arrays: arrays.update({"segment0.table0.rows": np.zeros(9, np.uint8)})
    yield "type", lambda _, arrays: arrays.update({"segment0.table0.places": np.zeros(512, np.int32)})
    yield "lost", lambda _, arrays: arrays.pop("segment0.table1.places")
    yield "changed", lambda _, arrays: arrays.update(changed=np.array([512]))
    yield "repeated", lambda _, arrays: arrays.update(changed=np.array([3, 3]))


@pytest.mark.parametrize("change", [pytest.param(change, id=name) for name, change in contradictions()])
def test_a_file_that_contradicts_itself_is_refused(rng, change, tmp_path):
    layout = CodeLayout(32, 4)
    index = Eager(layout)
    index.add(clustered(rng, layout, 600))
    header, arrays = index._store.state()
    header = json.loads(json.dumps(header))
    arrays = {name: array.copy() for name, array in arrays.items()}
    change(header, arrays)
    _files.write_file(tmp_path / "index", arrays, {"index": "tables", **header}, kind="index")
    with pytest.raises(FileFormatError, match="is inconsistent"):
        Eager.load(tmp_path / "index")


def test_places_beyond_the_segment_are_passed_over(rng, tmp_path):
    """They are not looked at when a file is opened, since that would read all of it."""
    layout = CodeLayout(32, 4)
    index = Eager(layout)
    index.add(clustered(rng, layout, 600))
    header, arrays = index._store.state()
    arrays = {name: array.copy() for name, array in arrays.items()}
    for name in arrays:
        if name.endswith("places"):
            arrays[name][:] = 2**32 - 1
    _files.write_file(tmp_path / "index", arrays, {"index": "tables", **header}, kind="index")
    assert Eager.load(tmp_path / "index").search(index.get([0]), 5).ids.shape == (1, 5)
