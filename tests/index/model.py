"""An index as a dictionary, slow and obvious, and codes to fill it with."""

from __future__ import annotations

import numpy as np

import oracles
from rankhash import (
    CodeLayout,
)

LAYOUTS = [CodeLayout(32, 4), CodeLayout(64, 2), CodeLayout(16, 16), CodeLayout(13, 7), CodeLayout(1, 3)]
SIZES = [0, 1, 63, 64, 65, 256, 700]


class Model:
    """The same index as a dictionary: slow and obvious."""

    def __init__(self, layout):
        self.layout = layout
        self.symbols = {}

    def put(self, symbols, ids):
        self.symbols.update(zip(map(int, ids), symbols, strict=True))

    def arrays(self, keep=None):
        ids = np.array(sorted(i for i in self.symbols if keep is None or i in keep), np.int64)
        rows = [self.symbols[int(i)] for i in ids]
        return ids, np.array(rows, np.uint8).reshape(len(ids), self.layout.n_symbols)


def draw(rng, layout, n):
    """Symbols of a few clusters, with many ties."""
    centres = rng.integers(0, layout.arity, (4, layout.n_symbols))
    symbols = centres[rng.integers(0, 4, n)]
    noise = rng.random(symbols.shape) < 0.3
    return np.where(noise, rng.integers(0, layout.arity, symbols.shape), symbols).astype(np.uint8)


def assert_same(found, expected):
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)


class IndexCase:
    """What the parts of the contract share: an index with its model, and the comparison of both."""

    make = None  # the class of index

    def most_bytes(self, index):
        """Bytes a code that an index without explicit ids may hold."""
        return 1.1 * index.layout.bits / 8

    def filled(self, rng, layout, n, ids=None):
        index, model = self.make(layout), Model(layout)
        symbols = draw(rng, layout, n)
        model.put(symbols, index.add(layout.pack(symbols), ids))
        return index, model

    def check(self, index, model, rng, k=7):
        """All searches against brute force over the model."""
        layout = index.layout
        queries = draw(rng, layout, 9)
        codes = layout.pack(queries)
        ids, symbols = model.arrays()
        assert len(index) == len(ids)
        np.testing.assert_array_equal(index.ids, ids)
        np.testing.assert_array_equal(index.get(ids), layout.pack(symbols))
        distances = oracles.hamming(queries, symbols)
        assert_same(index.search(codes, k), oracles.nearest(distances, ids, k))
        assert_same(index.search(codes[:1], k), oracles.nearest(distances[:1], ids, k))
        assert_same(index.search_radius(codes, 2), oracles.within(distances, ids, 2))
        assert_same(index.search_radius(codes[:1], 2), oracles.within(distances[:1], ids, 2))
        assert_same(index.search_radius(codes[:1], 9), oracles.within(distances[:1], ids, 9))
        weights = rng.integers(0, 4, layout.n_symbols) / 2
        heavy = oracles.weighted(queries, symbols, weights)
        assert_same(index.search(codes, k, weights=weights), oracles.nearest(heavy, ids, k))
        assert_same(index.search_radius(codes, 1.5, weights=weights), oracles.within(heavy, ids, 1.5))
        tables = rng.normal(size=(9, layout.n_symbols, layout.arity)).astype(np.float32)
        sums = oracles.table_sums(tables, symbols)
        assert_same(index.search_scores(tables, k), oracles.nearest(sums, ids, k))
