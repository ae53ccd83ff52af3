"""A durable search collection in one SQLite file: hasher, codes, ids, metadata and, if wanted, the vectors."""

from ._duplicates import ItemPairs
from .check import check_file
from .collection import Collection
from .results import CheckReport, Item, Matches, RadiusMatches, Stats
from .snapshot import Snapshot

__all__ = [
    "CheckReport",
    "Collection",
    "Item",
    "ItemPairs",
    "Matches",
    "RadiusMatches",
    "Snapshot",
    "Stats",
    "check_file",
]
