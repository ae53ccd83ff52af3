"""Near-duplicates: all pairs, groups, and which member of a group to keep.

::

    codes ──────near_pairs──▶ pairs ──duplicate_groups──▶ groups: ids to keep, ids to drop
    hashes ──from_hashes──▶ codes    images ──hash_images──▶ codes    texts ──near_texts──▶ pairs
"""

from __future__ import annotations

from .groups import DuplicateGroups, duplicate_groups
from .images import ImageHashes, from_hashes, hash_images
from .pairs import NearPairs, Pairs, near_pairs
from .texts import near_texts

__all__ = [
    "DuplicateGroups",
    "ImageHashes",
    "NearPairs",
    "Pairs",
    "duplicate_groups",
    "from_hashes",
    "hash_images",
    "near_pairs",
    "near_texts",
]
