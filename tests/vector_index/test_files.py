"""Files: good ones give the same index, damaged and hostile ones an error, never a crash."""

from __future__ import annotations

import numpy as np
import pytest

from rankhash import CodeLayout, FileFormatError, FlatIndex, VectorIndex

from .brute import METRICS, clustered


def put(name, place, value):
    """A change of one element of an array."""

    def change(_, arrays):
        arrays[name][place] = value

    return change


def replace(name, make):
    """A change of a whole array."""

    def change(_, arrays):
        arrays[name] = np.ascontiguousarray(make(arrays[name]))

    return change


def head(**entries):
    return lambda header, _: header.update(entries)


ARRAYS = ["ids", "vectors", "quantizer", "center", "centroids", "exponents", "radii"]
ARRAYS += [f"cell_{name}" for name in ("first_block", "capacity", "sizes", "blocks", "rows")]

HOSTILE = {
    "rows beyond the vectors": put("cell_rows", (0, 0), 5000),
    "rows far beyond": put("cell_rows", (0, 0), 2**32 - 1),
    "sizes beyond the capacity": put("cell_sizes", 3, 2**31 - 1),
    "negative sizes": put("cell_sizes", 3, -1),
    "capacity beyond the file": put("cell_capacity", 3, 2**62),
    "negative capacity": put("cell_capacity", 3, -1),
    "first block beyond the file": put("cell_first_block", 3, 2**62),
    "negative first block": put("cell_first_block", 3, -(2**62)),
    "fewer blocks": replace("cell_blocks", lambda a: a[:-1]),
    "fewer rows": replace("cell_rows", lambda a: a[:-1]),
    "longer codes": replace("cell_blocks", lambda a: np.repeat(a, 2, axis=1)),
    "narrower blocks": replace("cell_blocks", lambda a: a[:, :, :16]),
    "fewer sizes": replace("cell_sizes", lambda a: a[:-1]),
    "other type of sizes": replace("cell_sizes", lambda a: a.astype(np.int64)),
    "other type of rows": replace("cell_rows", lambda a: a.astype(np.int32)),
    "fewer centroids": replace("centroids", lambda a: a[:-1]),
    "no centroids": replace("centroids", lambda a: a[:0]),
    "centroids of another dimension": replace("centroids", lambda a: a[:, :-1]),
    "NaN in a centroid": put("centroids", (2, 2), np.nan),
    "infinite centre": put("center", 0, np.inf),
    "radii of zero": put("radii", 0, 0.0),
    "huge exponents": put("exponents", 0, 1000),
    "fewer vectors": replace("vectors", lambda a: a[:-1]),
    "vectors of another dimension": replace("vectors", lambda a: a[:, :-1]),
    "vectors of another type": replace("vectors", lambda a: a.astype(np.float16)),
    "ids twice": put("ids", 1, 0),
    "negative ids": put("ids", 1, -7),
    "fewer ids": replace("ids", lambda a: a[:-1]),
    "ids of another type": replace("ids", lambda a: a.astype(np.int32)),
    "a quantiser of noise": replace("quantizer", lambda a: a[::-1]),
    "half a quantiser": replace("quantizer", lambda a: a[: len(a) // 2]),
    "a flat calibration": replace("calibration", lambda a: a.ravel()),
    "NaN in the calibration": put("calibration", (0, 4), np.nan),
    "k of 0 in the calibration": put("calibration", (0, 0), 0),
    "dimension 0": head(n_features=0),
    "dimension as text": head(n_features="12"),
    "another dimension": head(n_features=13),
    "no options": head(options={}),
    "options as text": head(options="many"),
    "unknown options": head(options={"speed": 3}),
}


@pytest.mark.parametrize("change", HOSTILE.values(), ids=HOSTILE)
@pytest.mark.parametrize("mmap", [False, True])
def test_a_hostile_file_is_refused(rewritten, change, mmap):
    with pytest.raises(FileFormatError, match="changed"):
        VectorIndex.load(rewritten(change), mmap=mmap)


@pytest.mark.parametrize("name", ARRAYS)
def test_a_file_without_one_of_its_arrays_is_refused(rewritten, name):
    with pytest.raises(FileFormatError, match="changed"):
        VectorIndex.load(rewritten(lambda _, arrays: arrays.pop(name)))


@pytest.mark.parametrize("name", ["options", "n_features", "n_learned", "learned"])
def test_a_file_without_one_of_its_facts_is_refused(rewritten, name):
    with pytest.raises(FileFormatError, match="changed"):
        VectorIndex.load(rewritten(lambda header, _: header.pop(name)))


@pytest.mark.parametrize("name", [*METRICS, "codes"])
def test_a_file_that_was_only_rewritten_loads(rewritten, learned, queries, name):
    index = VectorIndex.load(rewritten(lambda *_: None, name))
    np.testing.assert_array_equal(index.search(queries).ids, learned(name).search(queries).ids)


@pytest.mark.parametrize("where", [0, 9, 0.3, 0.6, 0.99])
def test_a_flipped_byte_is_noticed(files, tmp_path, where):
    content = bytearray(files["euclidean"].read_bytes())
    content[where if isinstance(where, int) else int(where * len(content))] ^= 0x55
    path = tmp_path / "flipped.rankhash"
    path.write_bytes(content)
    with pytest.raises(FileFormatError):
        VectorIndex.load(path)


@pytest.mark.parametrize("share", [0, 0.01, 0.5, 0.999])
def test_a_file_that_is_cut_off_is_refused(files, tmp_path, share):
    content = files["euclidean"].read_bytes()
    path = tmp_path / "short.rankhash"
    path.write_bytes(content[: int(share * len(content))])
    for mmap in (False, True):
        with pytest.raises(FileFormatError):
            VectorIndex.load(path, mmap=mmap)


def test_files_of_other_kinds_are_refused(tmp_path, files):
    other = FlatIndex(CodeLayout(8, 4))
    other.add(np.zeros((3, 2), np.uint8))
    other.save(tmp_path / "flat.rankhash")
    with pytest.raises(FileFormatError, match=r"flat\.rankhash"):
        VectorIndex.load(tmp_path / "flat.rankhash")
    with pytest.raises(FileFormatError):
        FlatIndex.load(files["dot"])


@pytest.mark.parametrize("dtype", ["float32", "float16", "int8", None])
@pytest.mark.parametrize("mmap", [False, True])
def test_an_index_is_the_same_after_saving_and_loading(tmp_path, dtype, mmap):
    X, Q = clustered(3, 900), clustered(4, 20)
    index = VectorIndex("cosine", vectors=dtype, recall=0.9, random_state=5)
    index.add(X, np.arange(900)[::-1] * 3)
    index.remove([3, 300])
    index.save(tmp_path / "index.rankhash")
    loaded = VectorIndex.load(tmp_path / "index.rankhash", mmap=mmap)
    assert loaded.describe() == index.describe()
    assert repr(loaded) == repr(index)
    np.testing.assert_array_equal(loaded.ids, index.ids)
    np.testing.assert_array_equal(loaded.get(index.ids), index.get(index.ids))
    assert loaded.add(X[:5]).tolist() == index.add(X[:5]).tolist()
    np.testing.assert_array_equal(loaded.search(Q).ids, index.search(Q).ids)
    np.testing.assert_array_equal(loaded.search(Q).distances, index.search(Q).distances)


def test_a_failed_save_leaves_the_old_file(tmp_path, learned, monkeypatch):
    path = tmp_path / "index.rankhash"
    learned("dot").save(path)
    before = path.read_bytes()
    monkeypatch.setattr(
        "rankhash._files._writing.save_file", lambda *_, **__: (_ for _ in ()).throw(OSError(28, "full"))
    )
    with pytest.raises(Exception, match="full"):
        learned("cosine").save(path)
    assert path.read_bytes() == before
    assert [child.name for child in tmp_path.iterdir()] == ["index.rankhash"]
