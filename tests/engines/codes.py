"""Codes with many ties, in PostgreSQL and in a FlatIndex."""

from __future__ import annotations

import numpy as np

from rankhash import CodeLayout, FlatIndex
from rankhash.engines.postgres import PostgresIndex

LAYOUTS = [CodeLayout(33, 2), CodeLayout(20, 3), CodeLayout(16, 4), CodeLayout(11, 8), CodeLayout(9, 16)]


def clustered(rng, layout, n):
    """Codes of a few clusters, with many ties."""
    centres = rng.integers(0, layout.arity, (4, layout.n_symbols))
    symbols = centres[rng.integers(0, 4, n)]
    noise = rng.random(symbols.shape) < 0.3
    return layout.pack(np.where(noise, rng.integers(0, layout.arity, symbols.shape), symbols))


def filled(server, table, codes, layout=LAYOUTS[2], ids=None, **options):
    index = PostgresIndex.create_table(server, table, layout, **options)
    index.add(codes, ids)
    return index


def flat(codes, layout=LAYOUTS[2], ids=None):
    index = FlatIndex(layout)
    index.add(codes, ids)
    return index


def assert_same(found, expected):
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)
        assert one.dtype == other.dtype
