"""Files of vectors: every format gives the same blocks, and damage is one clear error."""

from __future__ import annotations

import io
import json
import struct
import sys
import zipfile

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rankhash import InvalidInputError
from rankhash.readers import FORMATS, open_vectors

X = np.random.default_rng(0).normal(size=(65, 7)).astype(np.float32)
BYTES = np.random.default_rng(0).integers(0, 256, (65, 7), dtype=np.uint8)


def write_vecs(path, array):
    with open(path, "wb") as file:
        for row in array:
            file.write(struct.pack("<i", len(row)) + row.tobytes())


def write_hdf(path):
    with h5py.File(path, "w") as file:
        file["train"] = X


def write_jsonl(path):
    path.write_text("\n\n".join(json.dumps(row.tolist()) for row in X) + "\n")


WRITERS = {
    "x.npy": lambda path: np.save(path, X),
    "x.npz": lambda path: np.savez_compressed(path, X=X, y=np.zeros(65)),
    "x.fvecs": lambda path: write_vecs(path, X),
    "x.bvecs": lambda path: write_vecs(path, BYTES),
    "x.hdf5": write_hdf,
    "x.h5": write_hdf,
    "x.parquet": lambda path: pq.write_table(pa.table({"v": pa.array(list(X), pa.list_(pa.float32()))}), path),
    "x.csv": lambda path: np.savetxt(path, X, delimiter=",", fmt="%.9g"),
    "x.jsonl": write_jsonl,
}


@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.parametrize("step", [1, 64, 65, 66, None])
def test_blocks_hold_all_rows_in_order(tmp_path, name, step):
    path = tmp_path / name
    WRITERS[name](path)
    data = open_vectors(path)
    expected = BYTES if name == "x.bvecs" else X
    assert data.n_features == 7
    assert data.n_rows in (65, None)
    assert data.dtype == expected.dtype
    for _ in range(2):
        blocks = [block.vectors for block in data.blocks(step)]
        assert all(len(block) == (step or 65) for block in blocks[:-1])
        np.testing.assert_array_equal(np.concatenate(blocks), expected)
    np.testing.assert_array_equal(data.read(30), expected[:30])
    np.testing.assert_array_equal(data.read(), expected)


def test_every_format_is_tested():
    assert {f"x{suffix}" for suffix in FORMATS if suffix != "-"} == {*WRITERS}


def test_standard_input_is_read_once(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO('{"id": "a", "vector": [1, 2]}\n{"id": 3, "vector": [0, 1e3]}\n'))
    data = open_vectors("-")
    (block,) = data
    assert block.vectors.tolist() == [[1, 2], [0, 1000]]
    assert block.ids == ["a", 3]
    with pytest.raises(InvalidInputError, match="only once"):
        list(data)


def test_json_lines_carry_ids_and_metadata(tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_text('{"id": 1, "vector": [1], "metadata": {"a": 2}}\n{"id": 2, "vector": [3]}\n')
    (block,) = open_vectors(path)
    assert block.ids == [1, 2]
    assert block.metadata == [{"a": 2}, None]


def test_csv_columns_are_named_by_the_first_line(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text('id,a,year,b,name\n007,1,1999,2,"x, y"\n8,3,2000.5,4,z\n')
    (block,) = open_vectors(path, metadata=["year", "name"])
    assert block.vectors.tolist() == [[1, 2], [3, 4]]
    assert block.ids == ["007", 8]
    assert block.metadata == [{"name": "x, y", "year": 1999}, {"name": "z", "year": 2000.5}]


def test_parquet_tables_may_be_wide_or_hold_lists(tmp_path):
    wide, lists = tmp_path / "wide.parquet", tmp_path / "lists.parquet"
    pq.write_table(pa.table({"id": ["p", "q"], "a": [1, 2], "b": [3.5, 4], "kind": ["u", "v"]}), wide)
    (block,) = open_vectors(wide, metadata=["kind"])
    assert block.vectors.tolist() == [[1, 3.5], [2, 4]]
    assert (block.ids, block.metadata) == (["p", "q"], [{"kind": "u"}, {"kind": "v"}])
    vectors = pa.array([[1.0, 2], [3, 4]], pa.list_(pa.float64(), 2))
    pq.write_table(pa.table({"id": [5, 6], "v": vectors, "metadata": ['{"k": [1]}', None]}), lists)
    (block,) = open_vectors(lists)
    assert block.vectors.tolist() == [[1, 2], [3, 4]]
    assert (block.ids, block.metadata) == ([5, 6], [{"k": [1]}, None])


def test_arrays_by_column_are_read_by_row(tmp_path):
    np.save(tmp_path / "x.npy", np.asfortranarray(X))
    np.testing.assert_array_equal(open_vectors(tmp_path / "x.npy").read(), X)
    np.savez(tmp_path / "x.npz", np.asfortranarray(X))
    with pytest.raises(InvalidInputError, match="ascontiguousarray"):
        open_vectors(tmp_path / "x.npz")


def test_the_key_chooses(tmp_path):
    np.savez(tmp_path / "x.npz", a=X, b=2 * X)
    np.testing.assert_array_equal(open_vectors(tmp_path / "x.npz", "b").read(), 2 * X)
    with pytest.raises(InvalidInputError, match="a, b"):
        open_vectors(tmp_path / "x.npz")
    with pytest.raises(InvalidInputError, match="no array 'c'; there are a, b"):
        open_vectors(tmp_path / "x.npz", "c")


BAD = {
    "a.txt": (b"", "ends with one of"),
    "a.npy": (b"nothing", "not a readable NumPy array"),
    "a.npz": (b"nothing", "not a readable .npz"),
    "a.fvecs": (b"\3\0\0\0aaaa", "cut off"),
    "b.fvecs": (b"", "cut off"),
    "a.hdf5": (b"nothing", "not a readable HDF5"),
    "a.parquet": (b"nothing", "not a readable Parquet"),
    "a.csv": (b"1,2\n3\n", "1 numbers in line 2, but 2 in the first"),
    "b.csv": (b"x,y\n1,red\n", "'red' in line 2"),
    "c.csv": (b"", "no vectors"),
    "d.csv": (b"1,\xff\n", "not UTF-8"),
    "a.jsonl": (b"[1, 2]\n[1, 2\n", "not JSON in line 2"),
    "b.jsonl": (b'[1, "2"]\n', "array of numbers.* in line 1"),
    "c.jsonl": (b'{"vector": [1], "colour": 3}\n', "unknown key 'colour'"),
    "d.jsonl": (b'{"vector": [1], "id": 1.5}\n', "neither an integer nor text"),
    "e.jsonl": (b'{"vector": [1], "metadata": 3}\n', "not an object"),
    "f.jsonl": (b'{"vector": [1], "id": 1}\n[2]\n', "some items by an id but not all"),
    "g.jsonl": (b"[]\n", "1 to 1048576"),
    "h.jsonl": (b"[" * 100_000, "not JSON"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_files_are_refused_with_a_sentence(tmp_path, name):
    content, message = BAD[name]
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(InvalidInputError, match=message):
        open_vectors(path).read()


@pytest.mark.parametrize("shape", [(1, 1 << 40), (1 << 40, 8), (1 << 62, 1 << 62)])
def test_a_header_that_promises_too_much_takes_no_memory(tmp_path, shape):
    head = io.BytesIO()
    np.lib.format.write_array_header_1_0(head, {"descr": "<f4", "fortran_order": False, "shape": shape})
    (tmp_path / "x.npy").write_bytes(head.getvalue() + b"\0" * 64)
    with zipfile.ZipFile(tmp_path / "x.npz", "w") as archive:
        archive.writestr("x.npy", head.getvalue() + b"\0" * 64)
    for name in ("x.npy", "x.npz"):
        with pytest.raises(InvalidInputError):
            open_vectors(tmp_path / name).read()


def test_objects_and_other_ranks_are_refused(tmp_path):
    for array, message in [(np.array([[None]]), "numbers"), (X[0], "2D"), (X[None], "2D"), (X.astype(str), "numbers")]:
        np.save(tmp_path / "x.npy", array, allow_pickle=True)
        with pytest.raises(InvalidInputError, match=message):
            open_vectors(tmp_path / "x.npy")


@pytest.mark.parametrize("name", sorted({*WRITERS} - {"x.csv", "x.jsonl"}))
def test_a_file_that_is_cut_off_is_refused(tmp_path, name):
    path = tmp_path / name
    WRITERS[name](path)
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(InvalidInputError):
        open_vectors(path).read()


@pytest.mark.parametrize(("module", "name"), [("h5py", "x.hdf5"), ("pyarrow", "x.parquet")])
def test_a_missing_library_is_named(tmp_path, monkeypatch, module, name):
    WRITERS[name](tmp_path / name)
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(InvalidInputError, match=rf"needs {module}: pip install 'rankhash\[data\]'"):
        open_vectors(tmp_path / name)
