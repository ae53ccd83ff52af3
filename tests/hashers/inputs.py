"""Vectors that contract suites fit, also in other containers; inputs that must be refused; damaged files; memory."""

import contextlib
import tracemalloc

import numpy as np
import scipy.sparse

from rankhash import load_hasher
from rankhash.errors import FileFormatError, InvalidInputError, InvalidTypeError

N_FEATURES = 12


def draw_vectors(n=67, d=N_FEATURES, seed=0):
    """Small whole numbers, without repetitions in a row: exact in every type, from float16 to int8."""
    rng = np.random.default_rng(seed)
    return np.stack([rng.permutation(30)[:d] for _ in range(n)]).astype(np.float32)


X = draw_vectors()


class Wrapped:
    """Something that is only known to convert itself."""

    def __array__(self, dtype=None, copy=None):
        return np.array(X, dtype=dtype)


def as_memmap(array, folder):
    np.save(folder / "x.npy", array)
    return np.load(folder / "x.npy", mmap_mode="r")


def with_value(value):
    rows = X.astype(np.float64)
    rows[5, 3] = value
    return rows


BAD_INPUTS = {
    "1-D": (X[0], InvalidInputError, "Reshape your data"),
    "3-D": (X[None], InvalidInputError, "got 3D of shape"),
    "no rows": (X[:0], InvalidInputError, r"0 sample\(s\)"),
    "no columns": (X[:, :0], InvalidInputError, r"0 feature\(s\)"),
    "NaN": (with_value(np.nan), InvalidInputError, "row 5 holds NaN"),
    "infinity": (with_value(-np.inf), InvalidInputError, "row 5 holds infinity"),
    "beyond float32": (with_value(1e39), InvalidInputError, "must fit into float32, but row 5 holds"),
    "ragged": ([[1.0, 2.0], [1.0]], InvalidInputError, "rows of one length"),
    "complex": (X + 1j, InvalidTypeError, "Complex data not supported"),
    "text": (X.astype(str), InvalidTypeError, "must hold numbers"),
    "sparse, NaN": (scipy.sparse.csr_array(with_value(np.nan)), InvalidInputError, "row 5 holds NaN"),
    "sparse, complex": (scipy.sparse.csr_array(X + 1j), InvalidTypeError, "is sparse"),
}


def loaded_from_mutations(hasher, path, n_mutations):
    """The hashers that load from files with one flipped bit, of which a tenth is truncated; the others are refused."""
    rng = np.random.default_rng(0)
    hasher.save(path)
    original = path.read_bytes()
    for _ in range(n_mutations):
        raw = bytearray(original)
        raw[rng.integers(0, len(raw))] ^= 1 << rng.integers(0, 8)
        path.write_bytes(raw[: rng.choice([len(raw), rng.integers(0, len(raw))], p=[0.9, 0.1])])
        with contextlib.suppress(FileFormatError):
            yield load_hasher(path)


def peak_memory(call):
    """The result of a call, and the largest number of bytes that it has allocated at a time."""
    tracemalloc.start()
    try:
        result = call()
        return result, tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
