"""The methods that experiments compare: every hasher with its default parameters, and some named variants.

A hasher that is added to `HASHERS` is compared automatically.
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
    """A hasher class with fixed parameters, which can be constructed for any code length.

    Parameters
    ----------
    name
        Name in reports.
    hasher
        Name of the class in `HASHERS`.
    parameters
        Parameters that differ from the defaults; default none.
    grid
        Parameters that ``--tune`` searches in addition to the arities; default none.
    standard
        Whether the method is compared when no methods are named; default True.
    raw
        Whether it hashes the vectors as they are in the data set, instead of centred, scaled and reduced by PCA;
        default False.

    Examples
    --------
    >>> method = METHODS["RSH"]
    >>> method.layout("symbols", 32).bits, method.layout("bits", 32).n_symbols
    (64, 16)
    """

    name: str
    hasher: str
    parameters: dict[str, Any] = field(default_factory=dict)
    grid: dict[str, list[Any]] = field(default_factory=dict)
    standard: bool = True
    raw: bool = False

    @property
    def arity(self) -> int:
        """Number of values per symbol; 2 for a hasher that chooses its arity itself."""
        kind = HASHERS[self.hasher]
        default = inspect.signature(kind).parameters.get("arity")
        arity = self.parameters.get("arity", kind.arity if default is None else default.default)
        return arity if isinstance(arity, int) else 2

    @property
    def takes_arity(self) -> bool:
        """Whether the hasher has a parameter ``arity``."""
        return "arity" in inspect.signature(HASHERS[self.hasher]).parameters

    def layout(self, axis: str, length: int, arity: int | None = None) -> CodeLayout:
        """The layout at a length: ``length`` symbols, or as many symbols as fit into ``length`` bits."""
        arity = self.arity if arity is None else arity
        per_symbol = (arity - 1).bit_length() if axis == "bits" else 1
        return CodeLayout(max(1, length // per_symbol), arity)

    def make(self, layout: CodeLayout, seed: int, **parameters: Any) -> Hasher:
        """An unfitted, silent hasher for codes of this layout."""
        known = inspect.signature(HASHERS[self.hasher]).parameters
        given: dict[str, Any] = {"n_symbols": layout.n_symbols, "random_state": seed, "verbose": False, "n_jobs": 1}
        if self.takes_arity:
            given["arity"] = layout.arity
        chosen = {name: value for name, value in given.items() if name in known}
        return HASHERS[self.hasher](**(chosen | self.parameters | parameters))

    @property
    def nested(self) -> bool:
        """Whether the first symbols of a longer code are a shorter code: then ``--tune`` learns the longest only."""
        return bool(getattr(self.make(CodeLayout(8, self.arity), 0), "nested", False))

    def candidates(self, axis: str, length: int) -> list[dict[str, list[Any]]]:
        """The parameter grids that ``--tune`` searches at a length: the paper's K, ρ and λ, or the method's own."""
        return self.grids([(axis, length)])

    def grids(self, places: Iterable[tuple[str, int]]) -> list[dict[str, list[Any]]]:
        """The parameter grids of several axes and lengths, one for each arity."""
        places, grids = list(places), []
        for arity in ARITIES if self.takes_arity and "arity" not in self.parameters and self.grid else (self.arity,):
            lengths = sorted({self.layout(axis, length, arity).n_symbols for axis, length in places})
            given: dict[str, list[Any]] = {"arity": [arity]} if self.takes_arity else {}
            grids.append({"n_symbols": lengths} | given | self.grid)
        return grids


ARITIES = (2, 4, 8)

GRIDS: dict[str, dict[str, list[Any]]] = {
    "RSH": {"rho": [0.35, 0.7, 1.4], "lam": [0.5, 1.0, 2.0]},
    "SRSH": {"rho": [0.5, 1.0, 2.0], "lam": [0.5, 1.0, 2.0]},
    "MLH": {"epsilon": ["auto"]},
}
"""Parameters that are tuned in addition to the arity. MLH chooses ρ, λ and ε itself, on held-out training vectors. All
other methods have no tuned parameters."""

VARIANTS = (
    Method("WTA p=4", "WTA", {"arity": 4, "degree": 4}),
    Method("WTA raw", "WTA", {"arity": 4}, raw=True),
    Method("WTA raw p=4", "WTA", {"arity": 4, "degree": 4}, raw=True),
    Method("AGH two layers", "AGH", {"layers": 2}),
    Method("DGH eigenvectors", "DGH", {"start": "eigenvectors"}),
    Method("CRO fast", "CRO", {"fast": True}),
    Method("CRO K=16", "CRO", {"arity": 16}),
    Method("SRSH bound", "SRSH", {"update": "bound"}, GRIDS["SRSH"]),
    Method("RSH paper", "RSH", {"update": "paper", "learning_rate": 0.03}, GRIDS["RSH"], standard=False),
    Method("SRSH paper", "SRSH", {"update": "paper"}, GRIDS["SRSH"], standard=False),
    Method("SRSH paper sampling", "SRSH", {"update": "paper-sampling"}, GRIDS["SRSH"], standard=False),
    Method("JRSH radius 2", "JRSH", {"target": "radius", "radius": 2}, standard=False),
    Method("JRSH radius 3", "JRSH", {"target": "radius", "radius": 3}, standard=False),
    Method("JRSH radius 2 K=4", "JRSH", {"arity": 4, "target": "radius", "radius": 2}, standard=False),
    Method("MLH rho=3", "MLH", {"rho": 3}, standard=False),
    *(Method(f"JRSH K={arity}", "JRSH", {"arity": arity}, standard=False) for arity in (4, 16)),
    Method("RSH untrained", "RSH", {"learning_rate": 0.0}, standard=False),
    Method("RSH batch", "RSH", {"mode": "batch"}, GRIDS["RSH"], standard=False),
)
"""WTA with the paper's settings, and with p = 1 and p = 4 on the unrotated vectors of the data set (products need
non-negative ones, such as pixels and Gist), AGH with its second layer, DGH without the rotation, CRO with the fast
transform and with as many values per symbol as PermutationCodes, SRSH with the paper's own loss,
RSH and SRSH by the paper's algorithms as printed, with both readings of SRSH's weights,
JRSH and MLH trained for look-up, JRSH with a larger arity, RSH untrained and in batch mode."""

SCANNED = {"RankQuantizer"}
"""Hashers whose codes are meant for scans with score tables, not for Hamming distance: compared only if named."""

METHODS: dict[str, Method] = {
    **{name: Method(name, name, {}, GRIDS.get(name, {}), standard=name not in SCANNED) for name in HASHERS},
    **{method.name: method for method in VARIANTS},
}
"""Every method that can be compared, by name."""


def choose_methods(names: Iterable[str] | None = None) -> list[Method]:
    """The methods with these names, ignoring case; all standard methods for None (default).

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
