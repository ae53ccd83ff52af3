"""Damaged files of every kind, on every way in: an error of this package that names the file, or a whole answer."""

from __future__ import annotations

import os
import subprocess
import sys
import warnings

import numpy as np
import pytest
from scipy.io import mmwrite, savemat
from scipy.sparse import coo_array

from rankhash import Collection, RankhashError
from rankhash.cli import _dedup_images, _dedup_sources
from rankhash.datasets import load_dataset
from rankhash.duplicates import hash_images
from rankhash.integrations.folder import from_folder
from rankhash.integrations.qdrant import from_qdrant
from rankhash.readers import open_vectors, read_arrays

from .mutations import HASHER, X, files, mutated

N_CASES = int(os.environ.get("RANKHASH_MUTATIONS", "25"))
"""Damaged copies of each file"""


@pytest.fixture(scope="module")
def healthy(tmp_path_factory):
    pytest.importorskip("h5py")
    pytest.importorskip("pyarrow")
    return files(tmp_path_factory.mktemp("healthy"))


def imported(path, **options):
    made = {"hasher": HASHER} if "codes" in path.name else {"metric": "euclidean"}
    with Collection.create(None, **made) as items:
        items.import_file(path, **options)
        return len(items)


def described(path, **options):
    np.save(path.parent / "vectors.npy", X)
    return imported(path.parent / "vectors.npy", **options)


def beside(path):
    """The file as metadata of a folder of vectors."""
    for name in ("vectors", "fields"):
        (path.parent / name).mkdir(exist_ok=True)
    np.save(path.parent / "vectors" / "a.npy", X)
    (path.parent / "fields" / "a.parquet").write_bytes(path.read_bytes())
    from_folder(path.parent / "vectors", metadata=path.parent / "fields").close()


def hashes(path):
    for entry in _dedup_images._read(str(path)).values():
        _dedup_images._same(entry, {"size": 5, "time": 7})


def texts(path):
    _dedup_sources.kind_of(path)
    list(_dedup_sources._lines(path, "text"))


def ways(path):
    """Whatever reads a file of that name."""
    found = [lambda: imported(path)]
    if path.suffix in (".npz", ".h5", ".hdf5"):
        found += [lambda: open_vectors(path, "X").read(), lambda: read_arrays(path)]
    if path.suffix == ".npy":
        found.append(lambda: read_arrays(path))
    if path.suffix == ".parquet":
        found.append(lambda: beside(path))
    if path.suffix == ".jsonl":
        found.append(lambda: texts(path))
    fields = [
        lambda: described(path, metadata_file=path),
        lambda: described(path, metadata_file=path, id_column="name"),
    ]
    others = {
        "ids.txt": [lambda: described(path, ids_file=path)],
        **dict.fromkeys(["fields.csv", "fields.jsonl", "fields.parquet"], fields),
        "points.jsonl": [lambda: from_qdrant(path).close()],
        "hashes.jsonl": [lambda: hashes(path)],
    }
    return others.get(path.name, found)


NAMES = [
    *("rows.npy", "columns.npy", "stored.npz", "deflate.npz", "bzip2.npz", "lzma.npz", "plain.h5", "gzip.h5"),
    *("lzf.hdf5", "lists.parquet", "ragged.parquet", "wide.parquet", "codes.parquet", "fields.parquet"),
    *("x.fvecs", "x.bvecs"),
    *("named.jsonl", "plain.jsonl", "codes.jsonl", "points.jsonl", "hashes.jsonl", "fields.jsonl"),
    *("named.csv", "plain.csv", "fields.csv", "ids.txt"),
]


def test_every_kind_is_damaged(healthy):
    assert {*NAMES} == healthy.keys()


@pytest.mark.parametrize("name", NAMES)
def test_damaged_files_are_an_error_of_this_package(tmp_path, healthy, name):
    path = tmp_path / name
    said = []
    for seed in range(N_CASES):
        path.write_bytes(mutated(name, healthy[name], seed))
        for read in ways(path):
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", UserWarning)  # of codes without an indexed field
                    read()
            except RankhashError as error:
                said.append(str(error))
    assert max(map(len, said), default=0) < 1000
    assert not any("\n" in message for message in said)
    assert said or name in ("x.bvecs", "hashes.jsonl")


def matlab(path):
    savemat(path, {"X": X, "y": np.arange(40), "more": {"text": "abc"}}, do_compression=True)


@pytest.mark.parametrize(
    ("name", "write"),
    [("a.mat", matlab), ("a.mtx", lambda path: mmwrite(path, X)), ("b.mtx", lambda path: mmwrite(path, coo_array(X)))],
)
def test_damaged_data_sets_are_an_error_of_this_package(tmp_path, name, write):
    """SciPy's reader of Matrix Market files ends the process at one of them."""
    path = tmp_path / name
    write(path)
    data, refused = path.read_bytes(), 0
    for seed in range(max(N_CASES, 40)):
        path.write_bytes(mutated(f"{name}.csv" if name.endswith("mtx") else name, data, seed))
        try:
            load_dataset(path)
        except RankhashError:
            refused += 1
    assert refused > 10


@pytest.mark.parametrize("kind", ["bmp", "gif", "jpeg", "png", "ppm", "tiff", "webp"])
def test_damaged_images_are_listed(tmp_path, kind):
    image = pytest.importorskip("PIL.Image")
    path = tmp_path / f"image.{kind}"
    pixels = np.random.default_rng(0).integers(0, 256, (24, 30, 3)).astype(np.uint8)
    image.fromarray(pixels).save(path, kind)
    data = path.read_bytes()
    for seed in range(N_CASES):
        path.write_bytes(mutated(path.name, data, seed))
        found = hash_images([path])
        assert len(found.paths) + len(found.unreadable) == 1


def test_a_huge_image_is_listed(tmp_path):
    image = pytest.importorskip("PIL.Image")
    header = b"P4 60000 60000\n"
    (tmp_path / "huge.ppm").write_bytes(header + bytes(1000))
    image.new("L", (30, 20)).save(tmp_path / "fine.png")
    found = hash_images([tmp_path / "huge.ppm", tmp_path / "fine.png"])
    assert [path.name for path in found.paths] == ["fine.png"]
    assert [path.name for path, _ in found.unreadable] == ["huge.ppm"]


HISTOGRAM = """
import sys
from pathlib import Path
from rankhash import InvalidInputError
from rankhash.readers import open_vectors
data = Path(sys.argv[1]).read_bytes()
refused = 0
for place in range(len(data) - 8 - int.from_bytes(data[-8:-4], "little"), len(data) - 8):
    Path(sys.argv[1]).write_bytes(data[:place] + bytes([data[place] ^ 16]) + data[place + 1:])
    try:
        open_vectors(sys.argv[1]).read()
    except InvalidInputError:
        refused += 1
print(refused)
"""


def test_a_damaged_footer_does_not_end_the_process(tmp_path, healthy):
    """pyarrow ends it when it is asked for the facts of a column that contradict themselves."""
    path = tmp_path / "ragged.parquet"
    path.write_bytes(healthy["ragged.parquet"])
    done = subprocess.run([sys.executable, "-c", HISTOGRAM, path], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-500:]
    assert int(done.stdout) > 100
