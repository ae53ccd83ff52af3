"""Hashers as arrays and a header, and hashers from the files of this and of earlier versions."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from dataclasses import replace
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from .._files import Tensors
from ..codes import CodeLayout
from .parameters import storable

AnyHasher = TypeVar("AnyHasher", bound="StoredHasher")

MAX_QUANTIZER_POINTS = 65_536
"""Upper limit of ``max_points`` for ``JRSH(objective="reconstruction")`` in earlier versions."""


class StoredHasher(BaseEstimator, ABC):  # type: ignore[misc]
    """The learned arrays of a hasher, their fingerprint and how they are adopted: all that files need to know of it."""

    layout_: CodeLayout
    n_features_in_: int
    feature_names_in_: NDArray[Any]

    _code_arrays: ClassVar[tuple[str, ...]]
    """Learned arrays that determine the codes; those that are None are left out."""

    _side_arrays: ClassVar[tuple[str, ...]] = ()
    """Learned arrays that are saved but do not determine the codes, such as weights."""

    _fingerprint_name: ClassVar[str | None] = None
    """The method's name in fingerprints; None stands for the name of the class."""

    @abstractmethod
    def _fits(self, arrays: Tensors, layout: CodeLayout, n_features: int) -> bool:
        """Whether arrays of a file have the types, shapes and values that the kernels rely on."""

    def _adopt(self, arrays: Tensors, layout: CodeLayout, n_features: int, names: NDArray[Any] | None) -> None:
        """Set all learned attributes at once, so that a failed fit leaves the hasher unchanged."""
        arrays = {name: np.asarray(array, order="C") for name, array in arrays.items()}
        for name in (*self._code_arrays, *self._side_arrays):
            setattr(self, name, arrays.get(name))
        self.n_features_in_ = n_features
        self.__dict__.pop("feature_names_in_", None)
        if names is not None:
            self.feature_names_in_ = names
        self.layout_ = replace(layout, fingerprint=fingerprint_of(self, arrays, layout))


def hasher_state(hasher: StoredHasher) -> tuple[Tensors, dict[str, Any]]:
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


def fingerprint_of(hasher: StoredHasher, arrays: Tensors, layout: CodeLayout) -> str:
    """Sixteen hexadecimal digits of everything that determines the codes."""
    name = hasher._fingerprint_name or type(hasher).__name__
    digest = hashlib.sha256(repr([name, layout.n_symbols, layout.arity, hasher.n_features_in_]).encode())
    for key in sorted(arrays.keys() & {*hasher._code_arrays}):
        digest.update(repr((key, arrays[key].dtype.str, arrays[key].shape)).encode())
        digest.update(arrays[key].tobytes())
    return digest.hexdigest()[:16]


def restored_hasher(kind: type[AnyHasher], header: dict[str, Any], arrays: Tensors) -> AnyHasher:
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
    if hasher.layout_.fingerprint != header["fingerprint"]:
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
