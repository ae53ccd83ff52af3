"""An index as the facts and arrays of a file, and back; whatever a search relies on is checked."""

from __future__ import annotations

from dataclasses import asdict
from os import PathLike
from typing import Any

import numpy as np

from .. import _files, hashers
from .._types import Array
from ..errors import FileFormatError
from ._calibration import STATE_WIDTHS, Calibration
from ._cells import BLOCK, Cells
from ._coder import Coder
from ._engine import Engine
from ._ids import LARGEST_ID, RowIds
from ._options import Options
from ._rows import Rows
from ._trial import EXPONENTS, MOST_GROWTH

_CODER_ARRAYS = ("center", "centroids", "exponents", "radii")
_CELL_ARRAYS = ("first_block", "capacity", "sizes", "blocks", "rows")


def write_engine(path: str | PathLike[str], engine: Engine, kind: str) -> None:
    """Write the file of an index, all of it or nothing."""
    header, arrays = engine_state(engine)
    _files.write_file(path, arrays, {"index": kind, **header}, kind="index")


def read_engine(path: str | PathLike[str], kind: str, *, mmap: bool, verify: bool) -> Engine:
    """The engine of an index file."""
    header, arrays = _files.read_file(path, "index", mmap=mmap, verify=verify)
    if header.pop("index", None) != kind:
        raise FileFormatError(f"{path} does not hold a VectorIndex")
    try:
        return restored_engine(header, arrays)
    except (KeyError, TypeError, ValueError) as error:
        raise FileFormatError(f"{path} is damaged: {error}") from error


def engine_state(engine: Engine) -> tuple[dict[str, Any], dict[str, Array]]:
    """Facts and arrays of an index without removed vectors."""
    engine.compact()
    header = {
        "options": asdict(engine.options),
        "n_features": engine.n_features,
        "n_learned": engine.n_learned,
        "n_calibrated": engine.n_calibrated,
        "next_id": engine.ids.next_id,
        "learned": engine.cells is not None,
    }
    arrays: dict[str, Array] = {"ids": engine.ids.ids}
    if engine.keeps_rows:
        rows = engine.rows
        arrays["vectors"] = rows.head if not len(rows.tail) else np.concatenate([rows.head, rows.tail])
        if rows.factors is not None:
            arrays["factors"] = rows.factors
    if engine.cells is not None:
        cells, coder = engine.cells, engine.cells.coder
        arrays |= {f"cell_{name}": getattr(cells, name) for name in _CELL_ARRAYS}
        arrays["cell_blocks"], arrays["cell_rows"] = cells.blocks[: cells.n_blocks], cells.rows[: cells.n_blocks]
        arrays |= coder_arrays(coder)
        if engine.calibration is not None:
            arrays["calibration"] = engine.calibration.state()
    return header, arrays


def restored_engine(header: dict[str, Any], arrays: dict[str, Array]) -> Engine:
    """The engine of a file; KeyError, TypeError or ValueError if it does not describe one."""
    options, n_features = Options.checked(**header["options"]), header["n_features"]
    _expect(type(n_features) is int and n_features > 0, "its dimension is no positive number")
    engine = Engine(options, n_features)
    ids = arrays["ids"]
    _expect(ids.dtype == np.int64 and ids.ndim == 1 and len(np.unique(ids)) == len(ids), "its ids are not unique")
    _expect(not len(ids) or bool(ids.min() >= 0), "its ids are negative")
    next_id = header["next_id"]
    _expect(type(next_id) is int and 0 <= next_id <= LARGEST_ID, "its next id is no id")
    engine.ids = RowIds(ids, next_id)
    counts, learned = [header["n_learned"], header["n_calibrated"]], header["learned"]
    _expect(all(type(count) is int and count >= 0 for count in counts) and type(learned) is bool, "its facts are odd")
    engine.n_learned, engine.n_calibrated = counts
    if learned:
        engine.cells = _cells(arrays, n_features, options.metric == "dot", len(ids))
        if "calibration" in arrays:
            engine.calibration = restored_calibration(arrays)
    if engine.keeps_rows:
        engine.rows = _rows(arrays, n_features, options.vectors or "float32", len(ids))
    return engine


def coder_arrays(coder: Coder) -> dict[str, Array]:
    """The arrays of a coder."""
    arrays: dict[str, Array] = {name: getattr(coder, name) for name in _CODER_ARRAYS}
    if coder.lows is not None and coder.steps is not None:
        arrays |= {"lows": coder.lows, "steps": coder.steps}
    return arrays | {"quantizer": np.frombuffer(hashers.hasher_to_bytes(coder.quantizer), np.uint8)}


def restored_calibration(arrays: dict[str, Array]) -> Calibration:
    """The calibration of a file, checked."""
    state = arrays["calibration"]
    fits = state.ndim == 2 and state.shape[1] in STATE_WIDTHS and len(state) > 1 and bool(np.isfinite(state).all())
    _expect(fits, "its calibration does not fit")
    (usual, far, growth), settings = state[0, :3], state[1:]
    known = usual > 0 and far <= 1e9 * usual and growth in range(MOST_GROWTH + 1) and (state[0, 3:] >= 0).all()
    known = known and (settings[:, 6:] >= 0).all() and (settings[:, [0, 3]] >= 1).all() and (settings[:, 1] >= 0).all()
    known = known and np.isin(settings[:, 2], EXPONENTS).all() and (settings[:, :4] < 2**31).all()
    _expect(bool(known), "its calibration does not fit")
    return Calibration.restore(state)


def _rows(arrays: dict[str, Array], n_features: int, dtype: str, n: int) -> Rows:
    vectors, factors = arrays["vectors"], arrays.get("factors")
    _expect(vectors.shape == (n, n_features) and vectors.dtype == dtype, "its vectors have another shape")
    if dtype == "int8":
        fits = factors is not None and factors.shape == (n,) and factors.dtype == np.float32
        _expect(fits and bool(np.isfinite(factors).all()), "the factors of its vectors do not fit")  # type: ignore[arg-type]
    return Rows(n_features, dtype, vectors, factors)


def restored_coder(arrays: dict[str, Array], n_features: int, product: bool) -> Coder:
    """The coder of a file, checked."""
    quantizer = hashers.hasher_from_bytes(arrays["quantizer"].tobytes(), "the index")
    if not isinstance(quantizer, hashers.RankQuantizer):
        raise FileFormatError("it holds no quantiser")
    layout = quantizer.layout_
    fits = quantizer.n_features_in_ == n_features and layout.arity == 16 and layout.n_symbols % 2 == 0
    _expect(fits, "its quantiser does not fit")
    return _coder(arrays, n_features, product, quantizer)


def _cells(arrays: dict[str, Array], n_features: int, product: bool, n_rows: int) -> Cells:
    cells = Cells(restored_coder(arrays, n_features, product))
    for name in _CELL_ARRAYS:
        array, own = arrays[f"cell_{name}"], getattr(cells, name)
        _expect(array.dtype == own.dtype and array.shape[1:] == own.shape[1:], f"its array {name} does not fit")
        _expect(name in ("blocks", "rows") or len(array) == len(own), f"its array {name} has another length")
        setattr(cells, name, array)
    cells.n_blocks = len(cells.blocks)
    inside = (cells.first_block >= 0) & (cells.capacity >= 0) & (cells.first_block <= cells.n_blocks - cells.capacity)
    _expect(bool(inside.all()) and len(cells.rows) == cells.n_blocks, "its cells lie outside of the file")
    _expect(bool(((cells.sizes >= 0) & (cells.sizes <= cells.capacity * BLOCK)).all()), "its cells are too large")
    _expect(np.array_equal(np.sort(cells.all_rows()), np.arange(n_rows)), "its cells do not hold every vector once")
    return cells


def _coder(arrays: dict[str, Array], n_features: int, product: bool, quantizer: hashers.RankQuantizer) -> Coder:
    center, centroids, exponents, radii = (arrays[name] for name in _CODER_ARRAYS)
    n_cells = len(centroids)
    _expect(n_cells > 0, "it has no cells")
    for array, shape in ((center, (n_features,)), (centroids, (n_cells, n_features)), (radii, (n_cells,))):
        fits = array.shape == shape and array.dtype == np.float32 and bool(np.isfinite(array).all())
        _expect(fits, "its centroids do not fit")
    _expect(bool((radii > 0).all()), "its radii do not fit")
    fits = exponents.shape == (n_cells,) and exponents.dtype == np.int32
    _expect(fits and bool(((exponents >= -120) & (exponents <= 120)).all()), "its scales are odd")
    _expect(len(np.unique(exponents)) <= 256, "its scales are odd")
    lows, steps = (arrays.get(name) for name in ("lows", "steps"))
    _expect((lows is None) == (steps is None) and not (product and lows is not None), "its corrections do not fit")
    if lows is not None and steps is not None:
        fits = all(a.shape == (n_cells,) and a.dtype == np.float32 and np.isfinite(a).all() for a in (lows, steps))
        _expect(fits and bool((steps > 0).all()), "its corrections do not fit")
    return Coder(product, center, centroids, exponents, radii, quantizer, lows, steps)


def _expect(condition: bool, complaint: str) -> None:
    if not condition:
        raise FileFormatError(complaint)
