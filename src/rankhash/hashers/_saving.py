"""Hashers as arrays and a header, and hashers from the files of this and of earlier versions."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from ..codes import CodeLayout
from .parameters import storable

if TYPE_CHECKING:
    from .base import Hasher

AnyHasher = TypeVar("AnyHasher", bound="Hasher")

MAX_QUANTIZER_POINTS = 65_536
"""Upper limit of ``max_points`` for ``JRSH(objective="reconstruction")`` in earlier versions."""


def hasher_state(hasher: Hasher) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """The arrays and the header of a fitted hasher, the input of ``restored_hasher``."""
    check_is_fitted(hasher)
    layout = hasher.layout_
    header = {
        "method": type(hasher).__name__,
        "parameters": {name: storable(name, value) for name, value in hasher.get_params().items()},
        "n_symbols": layout.n_symbols,
        "arity": layout.arity,
        "fingerprint": layout.fingerprint,
        "n_features": hasher.n_features_in_,
        "feature_names": list(hasher.feature_names_in_) if hasattr(hasher, "feature_names_in_") else None,
    }
    arrays = {name: getattr(hasher, name) for name in (*hasher._code_arrays, *hasher._side_arrays)}
    return {name: array for name, array in arrays.items() if array is not None}, header


def fingerprint_of(hasher: Hasher, arrays: dict[str, NDArray[Any]], layout: CodeLayout) -> str:
    """Sixteen hexadecimal digits of everything that determines the codes."""
    name = hasher._fingerprint_name or type(hasher).__name__
    digest = hashlib.sha256(repr([name, layout.n_symbols, layout.arity, hasher.n_features_in_]).encode())
    for key in sorted(arrays.keys() & {*hasher._code_arrays}):
        digest.update(repr((key, arrays[key].dtype.str, arrays[key].shape)).encode())
        digest.update(arrays[key].tobytes())
    return digest.hexdigest()[:16]


def restored_hasher(kind: type[AnyHasher], header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> AnyHasher:
    """The hasher that a file describes; raises KeyError, TypeError or ValueError if the file is inconsistent."""
    hasher = kind(**header["parameters"])
    layout = CodeLayout(header["n_symbols"], header["arity"])
    n_features, names = header["n_features"], header["feature_names"]
    known = arrays.keys() <= {*kind._code_arrays, *kind._side_arrays}
    positive = type(n_features) is int and n_features > 0
    if not (known and positive and hasher._fits(arrays, layout, n_features)):
        raise ValueError("its arrays do not fit together")
    if names is not None and (len(names) != n_features or {*map(type, names)} != {str}):
        raise ValueError("its feature names do not fit its arrays")
    hasher._adopt(arrays, layout, n_features, None if names is None else np.array(names, dtype=object))
    if hasher.fingerprint != header["fingerprint"]:
        raise ValueError("its fingerprint does not match its arrays")
    return hasher


def upgrade_header(header: dict[str, Any]) -> dict[str, Any]:
    """The header with current names of methods and parameters; an inconsistent header is returned unchanged.

    JRSH had the parameters ``objective`` and ``refine``; ``JRSH(objective="reconstruction")`` is now RankQuantizer.

    >>> upgrade_header({"method": "JRSH", "parameters": {"n_symbols": 8, "objective": "pairs", "refine": 0}})
    {'method': 'JRSH', 'parameters': {'n_symbols': 8}}
    """
    parameters = header.get("parameters")
    if header.get("method") != "JRSH" or not isinstance(parameters, dict) or "objective" not in parameters:
        return header
    kept = {name: value for name, value in parameters.items() if name not in ("objective", "refine")}
    if parameters["objective"] != "reconstruction":
        return header | {"parameters": kept}
    names = ("n_symbols", "arity", "random_state", "callback", "verbose")
    chosen = {name: kept[name] for name in names if name in kept} | {"refine": parameters.get("refine", 0)}
    if chosen.get("arity") == "auto":
        chosen["arity"] = 16
    chosen["max_points"] = min(kept.get("max_points", MAX_QUANTIZER_POINTS), MAX_QUANTIZER_POINTS)
    return header | {"method": "RankQuantizer", "parameters": chosen}
