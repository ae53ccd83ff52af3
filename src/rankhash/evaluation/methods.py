"""What is compared: every hasher of the library with its defaults, and some variants by name.

A hasher that is added to :data:`rankhash.hashers.HASHERS` is compared from then on, without a change here.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from ..codes import CodeLayout
from ..errors import unknown_name
from ..hashers import HASHERS, Hasher

AXES = ("symbols", "bits")


@dataclass(frozen=True)
class Method:
    """A hasher with some parameters, to be made at any length.

    >>> method = METHODS["RSH"]
    >>> method.layout("symbols", 32).bits, method.layout("bits", 32).n_symbols
    (64, 16)
    """

    name: str
    hasher: str
    parameters: dict[str, Any] = field(default_factory=dict)
    grid: dict[str, list[Any]] = field(default_factory=dict)
    """What ``--tune`` tries, besides the arities."""

    standard: bool = True
    """Whether it is among those that are compared unless others are named."""

    raw: bool = False
    """Whether it hashes the vectors as they are in the data set, not centred, scaled and reduced."""

    @property
    def arity(self) -> int:
        """Values of a symbol; a hasher that chooses it by itself is taken at 2."""
        kind = HASHERS[self.hasher]
        default = inspect.signature(kind).parameters.get("arity")
        arity = self.parameters.get("arity", kind.arity if default is None else default.default)
        return arity if isinstance(arity, int) else 2

    @property
    def takes_arity(self) -> bool:
        """Whether the arity is a parameter of the hasher."""
        return "arity" in inspect.signature(HASHERS[self.hasher]).parameters

    def layout(self, axis: str, length: int, arity: int | None = None) -> CodeLayout:
        """The layout at a length: that many symbols, or as many as fit into so many bits."""
        arity = self.arity if arity is None else arity
        per_symbol = (arity - 1).bit_length() if axis == "bits" else 1
        return CodeLayout(max(1, length // per_symbol), arity)

    def make(self, layout: CodeLayout, seed: int, **parameters: Any) -> Hasher:
        """The hasher for codes of this layout, not fitted yet and silent."""
        known = inspect.signature(HASHERS[self.hasher]).parameters
        given: dict[str, Any] = {"n_symbols": layout.n_symbols, "random_state": seed, "verbose": False, "n_jobs": 1}
        if self.takes_arity:
            given["arity"] = layout.arity
        chosen = {name: value for name, value in given.items() if name in known}
        return HASHERS[self.hasher](**(chosen | self.parameters | parameters))

    def candidates(self, axis: str, length: int) -> list[dict[str, list[Any]]]:
        """The grids that ``--tune`` searches at a length: the paper's K, ρ and λ, or what the method has instead."""
        arities = ARITIES if self.takes_arity and "arity" not in self.parameters else (self.arity,)
        layouts = [self.layout(axis, length, arity) for arity in arities]
        grids: list[dict[str, list[Any]]] = []
        for layout in layouts:
            arity = {"arity": [layout.arity]} if self.takes_arity else {}
            grids.append({"n_symbols": [layout.n_symbols]} | arity | self.grid)
        return grids


ARITIES = (2, 4, 8)

GRIDS: dict[str, dict[str, list[Any]]] = {
    "RSH": {"rho": [0.35, 0.7, 1.4], "lam": [0.5, 1.0, 2.0]},
    "SRSH": {"rho": [0.5, 1.0, 2.0], "lam": [0.5, 1.0, 2.0]},
    "MLH": {"lam": [0.5, 1.0, 2.0]},
}
"""The parameters that are tuned; MLH chooses its ρ by itself, the others have none but the arity."""

VARIANTS = (
    Method("WTA p=4", "WTA", {"arity": 4, "degree": 4}),
    Method("WTA raw", "WTA", {"arity": 4}, raw=True),
    Method("AGH two layers", "AGH", {"layers": 2}),
    Method("SRSH bound", "SRSH", {"update": "bound"}, GRIDS["SRSH"]),
    Method("JRSH radius 2", "JRSH", {"target": "radius", "radius": 2}, standard=False),
    Method("JRSH radius 3", "JRSH", {"target": "radius", "radius": 3}, standard=False),
    Method("JRSH radius 2 K=4", "JRSH", {"arity": 4, "target": "radius", "radius": 2}, standard=False),
    Method("MLH rho=3", "MLH", {"rho": 3}, standard=False),
    *(Method(f"JRSH K={arity}", "JRSH", {"arity": arity}, standard=False) for arity in (4, 16)),
    Method("RSH untrained", "RSH", {"learning_rate": 0.0}, standard=False),
    Method("RSH batch", "RSH", {"mode": "batch"}, GRIDS["RSH"], standard=False),
)
"""WTA as the paper sets it and over dimensions whose order means something, AGH's second layer, SRSH with the paper's
own update, JRSH and MLH for look-ups, JRSH with more values a symbol, and what RSH gains by learning."""

METHODS: dict[str, Method] = {
    method.name: method for method in (*(Method(name, name, {}, GRIDS.get(name, {})) for name in HASHERS), *VARIANTS)
}
"""Every method that can be compared, by name."""


def choose_methods(names: Iterable[str] | None = None) -> list[Method]:
    """The methods of those names, in any case of letters; all standard ones for None.

    >>> [method.name for method in choose_methods(["lsh", "SRSH"])]
    ['LSH', 'SRSH']
    """
    if names is None:
        return [method for method in METHODS.values() if method.standard]
    lower = {name.lower(): method for name, method in METHODS.items()}
    chosen: dict[str, Method] = {}
    for name in names:
        if name.lower() not in lower:
            raise unknown_name("method", name, METHODS)
        method = lower[name.lower()]
        chosen[method.name] = method
    return list(chosen.values())
