"""Files of arrays: ``.npy``, ``.npz``, ``.fvecs``, ``.bvecs`` and HDF5."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Iterator
from typing import IO

import numpy as np

from .._types import Array
from ._base import Block, VectorFile
from .foreign import decoding
from .named import npy_header, open_hdf5
from .npy import NpyHeader


class NpyFile(VectorFile):
    """One NumPy array."""

    def _inspect(self) -> None:
        self._no_metadata()
        with open(self.path, "rb") as file:
            shape, self._by_column, dtype = npy_header(self.path, file)
            self._start = file.tell()
            self._set_shape(shape, dtype)
            expected = self._start + shape[0] * shape[1] * dtype.itemsize
            if os.fstat(file.fileno()).st_size < expected:
                raise self._wrong(f"is cut off: {expected} bytes belong there")

    def _read(self, step: int) -> Iterator[Block]:
        assert self.n_rows is not None
        if self._by_column:
            columns = np.memmap(self.path, self.dtype, "r", self._start, (self.n_features, self.n_rows))
            for start in range(0, self.n_rows, step):
                yield Block(np.ascontiguousarray(columns[:, start : start + step].T))
            return
        with open(self.path, "rb") as file:
            file.seek(self._start)
            yield from _stream(self, file, step)


class NpzFile(VectorFile):
    """One array of a zip archive of NumPy arrays."""

    def _inspect(self) -> None:
        self._no_metadata()
        with decoding(self.path, ".npz archive"), zipfile.ZipFile(self.path) as archive:
            names = [name.removesuffix(".npy") for name in archive.namelist() if name.endswith(".npy")]
            headers = {name: self._header(archive, name) for name in names[:1000]}
        tables = [name for name, (shape, _, dtype) in headers.items() if len(shape) == 2 and dtype.kind in "fiub"]
        self._name = self._choose(names if self.key is not None else tables, "array")
        shape, by_column, dtype = headers[self._name]
        self._set_shape(shape, dtype)
        if by_column and min(shape) > 1:
            raise self._wrong(f"stores {self._name!r} column by column; save numpy.ascontiguousarray of it")

    def _header(self, archive: zipfile.ZipFile, name: str) -> NpyHeader:
        with archive.open(f"{name}.npy") as file:
            return npy_header(self.path, file)

    def _read(self, step: int) -> Iterator[Block]:
        with (
            decoding(self.path, ".npz archive"),
            zipfile.ZipFile(self.path) as archive,
            archive.open(f"{self._name}.npy") as file,
        ):
            npy_header(self.path, file)
            yield from _stream(self, file, step)


class VecsFile(VectorFile):
    """Rows that each begin with their length: ``.fvecs`` (float32) and ``.bvecs`` (uint8)."""

    def _inspect(self) -> None:
        self._no_metadata()
        dtype = np.dtype(np.uint8 if self.path.lower().endswith(".bvecs") else "<f4")
        n_bytes = os.path.getsize(self.path)
        with open(self.path, "rb") as file:
            width = int.from_bytes(file.read(4), "little")
        row = 4 + width * dtype.itemsize
        if n_bytes < 4 or n_bytes % row:
            raise self._wrong(f"is cut off, or no file of rows of {width} numbers of {dtype}")
        self._set_shape((n_bytes // row, width), dtype)
        self._row = np.dtype([("width", "<i4"), ("vector", dtype, (width,))])

    def _read(self, step: int) -> Iterator[Block]:
        with open(self.path, "rb") as file:
            while len(rows := np.fromfile(file, self._row, step)):
                if (rows["width"] != self.n_features).any():
                    raise self._wrong(f"has rows of other lengths than {self.n_features}")
                yield Block(np.ascontiguousarray(rows["vector"]))


class HdfFile(VectorFile):
    """One dataset of an HDF5 file."""

    def _inspect(self) -> None:
        self._no_metadata()
        with decoding(self.path, "HDF5 file"), open_hdf5(self.path) as file:
            names: list[str] = []
            file.visititems(lambda name, node: names.append(name) if getattr(node, "ndim", 0) == 2 else None)
            self._name = self._choose(names, "dataset")
            dataset = file[self._name]
            if dataset.external or dataset.is_virtual:
                raise self._wrong(f"keeps {self._name!r} in other files; copy it into one")
            self._set_shape(dataset.shape, dataset.dtype)

    def _read(self, step: int) -> Iterator[Block]:
        assert self.n_rows is not None
        with decoding(self.path, "HDF5 file"), open_hdf5(self.path) as file:
            dataset = file[self._name]
            for start in range(0, self.n_rows, step):
                yield Block(dataset[start : start + step])


def _stream(source: VectorFile, file: IO[bytes], step: int) -> Iterator[Block]:
    """Blocks of rows in C order, from the current position of ``file``."""
    assert source.n_rows is not None
    row = source.n_features * source.dtype.itemsize
    for start in range(0, source.n_rows, step):
        wanted = min(step, source.n_rows - start) * row
        data = _read_all(file, wanted)
        if len(data) < wanted:
            raise source._wrong("is cut off")
        vectors: Array = np.frombuffer(data, source.dtype).reshape(-1, source.n_features)
        yield Block(vectors)


def _read_all(file: IO[bytes], n_bytes: int) -> bytes:
    """``n_bytes`` bytes, or fewer at the end of the file."""
    parts = []
    while n_bytes and (part := file.read(n_bytes)):
        parts.append(part)
        n_bytes -= len(part)
    return parts[0] if len(parts) == 1 else b"".join(parts)
