"""Retrieval across views by codes: mean average precision, precision-recall curves, recall of the partner.

::

    hasher, queries and database (vectors of every view) ─▶ Direction per ordered pair of views ─▶ Counts ─▶ metrics

Items at equal distance are tied: every number is its expected value over all orders of the ties.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._types import F64
from ..errors import InvalidInputError
from ..hashers import ViewHasher
from .counts import Counts, count_codes, ratio
from .truth import ClassTruth, IdTruth, Truth

RECALLS = np.linspace(0.05, 1, 20)
"""Recalls at which a curve is given."""


@dataclass(frozen=True)
class Direction:
    """Queries of one view against a database of another.

    Attributes
    ----------
    source, target : str
        Names of the views of the queries and of the database.
    counts : Counts
        Items and relevant items per query and distance.
    """

    source: str
    target: str
    counts: Counts

    @property
    def name(self) -> str:
        """The name, such as ``"picture → text"``."""
        return f"{self.source} → {self.target}"

    def mean_average_precision(self, k: int | None = None) -> float:
        """The mean over queries with a relevant item; of the first ``k`` items, or of all for None (the default).

        Of k items, the precision at every relevant item is summed and divided by the number of relevant items, at
        most k.
        """
        values = self.counts.query_average_precision() if k is None else average_precision_at(self.counts, k)
        return float(np.nanmean(values))

    def precision_recall(self) -> tuple[F64, F64]:
        """Recalls .05, .1, … 1, and the mean over queries of the precision at the first distance that reaches them."""
        precision, recall = self.counts.query_precision_recall()
        known = self.counts.n_relevant > 0
        reached = (recall[known][:, None, :] >= RECALLS[:, None] - 1e-12).argmax(axis=2)
        return RECALLS, np.take_along_axis(precision[known], reached, axis=1).mean(axis=0)

    def recall_at(self, k: int) -> float:
        """Mean expected fraction of the relevant items among the first ``k``."""
        return float(np.nanmean(self.counts.recall_at(k)))


def average_precision_at(counts: Counts, k: int) -> F64:
    """Expected Σ precision at relevant items among the first k, divided by min(relevant, k), per query.

    A level with f items, h of them relevant, after N items, H of them relevant: its i-th place is relevant with
    probability h/f and has then the expected precision (H + 1 + (i-1)(h-1)/(f-1)) / (N+i).

    >>> counts = Counts.of(np.array([[0, 1, 1, 3]]), np.array([[True, True, False, False]]))
    >>> average_precision_at(counts, 2), average_precision_at(counts, 4), counts.query_average_precision()
    (array([0.75]), array([0.91666667]), array([0.91666667]))
    """
    f, h = counts.found.astype(np.float64), counts.hits.astype(np.float64)
    before, hits_before = f.cumsum(axis=1) - f, h.cumsum(axis=1) - h
    slope = np.maximum(h - 1, 0) / np.maximum(f - 1, 1)
    total = np.zeros(len(f))
    for place in range(1, min(k, counts.n_items) + 1):
        level = ((before < place) & (before + f >= place)).argmax(axis=1)
        row = np.arange(len(f)), level
        inside = place - before[row]
        chance = h[row] / np.maximum(f[row], 1)
        total += chance * (hits_before[row] + 1 + (inside - 1) * slope[row]) / place
    wanted = np.minimum(h.sum(axis=1), k)
    return ratio(total, wanted)


def evaluate_views(
    hasher: ViewHasher, queries: Sequence[Any], y_queries: Any, database: Sequence[Any], y_database: Any
) -> list[Direction]:
    """Every view's queries against the database of every other view; items of one class are relevant.

    Parameters
    ----------
    hasher
        A fitted hasher of several views.
    queries, database
        Vectors of every view, in the order of the hasher's views.
    y_queries, y_database
        Classes ``(n,)`` or label indicators ``(n, n_labels)``; items that share a label are relevant.

    Examples
    --------
    >>> from rankhash.hashers import LSRH
    >>> rng = np.random.default_rng(0)
    >>> y, pictures, texts = rng.integers(0, 3, 300), rng.normal(size=(3, 8)), rng.normal(size=(3, 5))
    >>> X, Z = pictures[y] + rng.normal(size=(300, 8)) / 2, texts[y] + rng.normal(size=(300, 5)) / 2
    >>> hasher = LSRH(8, random_state=0).fit({"picture": X[50:], "text": Z[50:]}, y[50:])
    >>> found = evaluate_views(hasher, (X[:50], Z[:50]), y[:50], (X[50:], Z[50:]), y[50:])
    >>> [one.name for one in found], all(one.mean_average_precision() > 0.7 for one in found)
    (['picture → text', 'text → picture'], True)
    """
    return list(_directions(hasher, queries, database, ClassTruth(y_queries, y_database)))


def partner_directions(hasher: ViewHasher, views: Sequence[Any]) -> list[Direction]:
    """Every view's rows against the rows of every other view; only the row of the same item is relevant."""
    own = np.arange(len(views[0]))[:, None]
    return list(_directions(hasher, views, views, IdTruth(own)))


def _directions(
    hasher: ViewHasher, queries: Sequence[Any], database: Sequence[Any], truth: Truth
) -> Iterator[Direction]:
    names, layout = hasher.views_, hasher.layout_
    for part in (queries, database):
        if len(part) != len(names):
            raise InvalidInputError(f"the hasher has {len(names)} views, but vectors of {len(part)} were given")
    asked, stored = (
        [hasher.encode(vectors, view=place) for place, vectors in enumerate(part)] for part in (queries, database)
    )
    for source, target in ((a, b) for a in range(len(names)) for b in range(len(names)) if a != b):
        yield Direction(names[source], names[target], count_codes(asked[source], stored[target], layout, truth))
