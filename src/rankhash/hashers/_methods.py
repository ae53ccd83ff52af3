"""Every method by name, imported when it is looked up: a saved hasher needs one of them, a list of names none."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, TypeVar, cast

if TYPE_CHECKING:
    from .base import Hasher
    from .views import ViewHasher

H = TypeVar("H", bound="Hasher")

ONE_VIEW = {
    "LSH": "lsh",
    "WTA": "wta",
    "RSH": "rsh",
    "SRSH": "srsh",
    "JRSH": "jrsh",
    "RankQuantizer": "rank_quantizer",
    "MLH": "mlh",
    "ITQ": "itq",
    "SpectralHashing": "spectral",
    "KSH": "ksh",
    "SDH": "sdh",
    "KLSH": "klsh",
    "AGH": "agh",
    "BRE": "bre",
    "SPLH": "splh",
    "BSSC": "bssc",
    "MinHash": "minhash",
    "DGH": "dgh",
    "CRO": "cro",
    "PermutationCodes": "permutation_codes",
    "HDML": "hdml",
    "CGHash": "cghash",
    "SemanticHashing": "semantic",
    "ForgivingHash": "forgiving",
    "JSDBoosting": "jsd_boosting",
    "PStableLSH": "pstable_lsh",
}
"""The module of each method of one view"""

SEVERAL_VIEWS = {"CrossJRSH": "cross_jrsh", "LSRH": "lsrh", "SCM": "scm", "CMFH": "cmfh", "CCAITQ": "ccaitq"}
"""The module of each method of several views"""


class Methods(Mapping[str, type[H]]):
    """Classes by their names; a class is imported when it is looked up."""

    def __init__(self, homes: dict[str, str]) -> None:
        self._homes = homes

    def __getitem__(self, name: str) -> type[H]:
        return cast("type[H]", getattr(import_module(f".{self._homes[name]}", __package__), name))

    def __contains__(self, name: object) -> bool:
        return name in self._homes

    def __iter__(self) -> Iterator[str]:
        return iter(self._homes)

    def __len__(self) -> int:
        return len(self._homes)

    def __repr__(self) -> str:
        return f"Methods({', '.join(self)})"


HASHERS: Methods[Hasher] = Methods(ONE_VIEW)
"""Every method of one view by name."""

VIEW_HASHERS: Methods[ViewHasher] = Methods(SEVERAL_VIEWS)
"""Every method of several views by name."""
