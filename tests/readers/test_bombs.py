"""Small files that say they hold far more are refused before memory is taken, on every way in."""

from __future__ import annotations

import zipfile

import numpy as np
import pytest
from scipy.io import savemat

from rankhash import InvalidInputError
from rankhash.datasets import load_dataset
from rankhash.readers import limits, open_vectors, parquet, read_arrays

N = 4_000_000


@pytest.fixture(autouse=True)
def small_limit(monkeypatch):
    """A megabyte instead of a gigabyte, so that bombs are quickly made."""
    monkeypatch.setattr(limits, "ALWAYS", 1 << 20)


def npz(path):
    np.savez_compressed(path, X=np.zeros((N // 16, 16), np.float32))


def hdf5(path):
    h5py = pytest.importorskip("h5py")
    with h5py.File(path, "w") as file:
        file.create_dataset("X", (N // 16, 16), np.float32, chunks=(1000, 16), compression="gzip")


def parquet_rows(path):
    arrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet as writer

    writer.write_table(arrow.table({"a": np.zeros(N, np.float32)}), path, compression="zstd")


def parquet_list(path):
    arrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet as writer

    ends = arrow.array([0, N], arrow.int32())
    lists = arrow.ListArray.from_arrays(ends, arrow.array(np.zeros(N, np.uint8)))
    writer.write_table(arrow.table({"vector": lists}), path, compression="zstd")


BOMBS = {"x.npz": npz, "x.h5": hdf5, "rows.parquet": parquet_rows, "list.parquet": parquet_list}


@pytest.mark.parametrize("name", BOMBS)
def test_a_file_that_claims_far_more_than_its_size_is_refused(tmp_path, name):
    path = tmp_path / name
    BOMBS[name](path)
    assert path.stat().st_size < 40_000
    with pytest.raises(InvalidInputError, match="raise max_bytes"):
        open_vectors(path)
    if path.suffix != ".parquet":
        with pytest.raises(InvalidInputError, match="raise max_bytes"):
            read_arrays(path)


@pytest.mark.parametrize("name", ["x.npz", "x.h5", "rows.parquet"])
def test_a_caller_can_raise_the_limit(tmp_path, name):
    path = tmp_path / name
    BOMBS[name](path)
    data = open_vectors(path, max_bytes=1 << 30)
    assert np.prod(data.shape) == N
    assert next(iter(data)).vectors.sum() == 0


def test_a_caller_can_lower_the_limit(tmp_path):
    np.savez(tmp_path / "x.npz", X=np.zeros((1000, 64), np.float32))
    assert open_vectors(tmp_path / "x.npz").shape == (1000, 64)
    with pytest.raises(InvalidInputError, match="limit of 1,000"):
        open_vectors(tmp_path / "x.npz", max_bytes=1000)
    with pytest.raises(InvalidInputError, match="limit of 1,000"):
        read_arrays(tmp_path / "x.npz", max_bytes=1000)


def test_an_archive_cannot_say_less_than_it_holds(tmp_path):
    """zipfile reads no more than the directory says, and an array that is longer is cut off."""
    npz(tmp_path / "x.npz")
    data = bytearray((tmp_path / "x.npz").read_bytes())
    size = (16 * N // 16 * 4 + 128).to_bytes(4, "little")
    assert data.count(size) >= 1
    (tmp_path / "x.npz").write_bytes(data.replace(size, (200).to_bytes(4, "little")))
    with pytest.raises((InvalidInputError, zipfile.BadZipFile), match=r"cut off|readable|raise max_bytes"):
        open_vectors(tmp_path / "x.npz").read()
    with pytest.raises(InvalidInputError, match=r"cut off|readable"):
        read_arrays(tmp_path / "x.npz")


def test_long_texts_of_a_dictionary_are_read_few_at_a_time(tmp_path, monkeypatch):
    arrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet as writer

    monkeypatch.setattr(parquet, "DICTIONARY_BYTES", 1 << 20)
    n = 20_000
    texts = arrow.DictionaryArray.from_arrays(arrow.array(np.zeros(n, np.int32)), arrow.array(["x" * 100_000]))
    vectors = arrow.FixedSizeListArray.from_arrays(arrow.array(np.zeros(2 * n, np.float32)), 2)
    writer.write_table(arrow.table({"vector": vectors, "text": texts}), tmp_path / "text.parquet", compression="zstd")
    block = next(iter(open_vectors(tmp_path / "text.parquet")))
    assert 1 <= len(block.vectors) <= 10
    assert len(block.metadata[0]["text"]) == 100_000


def matrix_market(path):
    path.write_text("%%MatrixMarket matrix coordinate real general\n20000 20000 1\n1 1 1.0\n")


def matlab(path):
    savemat(path, {"X": np.zeros((N // 16, 16))}, do_compression=True)


@pytest.mark.parametrize(("name", "write"), [("x.mtx", matrix_market), ("x.mat", matlab)])
def test_a_data_set_that_claims_far_more_than_its_size_is_refused(tmp_path, name, write):
    path = tmp_path / name
    write(path)
    assert path.stat().st_size < 100_000
    with pytest.raises(InvalidInputError, match="more than the limit"):
        load_dataset(path)
