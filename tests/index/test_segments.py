"""Hash tables over the codes: when they are made, joined and dropped, and which keys they have."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from rankhash import (
    CodeLayout,
    InvalidInputError,
    LookupIndex,
)
from rankhash.index._plan import key_spans

from .eager import Eager, EagerStore, clustered
from .model import LAYOUTS, draw


def test_new_codes_get_tables_and_small_tables_are_joined(rng):
    layout = CodeLayout(32, 4)
    index = Eager(layout)
    sizes = []
    for _ in range(60):
        index.add(layout.pack(draw(rng, layout, 100)))
        sizes.append([segment.size for segment in index._store.segments])
        assert len(index) - index._store.n_sealed < 64 + 256
    assert max(map(len, sizes)) <= 5
    assert sizes[-1] == sorted(sizes[-1], reverse=True)


def test_replaced_codes_are_found_at_once_and_many_of_them_make_new_tables(rng):
    layout = CodeLayout(32, 4)
    index = Eager(layout)
    index.add(layout.pack(draw(rng, layout, 512)))
    old = index._store.segments[0]
    code = layout.pack(np.full((1, 32), 3))
    index.upsert(code, [7])
    assert index._store.changed.tolist() == [7]
    assert index.search(code, 1).ids[0, 0] == 7
    index.upsert(np.repeat(code, 200, axis=0), np.arange(200))
    assert len(index._store.changed) == 0
    assert index._store.segments[0] is not old
    assert index.search(code, 3).ids.tolist() == [[0, 1, 2]]


def test_tables_built_during_changes_are_installed_only_if_no_code_has_moved(rng):
    class Later(EagerStore):
        def _seal(self):
            pass

    layout = CodeLayout(32, 4)
    codes = clustered(rng, layout, 1000)
    store = Later(layout)
    store.add(codes, np.arange(1000))
    plan = store.plan()
    store.add(codes, np.arange(1000, 2000))
    store.remove(np.arange(10))
    assert store.install(plan, *plan.make(1))
    assert store.n_sealed == 768
    for change in (lambda: store.write(np.array([900]), codes[:1]), store.compact):
        plan = store.plan()
        change()
        assert not store.install(plan, *plan.make(1))
    assert store.plan().make(1, lambda: True) is None


def test_searches_make_no_tables(rng):
    layout = CodeLayout(32, 4)
    index = Eager(layout)
    index.add(layout.pack(draw(rng, layout, 1000)))
    before = list(index._store.segments)
    index.search(index.get([1]), 5)
    index.search_radius(index.get([1]), 5)
    assert index._store.segments == before


@pytest.mark.parametrize("n_tables", [0, -1, 1.5, True, "many", None])
def test_a_bad_number_of_tables_is_refused(n_tables):
    with pytest.raises(InvalidInputError, match="n_tables must be"):
        LookupIndex(CodeLayout(32, 4), n_tables=n_tables)


@pytest.mark.parametrize("layout", [*LAYOUTS, CodeLayout(4096, 16), CodeLayout(9, 5)], ids=str)
@pytest.mark.parametrize("n_tables", ["auto", 1, 3])
def test_keys_are_disjoint_runs_with_no_more_values_than_fit(layout, n_tables):
    for n in (256, 10_000, 10_000_000):
        spans = key_spans(layout, n, n_tables)
        assert all(a + count <= b for (a, count), (b, _) in pairwise(spans))
        assert spans[-1][0] + spans[-1][1] <= layout.n_symbols
        assert sum(layout.arity**count for _, count in spans) <= max(n, len(spans) * layout.arity)
