"""Groups of near-duplicates: [`duplicate_groups`][rankhash.duplicate_groups]."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from .. import _kernels
from .._checks import check_choice
from .._types import I64, U8, Array
from ..codes import CodeLayout
from ..errors import InvalidInputError
from ..index import Index
from ._complete import CompleteLinkage
from ._inputs import as_join_codes
from .pairs import MAX_PAIRS, NearPairs, Pairs, near_pairs

LINKS = ("single", "complete")

Keep = str | ArrayLike | Callable[[I64], int]


@dataclass(frozen=True)
class DuplicateGroups:
    """Groups of two or more near-duplicates.

    Attributes
    ----------
    groups : list of ndarray
        The ids of each group, ascending; groups in the order of their smallest ids.
    keep : ndarray (n_groups,)
        The id of each group that is kept.
    """

    groups: list[I64]
    keep: I64

    def __len__(self) -> int:
        return len(self.groups)

    def __repr__(self) -> str:
        return f"DuplicateGroups({len(self)} groups, {len(self.drop)} ids to drop)"

    @property
    def drop(self) -> I64:
        """All ids of groups that are not kept, ascending."""
        dropped = [ids[ids != kept] for ids, kept in zip(self.groups, self.keep, strict=True)]
        return np.sort(np.concatenate([np.empty(0, np.int64), *dropped]))

    def labels(self, ids: ArrayLike) -> I64:
        """The number of the group of each id, -1 for ids that are in no group."""
        wanted = np.asarray(ids, np.int64)
        members = np.concatenate([np.empty(0, np.int64), *self.groups])
        numbers = np.repeat(np.arange(len(self)), [len(group) for group in self.groups])
        order = np.argsort(members)
        places = np.searchsorted(members[order], wanted)
        places[places == len(members)] = 0
        if not len(members):
            return np.full(len(wanted), -1, np.int64)
        found: I64 = np.where(members[order][places] == wanted, numbers[order][places], -1)
        return found


def duplicate_groups(
    source: NearPairs | Pairs | Iterable[Pairs] | Index | ArrayLike,
    radius: float | None = None,
    *,
    link: str = "single",
    keep: Keep = "first",
    layout: CodeLayout | None = None,
    weights: ArrayLike | None = None,
    max_pairs: int | None = MAX_PAIRS,
    n_threads: int | None = None,
) -> DuplicateGroups:
    """Groups of ids that near pairs connect, and which id of each group to keep.

    Parameters
    ----------
    source
        With a ``radius``, an index or codes; equal codes are compared once, so that exact copies cost little. Without
        it, pairs: the result of [`near_pairs`][rankhash.near_pairs] for one set of codes, or pairs of another origin.
    radius
        The largest distance of near codes; None (default) takes ``source`` for pairs.
    link
        ``"single"`` (default): connected components, so that two members may be farther apart than the radius.
        ``"complete"``: all members of a group are within the radius of each other; the groups are those of
        agglomerative clustering with complete linkage, and of equal distances smaller ids are merged first. It keeps
        all pairs in memory.
    keep
        Which id to keep: ``"first"`` (default), the smallest, which is the oldest where ids ascend with time;
        ``"last"``, the largest; an array with a value for each id 0, 1, …, of which the largest wins (of equal values
        the smaller id), such as file sizes; or a function from the ids of a group to one of them.
    layout, weights, n_threads
        As in [`near_pairs`][rankhash.near_pairs], None by default; ignored without a ``radius``.
    max_pairs
        As in [`near_pairs`][rankhash.near_pairs]; 1,000,000,000 by default.

    Examples
    --------
    >>> import numpy as np
    >>> from rankhash import duplicate_groups, near_pairs
    >>> codes = np.array([[0b0000], [0b0001], [0b0011], [0b11110000]], np.uint8)
    >>> found = duplicate_groups(codes, radius=1)
    >>> found.groups, found.drop
    ([array([0, 1, 2])], array([1, 2]))
    """
    check_choice("link", link, LINKS)
    if radius is None:
        groups = linked(source, link)
    else:
        given = as_join_codes(source, layout)  # type: ignore[arg-type]
        distinct = DistinctCodes.of(given.codes)
        options = {"layout": given.layout, "weights": weights, "max_pairs": max_pairs, "n_threads": n_threads}
        pairs = near_pairs(given.codes[distinct.first], radius, **options)  # type: ignore[arg-type]
        groups = [given.named(group) for group in distinct.groups_of_all(linked(pairs, link))]
    return kept_of(groups, keep)


def kept_of(groups: list[I64], keep: Any) -> DuplicateGroups:
    """The groups, and the member of each that is kept."""
    chooser = _chooser(keep)
    return DuplicateGroups(groups, np.array([chooser(ids) for ids in groups], np.int64))


def linked(source: Any, link: str) -> list[I64]:
    """The groups of pairs: ascending ids, in the order of their smallest ids."""
    batches = [source] if isinstance(source, Pairs) else source
    return _components(batches) if link == "single" else _complete(batches)


class DistinctCodes(NamedTuple):
    """Codes without repetition."""

    first: I64
    """(n_distinct,): the first position of each distinct code, ascending"""

    same: I64
    """(n,): the number of the distinct code that each code equals"""

    @classmethod
    def of(cls, codes: U8) -> DistinctCodes:
        """The distinct codes among codes (n, n_bytes)."""
        n, width = codes.shape
        padded = np.zeros((n, -(-width // 8) * 8), np.uint8)
        padded[:, :width] = codes
        words = padded.view(np.uint64)
        order = np.lexsort(words.T)  # stable: the first of equal codes comes first
        new = np.ones(n, dtype=bool)
        new[1:] = (words[order[1:]] != words[order[:-1]]).any(axis=1)
        found = np.empty(n, np.int64)
        found[order] = order[new][np.cumsum(new) - 1] if n else order
        first, same = np.unique(found, return_inverse=True)
        return cls(first, same)

    def groups_of_all(self, groups: list[I64]) -> list[I64]:
        """The groups of distinct codes, as indexes into ``first``, with all copies; and groups of copies alone."""
        roots = np.arange(len(self.first))
        for group in groups:
            roots[group] = group[0]
        everything = _grouped(np.arange(len(self.same)), self.first[roots][self.same])
        return [group for group in everything if len(group) > 1]


def _components(batches: Iterable[Pairs]) -> list[I64]:
    """Connected components; memory grows with the ids that occur, not with the pairs."""
    ids = np.empty(0, np.int64)
    parents = np.empty(0, np.int64)
    for batch in batches:
        known = np.unique(np.concatenate([ids, batch.first, batch.second]))
        if len(known) > len(ids):  # smaller ids may come later: places move, but keep their order
            moved, places = np.arange(len(known)), np.searchsorted(known, ids)
            moved[places] = places[parents]
            ids, parents = known, moved
        _kernels.connect(parents, np.searchsorted(ids, batch.first), np.searchsorted(ids, batch.second))
    return _grouped(ids, _roots(parents))


def _complete(batches: Iterable[Pairs]) -> list[I64]:
    arrays = list(batches) or [Pairs(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.float32))]
    first, second, distances = (np.concatenate(parts) for parts in zip(*arrays, strict=True))
    ids, places = np.unique(np.concatenate([first, second]), return_inverse=True)
    parents = np.arange(len(ids))
    for child, parent in CompleteLinkage(places[: len(first)], places[len(first) :], distances).run().items():
        parents[child] = parent
    return [group for group in _grouped(ids, _roots(parents)) if len(group) > 1]


def _roots(parents: I64) -> I64:
    while True:
        next_parents = parents[parents]
        if np.array_equal(next_parents, parents):
            return parents
        parents = next_parents


def _grouped(ids: I64, roots: I64) -> list[I64]:
    order = np.argsort(roots, kind="stable")
    cuts = np.flatnonzero(np.diff(roots[order])) + 1
    return np.split(ids[order], cuts) if len(ids) else []


def _chooser(keep: Keep) -> Callable[[I64], int]:
    if isinstance(keep, str):
        check_choice("keep", keep, ("first", "last"))
        return lambda ids: int(ids[0] if keep == "first" else ids[-1])
    if callable(keep):
        return lambda ids: _checked_choice(keep(ids), ids)
    values: Array = np.asarray(keep)
    if values.ndim != 1 or values.dtype.kind not in "iuf":
        raise InvalidInputError(f"keep must be a word, numbers by id or a function, got {keep!r:.80}")
    return lambda ids: _largest(values, ids)


def _largest(values: Array, ids: I64) -> int:
    if ids[-1] >= len(values):
        raise InvalidInputError(f"keep must have a value for every id, but has {len(values)} and there is id {ids[-1]}")
    return int(ids[np.argmax(values[ids])])


def _checked_choice(chosen: Any, ids: I64) -> int:
    if not np.isin(chosen, ids).all() or np.ndim(chosen):
        raise InvalidInputError(f"keep must return one of the ids of a group, got {chosen!r:.80}")
    return int(chosen)
