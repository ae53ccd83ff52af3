"""Data sets: every form of file, downloads that are checked, and errors that say what to do."""

from __future__ import annotations

import gzip
import hashlib
import io
import urllib.error
import urllib.request

import h5py
import numpy as np
import pytest
from scipy.io import mmwrite, savemat
from scipy.sparse import csr_matrix

from rankhash import FileFormatError, InvalidInputError
from rankhash.datasets import known, load_dataset


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "rankhash"


@pytest.fixture
def web(monkeypatch):
    """Files by address; others cannot be reached."""
    files, asked = {}, []

    def urlopen(url, timeout):
        asked.append(url)
        if url not in files:
            raise urllib.error.URLError("no network")
        return io.BytesIO(files[url])

    monkeypatch.setattr(urllib.request, "urlopen", urlopen)
    return files, asked


X = np.arange(12, dtype=np.float32).reshape(4, 3)


def fvecs(path, kind):
    rows = [np.int32(3).tobytes() + row.astype(kind).tobytes() for row in X]
    path.write_bytes(b"".join(rows))


def write_hdf5(path):
    with h5py.File(path, "w") as file:
        file["train"], file["test"], file["neighbors"] = X, X[:2], np.array([[0], [1]])


FORMS = {
    "a.npy": lambda path: np.save(path, X),
    "a.npz": lambda path: np.savez(path, X=X, y=np.arange(4)),
    "parts.npz": lambda path: np.savez(path, x_train=X[:3], x_test=X[3:], y_train=[1, 2, 3], y_test=[4]),
    "a.fvecs": lambda path: fvecs(path, np.float32),
    "a.bvecs": lambda path: fvecs(path, np.uint8),
    "a.mat": lambda path: savemat(path, {"gist": X}),
    "a.mtx": lambda path: mmwrite(path, X),
    "sparse.mtx": lambda path: mmwrite(path, csr_matrix(X)),
    "plain.mtx": lambda path: path.write_text("4 3\n" + "\n".join(" ".join(map(str, row)) for row in X)),
    "a.hdf5": write_hdf5,
}


@pytest.mark.parametrize("name", FORMS)
def test_every_form_of_file_is_read(tmp_path, name):
    FORMS[name](tmp_path / name)
    data = load_dataset(str(tmp_path / name))
    np.testing.assert_array_equal(data.vectors, X)
    if name.endswith("npz"):
        assert len(data.labels) == 4
    if name.endswith("hdf5"):
        assert data.queries.shape == (2, 3)
        assert data.neighbors.tolist() == [[0], [1]]


@pytest.mark.parametrize("name", [name for name in FORMS if name not in ("sparse.mtx", "plain.mtx", "a.mtx")])
def test_a_file_that_is_cut_off_or_garbage_is_refused(tmp_path, name):
    path = tmp_path / name
    FORMS[name](path)
    whole = path.read_bytes()
    for damaged in (whole[: len(whole) // 2 - 1], b"", b"garbage" * 50):
        path.write_bytes(damaged)
        with pytest.raises((FileFormatError, InvalidInputError), match=name):
            load_dataset(str(path))


def test_a_matlab_file_of_version_73_is_read_transposed(tmp_path):
    path = tmp_path / "new.mat"
    with h5py.File(path, "w", userblock_size=512) as file:
        file["gist"] = X.T
    with path.open("rb+") as file:
        file.write(b"MATLAB 7.3 MAT-file")
    np.testing.assert_array_equal(load_dataset(str(path)).vectors, X)


def test_pickles_are_never_opened(tmp_path):
    np.save(tmp_path / "a.npy", np.array([{}], dtype=object), allow_pickle=True)
    with pytest.raises(FileFormatError, match=r"a\.npy"):
        load_dataset(str(tmp_path / "a.npy"))


def test_labels_of_another_length_are_refused(tmp_path):
    np.savez(tmp_path / "a.npz", X=X, y=np.arange(3))
    with pytest.raises(FileFormatError, match="4 vectors but 3 labels"):
        load_dataset(str(tmp_path / "a.npz"))


def test_mnist_is_downloaded_once_checked_and_kept(cache, web, monkeypatch):
    files, asked = web
    body = io.BytesIO()
    np.savez_compressed(body, x_train=np.zeros((60000, 28, 28), np.uint8), x_test=np.zeros((10000, 28, 28), np.uint8))
    files[known.MNIST + "mnist.npz"] = body.getvalue()
    with pytest.raises(FileFormatError, match="SHA-256 differs; nothing was kept"):
        load_dataset("mnist")
    assert list(cache.iterdir()) == []
    checksum = {"mnist.npz": hashlib.sha256(body.getvalue()).hexdigest()}
    monkeypatch.setitem(known.KNOWN, "mnist", known.replace(known.KNOWN["mnist"], files=checksum))
    assert load_dataset("mnist").vectors.shape == (70000, 784)
    assert load_dataset("mnist").image_shape == (28, 28)
    assert len(asked) == 2


def test_a_damaged_cache_is_downloaded_again(cache, web, monkeypatch):
    files, asked = web
    good = b"the file"
    small = known.Known(range(1, 2), 2, {"a.npz": hashlib.sha256(good).hexdigest()}, "http://x/")
    files["http://x/a.npz"] = good
    cache.mkdir(parents=True)
    (cache / "a.npz").write_bytes(b"damaged")
    assert known._cached("a", small, cache, "a.npz").read_bytes() == good
    assert asked == ["http://x/a.npz"]
    (cache / "a.npz").write_bytes(b"damaged")
    files.clear()
    with pytest.raises(InvalidInputError, match=r"is damaged there and cannot be downloaded .* by hand"):
        known._cached("a", small, cache, "a.npz")


@pytest.mark.parametrize("name", ["mnist", "fashion_mnist", "cifar10-gist", "labelme", "peekaboom"])
def test_without_a_network_the_error_says_which_file_to_put_where(cache, web, name):
    with pytest.raises(InvalidInputError) as caught:
        load_dataset(name)
    assert str(cache) in str(caught.value)
    assert next(iter(known.KNOWN[name].files)) in str(caught.value)


def test_a_file_of_the_user_has_the_shape_of_the_set(tmp_path, cache):
    np.save(tmp_path / "labelme.npy", np.zeros((22019, 512), np.float16))
    assert load_dataset("labelme", tmp_path).vectors.shape == (22019, 512)
    assert load_dataset("labelme", tmp_path / "labelme.npy").name == "labelme"
    np.save(tmp_path / "peekaboom.npy", np.zeros((22019, 512), np.float16))
    with pytest.raises(FileFormatError, match="57000 to 57999 vectors of 512 numbers, got 22019 of 512"):
        load_dataset("peekaboom", tmp_path)
    with pytest.raises(InvalidInputError, match=r"needs mnist\.npz in"):
        load_dataset("mnist", tmp_path)


def test_fashion_mnist_is_read_from_its_four_files(tmp_path):
    for part, n in (("train", 60000), ("t10k", 10000)):
        head = b"\0\0\x08\x03" + b"".join(size.to_bytes(4, "big") for size in (n, 28, 28))
        (tmp_path / f"{part}-images-idx3-ubyte.gz").write_bytes(gzip.compress(head + bytes(n * 784), 1))
        labels = b"\0\0\x08\x01" + n.to_bytes(4, "big") + bytes(n)
        (tmp_path / f"{part}-labels-idx1-ubyte.gz").write_bytes(gzip.compress(labels, 1))
    data = load_dataset("fashion_mnist", tmp_path)
    assert data.vectors.shape == (70000, 784)
    assert len(data.labels) == 70000
    (tmp_path / "t10k-labels-idx1-ubyte.gz").write_bytes(gzip.compress(b"\0\0\x08\x01" + bytes(9)))
    with pytest.raises(FileFormatError, match="damaged"):
        load_dataset("fashion_mnist", tmp_path)


def test_an_unknown_name_gets_the_nearest_suggested():
    with pytest.raises(InvalidInputError, match="did you mean fashion_mnist"):
        load_dataset("fashion-mnist")
