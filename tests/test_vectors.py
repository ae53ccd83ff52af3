"""The door for vectors: what it takes, what it refuses, and that it copies no more than it must."""

import sys
import tracemalloc
import types
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

from rankhash import vectors
from rankhash.errors import InvalidInputError, InvalidTypeError
from rankhash.vectors import as_vectors, batches

TABLE = np.arange(12, dtype=np.float32).reshape(4, 3)


class Wrapped:
    """Something that is only known to convert itself."""

    def __array__(self, dtype=None, copy=None):
        return np.array(TABLE, dtype=dtype)


def written_memmap(path, array):
    np.save(path, array)
    return np.load(path, mmap_mode="r")


@pytest.mark.parametrize(
    "X",
    [
        TABLE.astype(np.float16),
        TABLE.astype(np.float64),
        TABLE.astype(np.longdouble),
        TABLE.astype(">f4"),
        TABLE.astype(np.int8),
        TABLE.astype(np.uint64),
        TABLE.astype(object),
        TABLE.tolist(),
        [tuple(row) for row in TABLE],
        np.asfortranarray(TABLE),
        np.repeat(TABLE, 2, axis=1)[:, ::2],
        TABLE[::-1][::-1],
        pd.DataFrame(TABLE),
        pd.DataFrame({"a": TABLE[:, 0].astype(int), "b": TABLE[:, 1], "c": TABLE[:, 2].astype(np.float16)}),
        pd.DataFrame(TABLE.astype(int)).astype("Int64"),
        np.ma.masked_array(TABLE),
        Wrapped(),
    ],
    ids=lambda X: getattr(X, "dtype", type(X)).__class__.__name__,
)
def test_numbers_of_any_kind_become_the_same_vectors(X):
    got = as_vectors(X)
    assert got.dtype == np.float32
    assert got.flags.c_contiguous
    assert got.flags.aligned
    assert type(got) is np.ndarray
    np.testing.assert_array_equal(got, TABLE)


def test_booleans_become_zeros_and_ones():
    assert as_vectors([[True, False]]).tolist() == [[1.0, 0.0]]


def test_float32_in_c_order_is_not_copied(tmp_path):
    assert np.shares_memory(as_vectors(TABLE), TABLE)
    mapped = written_memmap(tmp_path / "x.npy", TABLE)
    assert np.shares_memory(as_vectors(mapped), mapped)
    assert all(np.shares_memory(batch, mapped) for batch in batches(mapped))


def test_unaligned_memory_is_copied_to_an_aligned_place():
    buffer = bytearray(b"\0") + bytearray(TABLE.tobytes())
    X = np.frombuffer(buffer, np.uint8)[1:].view(np.float32).reshape(4, 3)
    for n_features in (None, 3):
        assert as_vectors(X, n_features=n_features).flags.aligned
        np.testing.assert_array_equal(as_vectors(X, n_features=n_features), TABLE)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_the_shorter_way_of_small_arrays_looks_at_the_numbers(value):
    X = TABLE.copy()
    assert as_vectors(X, n_features=3) is X
    X[1, 2] = value
    with pytest.raises(InvalidInputError, match=r"^X .*row 1 holds"):
        as_vectors(X, n_features=3)
    with pytest.raises(InvalidInputError, match="features"):
        as_vectors(TABLE, n_features=4)


@pytest.mark.parametrize(
    ("X", "sentence"),
    [
        (np.zeros(3), r"got 1D. Reshape your data"),
        (np.float64(3), r"got 0D. Reshape your data"),
        (np.zeros((2, 2, 2)), r"got 3D of shape \(2, 2, 2\); flatten each item"),
        (np.zeros((0, 3)), r"has 0 sample\(s\) \(shape=\(0, 3\)\) while a minimum of 1 is required"),
        (np.zeros((3, 0)), r"has 0 feature\(s\) \(shape=\(3, 0\)\) while a minimum of 1 is required"),
        ([], "got 1D"),
        ([[1, 2], [3]], "rows of one length"),
        ([[1.0, 2.0], [np.nan, 0.0]], "must hold finite numbers, but row 1 holds NaN"),
        ([[1.0, 2.0], [0, 1], [-np.inf, 0.0]], "must hold finite numbers, but row 2 holds infinity"),
        ([[1.0, 1e39]], r"must fit into float32, but row 0 holds 1e\+39; scale it down"),
        ([[1.0, -1e39]], r"must fit into float32, but row 0 holds -1e\+39"),
        ([[1, 10**400]], "must fit into float32"),
        ([[1.0, 2.0], [None, 1.0]], "row 1 holds NaN"),
        (pd.DataFrame({"a": [1.0, None]}), "row 1 holds NaN"),
        (None, "got 0D"),
        (np.ma.masked_array(TABLE, TABLE > 5), "has masked values"),
    ],
)
def test_unusable_numbers_get_one_sentence(X, sentence):
    with pytest.raises(InvalidInputError, match=f"^X .*{sentence}") as caught:
        as_vectors(X)
    assert "\n" not in str(caught.value)
    assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize(
    ("X", "sentence"),
    [
        (np.array([["a", "b"]]), "X must hold numbers, got <U1"),
        (np.array([[b"a"]]), r"X must hold numbers, got \|S1"),
        (np.array([["1.5", 2]], dtype=object), "there is text among them"),
        ([[1, {}]], "argument must be a string or a real number"),
        (np.array([["2020-01-01"]], "datetime64[D]"), "must hold numbers, got datetime64"),
        (np.ones((2, 2), complex), "Complex data not supported"),
        (np.zeros((2, 2), [("a", "f4")]), "must hold numbers"),
        (scipy.sparse.csr_array(TABLE), r"X is sparse, .* X.toarray\(\), or reduce"),
        (scipy.sparse.coo_matrix(TABLE), "X is sparse"),
        ("text", "must hold numbers"),
    ],
)
def test_what_are_no_real_numbers_is_a_type_error(X, sentence):
    with pytest.raises(InvalidTypeError, match=sentence) as caught:
        as_vectors(X)
    assert isinstance(caught.value, TypeError)
    assert isinstance(caught.value, InvalidInputError)


def test_a_missing_value_of_pandas_is_refused():
    with pytest.raises(InvalidInputError, match="X must hold"):
        as_vectors(pd.DataFrame({"a": pd.array([1, None], "Int64")}))


def test_another_width_is_refused_before_the_numbers_are_read():
    with pytest.raises(InvalidInputError, match="Q has 3 features, but LSH is expecting 4 features as input"):
        as_vectors(np.full((2, 3), np.nan), n_features=4, name="Q", owner="LSH")
    assert as_vectors(TABLE, n_features=3).shape == (4, 3)


def test_the_limits_of_float32_are_taken():
    largest = np.finfo(np.float32).max
    assert as_vectors([[float(largest), -float(largest), 1e-46]]).tolist() == [[largest, -largest, 0.0]]


def test_a_refused_row_is_counted_from_the_start_of_the_input(monkeypatch):
    monkeypatch.setattr(vectors, "BATCH_BYTES", 24)
    X = np.zeros((11, 3))
    X[9, 1] = np.nan
    with pytest.raises(InvalidInputError, match="row 9 holds NaN"):
        batches(X).check()


@given(n=st.integers(1, 70), d=st.integers(1, 9), size=st.integers(1, 300), seed=st.integers(0, 999))
def test_batches_together_are_the_whole(n, d, size, seed):
    X = np.random.default_rng(seed).normal(size=(n, d))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(vectors, "BATCH_BYTES", size)
        data = batches(X)
        got = list(data)
        mean = data.mean()
    assert (data.n_rows, data.n_features) == (n, d)
    assert all(batch.flags.c_contiguous and batch.dtype == np.float32 for batch in got)
    assert max(batch.nbytes for batch in got) <= max(size, 4 * d)
    np.testing.assert_array_equal(np.concatenate(got), as_vectors(X))
    np.testing.assert_allclose(mean, as_vectors(X).mean(axis=0, dtype=np.float64), rtol=1e-6, atol=1e-7)


def test_batches_refuse_the_shape_at_once_and_the_numbers_on_the_way(monkeypatch):
    monkeypatch.setattr(vectors, "BATCH_BYTES", 12)
    with pytest.raises(InvalidInputError, match="Reshape your data"):
        batches(np.zeros(3))
    late = iter(batches([[0, 0, 0], [0, 0, np.inf]]))
    assert next(late).tolist() == [[0, 0, 0]]
    with pytest.raises(InvalidInputError, match="row 1 holds infinity"):
        next(late)


@pytest.mark.parametrize("dtype", [np.float64, np.float16, np.int32])
def test_batches_never_copy_a_large_input_whole(dtype, tmp_path):
    n_bytes = 48 << 20
    X = written_memmap(tmp_path / "x.npy", np.ones((n_bytes // 4 // 64, 64), dtype))
    tracemalloc.start()
    try:
        assert sum(len(batch) for batch in batches(X)) == len(X)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < n_bytes / 3


def test_conversion_does_not_warn():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(InvalidInputError):
            as_vectors(np.array([[1e300, np.nan]]))
        with pytest.raises(InvalidInputError):
            as_vectors(np.array([[1e300]]))


@pytest.mark.parametrize("container", [scipy.sparse.csr_array, scipy.sparse.csc_matrix, scipy.sparse.coo_array])
def test_sparse_rows_are_read_in_dense_batches_where_they_are_welcome(monkeypatch, container):
    table = np.diag(np.arange(1.0, 6.0))
    monkeypatch.setattr(vectors, "BATCH_BYTES", 4 * 5 * 2)
    data = vectors.batches(container(table), sparse=True)
    assert [batch.tolist() for batch in data] == [table[:2].tolist(), table[2:4].tolist(), table[4:].tolist()]
    assert data.take(np.array([3, 1])).tolist() == table[[3, 1]].tolist()
    monkeypatch.setattr(vectors, "MAX_DENSE_BYTES", 4 * 5 * 2)
    assert len(data.take(np.array([0, 4]))) == 2
    for ask in (data.whole, lambda: data.take(np.arange(3))):
        with pytest.raises(InvalidInputError, match=r"is sparse, and . dense rows .*TruncatedSVD"):
            ask()


def test_vectors_are_read_while_another_thread_imports_scipy(monkeypatch):
    monkeypatch.setitem(sys.modules, "scipy.sparse", types.ModuleType("scipy.sparse"))
    assert as_vectors(np.ones((2, 3))).shape == (2, 3)
