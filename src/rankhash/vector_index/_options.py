"""The parameters of an index, checked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .. import _kernels
from .._checks import check_choice, check_integer, check_number, check_verbose
from ..errors import InvalidInputError
from ._metric import METRICS

EXACT_VECTORS, EXACT_NUMBERS = 10_000, 1 << 22
"""Sets of fewer vectors are searched exactly if they have up to this many numbers (n · d), larger sets if they have a
quarter of that."""


@dataclass(frozen=True)
class Options:
    """The parameters of an index; None stands for "auto", or for no vectors."""

    metric: str
    recall: float
    bytes_per_vector: int | None
    vectors: str | None
    n_cells: int | None
    n_probes: int | None
    n_candidates: int | None
    random_state: int
    verbose: bool

    @classmethod
    def checked(cls, **values: Any) -> Options:
        """Options of parameters as users and files give them."""
        for name, low, high in (("bytes_per_vector", 4, 128), ("n_cells", 1, 1 << 20)):
            values[name] = _number_or_auto(name, values[name], low, high)
        for name in ("n_probes", "n_candidates"):
            values[name] = None if values[name] is None else check_integer(name, values[name], 1, 2**31 - 1)
        check_choice("metric", values["metric"], METRICS)
        values["recall"] = check_number("recall", values["recall"], 0, 1)
        if values["vectors"] is not None:
            check_choice("vectors", values["vectors"], _kernels.ROW_TYPES)
        values["random_state"] = check_integer("random_state", values["random_state"], 0, 2**32 - 1)
        values["verbose"] = check_verbose(values["verbose"])
        return cls(**values)


def _number_or_auto(name: str, value: Any, low: int, high: int) -> int | None:
    if value is None or (isinstance(value, str) and value == "auto"):
        return None
    if isinstance(value, str):
        raise InvalidInputError(f"{name} must be an integer from {low} to {high} or 'auto', got {value!r}")
    return check_integer(name, value, low, high)


def is_worth_learning(n_vectors: int, n_features: int) -> bool:
    """Whether comparing all vectors takes long enough that cells pay."""
    few = EXACT_NUMBERS if n_vectors < EXACT_VECTORS else EXACT_NUMBERS // 4
    return n_vectors * n_features > few
