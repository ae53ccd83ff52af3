"""What a LookupIndex reports about itself: explanations, statistics, occupancy; and the costs behind its choice."""

from __future__ import annotations

import math

import numpy as np
import pytest

from rankhash import (
    CodeLayout,
    FlatIndex,
    InvalidInputError,
    LookupIndex,
)
from rankhash.index._cost import Calibration, CostModel, best_try
from rankhash.index._segments import TableStore

from .eager import Eager, clustered
from .model import draw


def test_explain_says_what_was_chosen_and_why(rng, monkeypatch):
    monkeypatch.setattr(TableStore, "calibration", lambda _: Calibration(0.4, 0.12, 1.0))
    layout = CodeLayout(32, 4)
    index = LookupIndex(layout)
    index.add(clustered(rng, layout, 1000))
    assert str(index.explain(index.get([0]), 3)).startswith("scan: the index has no hash tables yet")
    index.add(clustered(rng, layout, 60_000))
    near = index.explain(index.get([0]), 3)
    assert near.method == "lookup"
    assert near.estimated_lookup < near.allowed <= near.estimated_scan
    assert not near.statistics.scanned[0]
    assert f"{near.statistics.candidates[0]} codes to compare" in near.reason
    far = index.explain(layout.pack(rng.integers(0, 4, (1, 32))), 3)
    assert far.method == "scan"
    assert "look-up stopped at" in far.reason
    random = LookupIndex(layout)
    random.add(layout.pack(rng.integers(0, 4, (60_000, 32))))
    assert "costs less than look-up" in random.explain(random.get([0]), 10).reason
    with pytest.raises(InvalidInputError, match="one query"):
        index.explain(index.get([0, 1]), 3)


def test_statistics_count_what_happened(rng):
    layout = CodeLayout(12, 4)
    index = Eager(layout, n_tables=1)
    codes = clustered(rng, layout, 5000)
    index.add(codes)
    n_key = index._store.segments[0].spans[0][1]
    counted = index.statistics(codes[:20], radius=2)
    ball = sum(math.comb(n_key, i) * 3**i for i in range(3))
    assert (counted.probes == ball).all()
    assert (counted.hits == np.diff(index.search_radius(codes[:20], 2).offsets)).all()
    assert (counted.buckets <= counted.probes).all()
    assert (counted.candidates + 256 >= counted.hits).all()
    assert (counted.duplicates == 0).all()
    assert (counted.radius == 2).all()
    assert not counted.scanned.any()
    nearest = index.statistics(codes[:20], k=7)
    assert (nearest.hits == 7).all()
    assert (nearest.radius >= index.search(codes[:20], 7).distances[:, -1]).all()
    for k, radius in ((None, None), (3, 2)):
        with pytest.raises(InvalidInputError, match="either k or radius"):
            index.statistics(codes[:1], k=k, radius=radius)


def test_tries_are_as_long_as_makes_their_mean_cost_smallest():
    costs = np.array([10.0, 20.0, 30.0, 900.0, np.inf])
    assert best_try(costs, 1000.0) == pytest.approx((1000 - (10 + 20 + 30 + 2 * 1030) / 5) / 2)
    assert best_try(np.array([10.0, 700.0, 700.0, 700.0]), 1000.0) == pytest.approx(700 * 1.25)
    assert best_try(np.full(64, np.inf), 1000.0) == 0
    assert best_try(np.array([990.0] * 10), 1000.0) == 0
    assert best_try(np.empty(0), 1000.0) == 0


def test_tries_follow_what_a_scan_costs_on_this_machine():
    model = CostModel(1000, {10: np.full(64, 300.0)})
    slow, fast = Calibration(2.0, 0.5, 1.0), Calibration(0.2, 0.05, 1.0)
    assert model.tries(slow, 1000)[10] == (pytest.approx(850.0), pytest.approx(375.0))
    assert model.tries(fast, 1000)[10] == (0.0, 0.0)
    assert model.tries(Calibration(0.2, 0.05, 0.1), 1000)[10] == model.tries(slow, 1000)[10]


@pytest.mark.parametrize("make", [FlatIndex, Eager])
@pytest.mark.parametrize("n_symbols", [6, 40])
def test_occupancy_counts_equal_codes(rng, make, n_symbols):
    layout = CodeLayout(n_symbols, 4)
    index = make(layout)
    symbols = draw(rng, layout, 900)
    symbols[:300] = symbols[0]
    index.add(layout.pack(symbols))
    report = index.occupancy()
    _, sizes = np.unique(symbols, axis=0, return_counts=True)
    assert (report.n_codes, report.n_buckets, report.largest) == (900, len(sizes), sizes.max())
    assert report.entropy == pytest.approx(-(sizes / 900 * np.log2(sizes / 900)).sum())
    assert report.keys[:2] == (1, 1 + 3 * n_symbols)
    assert list(report.hits) == sorted(report.hits)
    assert report.hits[0] == pytest.approx((sizes / 900 * (sizes - 1)).sum(), rel=0.4)
    assert "R = 3" in str(report)


def test_occupancy_of_an_empty_index_is_empty():
    report = FlatIndex(CodeLayout(32, 4)).occupancy()
    assert (report.n_codes, report.n_buckets, report.largest, report.entropy) == (0, 0, 0, 0)
    with pytest.raises(InvalidInputError, match="n_sample"):
        FlatIndex(CodeLayout(32, 4)).occupancy(n_sample=0)
