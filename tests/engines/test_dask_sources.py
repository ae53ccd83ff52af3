"""Where the codes of a DaskIndex come from: arrays, and files in several forms."""

from __future__ import annotations

import dask.array as da
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zarr

from index.model import assert_same
from rankhash import CodeLayout, FileFormatError, FlatIndex, IdError, InvalidInputError, LayoutMismatchError
from rankhash.engines.dask import DaskIndex

from .test_dask_index import LAYOUT, codes_of


def test_codes_from_npy_and_zarr(client, rng, tmp_path):
    codes = codes_of(rng, LAYOUT, 500)
    flat = FlatIndex(LAYOUT)
    flat.add(codes)
    (tmp_path / "blocks").mkdir()
    for i, start in enumerate(range(0, 500, 128)):
        np.save(tmp_path / "blocks" / f"{i}.npy", codes[start : start + 128])
    zarr.create_array(str(tmp_path / "codes.zarr"), data=codes, chunks=(200, LAYOUT.n_bytes))
    np.save(tmp_path / "one.npy", codes)
    for index in (
        DaskIndex.from_files(tmp_path / "blocks", LAYOUT, client=client),
        DaskIndex.from_files([tmp_path / "one.npy"], LAYOUT, client=client),
        DaskIndex.from_array(da.from_zarr(str(tmp_path / "codes.zarr")), LAYOUT, client=client),
    ):
        assert_same(index.search(codes[:9], 12), flat.search(codes[:9], 12))


def as_bytes(codes):
    return pa.array([row.tobytes() for row in codes], pa.binary())


@pytest.mark.parametrize("with_ids", [True, False])
@pytest.mark.parametrize("layout", [LAYOUT, CodeLayout(40, 4), CodeLayout(3, 3)], ids=str)
def test_codes_from_parquet(client, rng, tmp_path, layout, with_ids):
    codes, ids = codes_of(rng, layout, 400), rng.permutation(1000)[:400]
    flat = FlatIndex(layout)
    flat.add(codes, ids if with_ids else None)
    for part in range(2):
        rows = slice(200 * part, 200 * part + 200)
        columns = {"code": as_bytes(codes[rows]), "metadata": [None] * 200}
        table = pa.table(columns | ({"id": ids[rows]} if with_ids else {}))
        pq.write_table(table, tmp_path / f"{part}.parquet", row_group_size=64)
    index = DaskIndex.from_files(tmp_path, layout, client=client)
    assert_same(index.search(codes[:9], 12), flat.search(codes[:9], 12))


def test_codes_that_a_flat_index_exported(client, rng, tmp_path):
    codes, ids = codes_of(rng, LAYOUT, 400), rng.permutation(1000)[:400]
    flat = FlatIndex(LAYOUT)
    flat.add(codes, ids)
    assert flat.export_file(tmp_path / "codes.parquet") == 400
    index = DaskIndex.from_files([tmp_path / "codes.parquet"], LAYOUT, client=client)
    assert_same(index.search(codes[:9], 12), flat.search(codes[:9], 12))


def write_bad_files(folder, codes):
    """Files that are no codes of LAYOUT, by what is wrong with them."""
    few = as_bytes(codes[:2])
    np.save(folder / "wide.npy", np.zeros((3, 9), np.uint8))
    np.save(folder / "float.npy", np.zeros((3, 8)))
    np.save(folder / "objects.npy", np.array([{}], object), allow_pickle=True)
    whole = (folder / "wide.npy").read_bytes()
    (folder / "cut.npy").write_bytes(whole[:-5])
    (folder / "junk.npy").write_bytes(b"\x93NUMPY\x01\x00junk")
    (folder / "junk.parquet").write_bytes(b"PAR1junkPAR1")
    pq.write_table(pa.table({"codes": few}), folder / "unnamed.parquet")
    pq.write_table(pa.table({"code": as_bytes(codes[:, :7])}), folder / "short.parquet")
    pq.write_table(pa.table({"code": pa.array([None, b"12345678"])}), folder / "null.parquet")
    pq.write_table(pa.table({"code": [1, 2]}), folder / "numbers.parquet")
    pq.write_table(pa.table({"code": few, "id": ["a", "b"]}), folder / "text.parquet")
    foreign = pa.table({"code": few}).replace_schema_metadata({"rankhash": "0123456789abcdef"})
    pq.write_table(foreign, folder / "foreign.parquet")


def test_bad_files_get_one_clear_sentence(client, rng, tmp_path):
    write_bad_files(tmp_path, codes_of(rng, LAYOUT, 20))
    layout = CodeLayout(32, 4, "fedcba9876543210")
    for name, error, match in [
        ("wide.npy", LayoutMismatchError, r"wide.npy: .*shape"),
        ("float.npy", LayoutMismatchError, r"float.npy: .*integers"),
        ("objects.npy", FileFormatError, "objects.npy holds Python objects"),
        ("cut.npy", FileFormatError, "cut.npy is cut off"),
        ("junk.npy", FileFormatError, "junk.npy is not a readable"),
        ("junk.parquet", FileFormatError, "junk.parquet is not a readable"),
        ("unnamed.parquet", LayoutMismatchError, "column 'code'"),
        ("short.parquet", LayoutMismatchError, "8 bytes each"),
        ("null.parquet", LayoutMismatchError, "8 bytes each"),
        ("numbers.parquet", LayoutMismatchError, "8 bytes each"),
        ("text.parquet", IdError, "text.parquet: ids must be integers"),
        ("foreign.parquet", LayoutMismatchError, "made by the hasher 0123456789abcdef"),
        ("codes.txt", InvalidInputError, "codes.txt"),
        ("missing.npy", FileNotFoundError, "missing.npy"),
    ]:
        with pytest.raises(error, match=match):
            DaskIndex.from_files(tmp_path / name, layout, client=client)
    with pytest.raises(InvalidInputError, match="none"):
        DaskIndex.from_files([], layout, client=client)


def test_files_with_and_without_ids_do_not_go_together(client, rng, tmp_path):
    codes = codes_of(rng, LAYOUT, 20)
    np.save(tmp_path / "fine.npy", codes)
    pq.write_table(pa.table({"code": as_bytes(codes[:2]), "id": [3, 4]}), tmp_path / "ids.parquet")
    with pytest.raises(IdError, match="some shards have ids"):
        DaskIndex.from_files(tmp_path, LAYOUT, client=client)


def test_bad_arrays_get_one_clear_sentence(client, rng):
    codes = codes_of(rng, LAYOUT, 20)
    array = da.from_array(codes, chunks=(8, -1))
    for source, layout, ids, error, match in [
        (codes, LAYOUT, None, InvalidInputError, "dask array"),
        (array, CodeLayout(8, 4), None, LayoutMismatchError, "shape"),
        (array.astype(np.int16), LAYOUT, None, LayoutMismatchError, "uint8"),
        (da.full_like(array, 255), CodeLayout(16, 15), None, LayoutMismatchError, "in block"),
        (array, "x", None, InvalidInputError, "CodeLayout"),
        (array, LAYOUT, [1, 2], IdError, "one for each of 20"),
        (array, LAYOUT, np.zeros(20), IdError, "in block"),
    ]:
        with pytest.raises(error, match=match):
            DaskIndex.from_array(source, layout, ids=ids, client=client)
