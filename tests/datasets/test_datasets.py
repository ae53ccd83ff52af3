"""Data sets: every form of file, downloads that are checked, and errors that say what to do."""

from __future__ import annotations

import gzip
import hashlib
import io
import urllib.error
import urllib.request
import zipfile
from dataclasses import replace

import h5py
import numpy as np
import pytest
from scipy.io import mmwrite, savemat
from scipy.sparse import csr_matrix

from rankhash import FileFormatError, InvalidInputError
from rankhash.datasets import known, load_dataset
from rankhash.readers import open_vectors


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """An empty cache, and no package of Fashion-MNIST."""
    monkeypatch.setitem(known.KNOWN, "fashion_mnist", replace(known.KNOWN["fashion_mnist"], installed=""))
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
    "headerless.mtx": lambda path: np.savetxt(path, X, fmt="%16.7e"),
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


@pytest.mark.parametrize("name", [name for name in FORMS if not name.endswith(".mtx")])
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
    with pytest.raises(InvalidInputError, match=r"a\.npy holds Python objects"):
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
    np.save(tmp_path / "peekaboom.npy", np.zeros((20000, 512), np.float16))
    assert load_dataset("peekaboom", tmp_path).vectors.shape == (20000, 512)
    for shape in ((3999, 512), (20000, 40)):
        np.save(tmp_path / "peekaboom.npy", np.zeros(shape, np.float16))
        words = f"4000 to 999999 vectors of 512 numbers, got {shape[0]} of {shape[1]}"
        with pytest.raises(FileFormatError, match=words):
            load_dataset("peekaboom", tmp_path)
    with pytest.raises(InvalidInputError, match=r"needs mnist\.npz in"):
        load_dataset("mnist", tmp_path)


@pytest.fixture
def small(monkeypatch):
    """LabelMe and Peekaboom with 4 vectors of 3 numbers, so that tests can write their published forms."""
    for name in ("labelme", "peekaboom"):
        monkeypatch.setitem(known.KNOWN, name, known.replace(known.KNOWN[name], n_rows=range(4, 5), n_columns=3))


def write_gist(path):
    """As published: Gist descriptors together with indices, pixels, a similarity matrix and cells of names."""
    others = {"ndxtrain": np.arange(1, 4), "ndxtest": [[4]], "img": np.zeros((32, 32, 3, 4), np.uint8)}
    cells = np.array([["car", "tree"]], dtype=object)
    savemat(path, {**others, "DistLM": np.ones((4, 4)), "gist": X, "names": cells, "param": {"imageSize": 256}})


PUBLISHED = [
    ("labelme", "LabelMe_gist.mat", write_gist),
    ("peekaboom", "Peekaboom_gist.mat", write_gist),
    ("labelme", "labelme.mtx", FORMS["headerless.mtx"]),
    ("labelme", "LabelMe.mtx", FORMS["headerless.mtx"]),
    ("peekaboom", "peekaboom.mtx", FORMS["headerless.mtx"]),
]


@pytest.mark.parametrize(("name", "file", "write"), PUBLISHED, ids=[file for _, file, _ in PUBLISHED])
def test_labelme_and_peekaboom_are_read_as_published(tmp_path, cache, small, name, file, write):
    write(tmp_path / file)
    cache.mkdir(parents=True)
    write(cache / file)
    write(tmp_path / f"renamed{file[-4:]}")
    for path in (tmp_path, tmp_path / file, tmp_path / file[:-4], tmp_path / f"renamed{file[-4:]}", None):
        data = load_dataset(name, path)
        np.testing.assert_array_equal(data.vectors, X)
        assert (data.name, data.labels) == (name, None)


def test_the_error_says_where_a_missing_set_is_published(tmp_path, cache, small):
    (tmp_path / "LabelMe_gist.mat").mkdir()
    for path in (tmp_path, tmp_path / "nowhere", None):
        with pytest.raises(InvalidInputError, match=r"LabelMe_gist\.mat.*published.*tfw_cvpr08_code\.zip|published as"):
            load_dataset("labelme", path)


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        ("1 2\n3 4\n5 6\n", (3, 2)),  # no header: two columns of whole numbers
        ("2 1\n3\n5\n", (2, 1)),
        ("2 3\n1 2 3\n4 5 6\n", (2, 3)),
        ("2 3\n1 2 3 4\n5 6\n", (2, 3)),  # numbers after a header may be broken into lines anywhere
        ("1e-3 2 3", (1, 3)),
        ("  1.5   2\t3 \n\n 4 5 6\n\n", (2, 3)),
    ],
)
def test_text_tables_have_a_header_only_if_it_announces_what_follows(tmp_path, text, shape):
    (tmp_path / "a.mtx").write_text(text)
    assert load_dataset(str(tmp_path / "a.mtx")).vectors.shape == shape


@pytest.mark.parametrize(
    "text", ["", "\n\n", "1 2 3\n4 5\n", "1 2 x\n", "2 2\n1 2 3\n", "2 3\n1 2\n3\n", "1 2 3\n\xe9 2 3"]
)
def test_text_that_is_no_table_is_refused(tmp_path, text):
    (tmp_path / "a.mtx").write_text(text)
    with pytest.raises(FileFormatError, match=r"a\.mtx"):
        load_dataset(str(tmp_path / "a.mtx"))


def test_fashion_mnist_is_read_from_its_four_files(tmp_path, cache, web, monkeypatch):
    for part, n in (("train", 60000), ("t10k", 10000)):
        head = b"\0\0\x08\x03" + b"".join(size.to_bytes(4, "big") for size in (n, 28, 28))
        (tmp_path / f"{part}-images-idx3-ubyte.gz").write_bytes(gzip.compress(head + bytes(n * 784), 1))
        labels = b"\0\0\x08\x01" + n.to_bytes(4, "big") + bytes(n)
        (tmp_path / f"{part}-labels-idx1-ubyte.gz").write_bytes(gzip.compress(labels, 1))
    data = load_dataset("fashion_mnist", tmp_path)
    assert data.vectors.shape == (70000, 784)
    assert len(data.labels) == 70000
    with pytest.raises(InvalidInputError, match="no network"):
        load_dataset("fashion_mnist")
    installed = replace(known.KNOWN["fashion_mnist"], installed=str(tmp_path))
    monkeypatch.setitem(known.KNOWN, "fashion_mnist", installed)
    assert load_dataset("fashion_mnist").vectors.shape == (70000, 784)
    (tmp_path / "t10k-labels-idx1-ubyte.gz").write_bytes(gzip.compress(b"\0\0\x08\x01" + bytes(9)))
    with pytest.raises(FileFormatError, match="damaged"):
        load_dataset("fashion_mnist", tmp_path)


def test_an_unknown_name_gets_the_nearest_suggested():
    with pytest.raises(InvalidInputError, match="did you mean fashion_mnist"):
        load_dataset("fashion-mnist")


@pytest.mark.parametrize(("name", "message"), [("a.npy", "cut off"), ("a.npz", "not a readable .npz archive")])
def test_damaged_files_are_refused_as_the_readers_refuse_them(tmp_path, name, message):
    path = tmp_path / name
    (np.savez_compressed if name.endswith("z") else np.save)(path, X)
    path.write_bytes(path.read_bytes()[:-9])
    sentences = []
    for read in (lambda: load_dataset(str(path)), lambda: open_vectors(path)):
        with pytest.raises(InvalidInputError, match=message) as caught:
            read()
        sentences.append(str(caught.value))
    assert sentences[0] == sentences[1]


def test_archives_that_announce_more_than_they_hold_take_no_memory(tmp_path):
    head = io.BytesIO()
    np.lib.format.write_array_header_1_0(head, {"descr": "<f4", "fortran_order": False, "shape": (1 << 40, 8)})
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("X.npy", head.getvalue())
    with pytest.raises(InvalidInputError, match="cut off"):
        load_dataset(str(tmp_path / "a.npz"))
