"""What is learned from vectors, apart from the vectors: centroids, a quantiser, and how far searches must go.

::

    row of an item   cell (uint32, little endian) │ code of what the vector is away from the centroid
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from .. import _files, _kernels
from .._types import F32, I32, U8
from ..errors import FileFormatError, InvalidInputError
from ._calibration import Calibration
from ._coder import Coder
from ._engine import RECALIBRATE_GROWTH
from ._metric import METRICS, prepare
from ._options import is_worth_learning as is_worth_learning
from ._state import coder_arrays, restored_calibration, restored_coder

KIND = "learned"
RELEARN_GROWTH = 10
"""Everything is learned anew when there are this many times as many vectors as at the last time"""
DRIFT = 1.3
"""… or when the newest vectors are this many times as far from their centroids (squared) as those that were learned"""
_CELL = np.dtype("<u4")


@dataclass(frozen=True)
class Learned:
    """Cells and codes for vectors of one metric."""

    metric: str
    coder: Coder
    calibration: Calibration
    n_learned: int
    """Vectors when cells and codes were learned"""
    n_calibrated: int
    """Vectors when it was last measured how far searches must go"""
    error: float
    """Mean squared distance of the vectors from their centroids when cells were learned"""
    name: str
    """A random name of cells and codes; another calibration keeps it"""

    @property
    def n_features(self) -> int:
        """Dimensions of the vectors."""
        return int(self.coder.centroids.shape[1])

    @property
    def row_bytes(self) -> int:
        """Bytes of one item's row."""
        return _CELL.itemsize + self.coder.n_bytes

    def encode(self, vectors: F32, n_threads: int | None = None) -> U8:
        """Rows ``(n, row_bytes)`` of vectors."""
        points, threads = prepare(vectors, self.metric, "vectors"), _kernels.resolve_threads(n_threads)
        if not len(points):
            return np.empty((0, self.row_bytes), np.uint8)
        cells = self.coder.cells_of(points, threads)
        return self.joined(cells, self.coder.encode(points, cells, threads))

    def joined(self, cells: I32, codes: U8) -> U8:
        """Rows of cells and codes."""
        return np.concatenate([cells.astype(_CELL).view(np.uint8).reshape(-1, _CELL.itemsize), codes], axis=1)

    def split(self, rows: U8) -> tuple[I32, U8]:
        """Cells and codes of rows."""
        cells = np.ascontiguousarray(rows[:, : _CELL.itemsize]).view(_CELL).ravel().astype(np.int32)
        return cells, np.ascontiguousarray(rows[:, _CELL.itemsize :])

    def check(self, rows: U8) -> U8:
        """The rows, if each of them names a cell that there is."""
        cells = np.ascontiguousarray(rows[:, : _CELL.itemsize]).view(_CELL)
        if len(rows) and cells.max() >= self.coder.n_cells:
            raise InvalidInputError(f"there is no cell {cells.max()}")
        return rows

    def is_due(self, n_vectors: int) -> bool:
        """Whether there are so many vectors that something should be learned or measured again."""
        return n_vectors >= RECALIBRATE_GROWTH * self.n_calibrated

    def has_drifted(self, newest: F32) -> bool:
        """Whether new vectors, prepared for the metric, lie much farther from the centroids than those before."""
        return mean_error(self.coder, newest) > DRIFT * self.error

    @cached_property
    def recalls(self) -> dict[int, float]:
        """The highest recall that was measured, for each number of neighbours."""
        best: dict[int, float] = {}
        for setting in self.calibration.settings:
            best[setting.k] = max(best.get(setting.k, 0.0), setting.recall)
        return best

    def to_bytes(self) -> bytes:
        """The bytes that ``from_bytes`` reads."""
        header = {"metric": self.metric, "name": self.name, "error": self.error}
        header |= {"n_learned": self.n_learned, "n_calibrated": self.n_calibrated}
        return _files.to_bytes(coder_arrays(self.coder) | {"calibration": self.calibration.state()}, header, KIND)

    @classmethod
    def from_bytes(cls, data: bytes) -> Learned:
        """What ``to_bytes`` wrote, checked; FileFormatError otherwise."""
        header, arrays = _files.from_bytes(data, KIND)
        try:
            metric, name, error = header["metric"], header["name"], header["error"]
            counts = [header["n_learned"], header["n_calibrated"]]
            fits = metric in METRICS and isinstance(name, str) and isinstance(error, float)
            if not fits or not all(type(count) is int and count > 0 for count in counts):
                raise FileFormatError("is damaged: what it has learned does not fit together")
            coder = restored_coder(arrays, arrays["centroids"].shape[-1], metric == "dot")
            return cls(metric, coder, restored_calibration(arrays), counts[0], counts[1], error, name)
        except (KeyError, TypeError, ValueError, IndexError) as error:
            raise FileFormatError(f"is damaged: what it has learned cannot be read: {error}") from error

    def recalibrated(self, calibration: Calibration, n: int) -> Learned:
        """The same cells and codes with a new calibration, measured on ``n`` vectors."""
        return replace(self, calibration=calibration, n_calibrated=n)


def new_name() -> str:
    """A name for newly learned cells and codes."""
    return secrets.token_hex(8)


def mean_error(coder: Coder, points: F32) -> float:
    """The mean squared distance of vectors, prepared for the metric, from their centroids."""
    if not len(points):
        return 0.0
    cells = coder.cells_of(points, _kernels.default_threads())
    away = coder.points(points) - coder.centroids[cells]
    return float(np.square(away, dtype=np.float64).sum(axis=1).mean())
