"""The training data of hashers of several views: the vectors of every view, and the similarity of the items."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..._types import I8, I32, I64
from ...errors import InvalidInputError
from ...similarity import PairSource, label_source, random_pairs
from ...vectors import VectorBatches
from ..training import Training


@dataclass(frozen=True)
class ViewTraining(Training):
    """The arguments of ``fit``: the vectors of every view, and the given similarity of the items."""

    views: tuple[VectorBatches, ...]
    names: tuple[str, ...]

    @property
    def n_items(self) -> int:
        """Number of items; each has one row in every view."""
        return self.vectors.n_rows

    def item_pairs(self) -> PairSource:
        """The source of the given classes or pairs; without any, an item is similar to itself alone."""
        known = label_source(self.y, self.similarity, self.n_items)
        return SelfPairs(self.n_items) if known is None else known


class SelfPairs(PairSource):
    """Every two items are dissimilar: only the views of one item are similar."""

    def __init__(self, n_points: int) -> None:
        self.n_points = n_points
        self.n_similar, self.n_dissimilar = 0.0, n_points * (n_points - 1) / 2

    def labels_of(self, pairs: I32) -> I8:
        """0 for every pair."""
        return np.zeros(len(pairs), np.int8)

    def labels_among(self, rows: I64) -> I8:
        """0 for every pair; -1 on the diagonal."""
        labels = np.zeros((len(rows), len(rows)), np.int8)
        labels[rows[:, None] == rows] = -1
        return labels

    def subset(self, rows: I64) -> SelfPairs:
        """The source of fewer items."""
        return SelfPairs(len(rows))

    def _draw_similar(self, rng: np.random.Generator, size: int) -> I32:  # noqa: ARG002
        raise InvalidInputError("paired rows alone say nothing about the similarity of two items")

    def _draw_dissimilar(self, rng: np.random.Generator, size: int) -> I32:
        return random_pairs(rng, size, self.n_points)


def labels_across(source: PairSource, rows: I64) -> I8:
    """Labels ``(m, m)`` of a row of one view with a row of another: 1 for the same item as well."""
    labels = source.labels_among(rows)
    labels[rows[:, None] == rows] = 1
    return labels
