"""Indexes over codes: one contract, one file a kind."""

from ._base import Index
from .flat import FlatIndex

__all__ = ["FlatIndex", "Index"]
