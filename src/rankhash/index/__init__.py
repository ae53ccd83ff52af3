"""Indexes over codes: one contract, one file per kind of index."""

from ._base import Index
from ._occupancy import Occupancy
from ._statistics import Explanation, LookupStatistics
from .flat import FlatIndex
from .lookup import LookupIndex

__all__ = ["Explanation", "FlatIndex", "Index", "LookupIndex", "LookupStatistics", "Occupancy"]
