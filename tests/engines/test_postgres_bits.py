"""Codes as bit strings, without a server."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("psycopg", reason="the bit strings of PostgreSQL need psycopg: pip install 'rankhash[postgres]'")

from oracles import bit_distances, hamming
from rankhash import CodeLayout
from rankhash.engines.postgres._bits import BitLayout


@given(
    n_symbols=st.integers(1, 70),
    arity=st.integers(2, 16),
    largest=st.integers(1, 4),
    weighted=st.booleans(),
    seed=st.integers(0, 2**32 - 1),
)
def test_bits_rank_codes_and_give_them_back(n_symbols, arity, largest, weighted, seed):
    rng, layout = np.random.default_rng(seed), CodeLayout(n_symbols, arity, "someone's")
    weights = rng.integers(1, largest + 1, n_symbols)
    bits = BitLayout.weighted(layout, weights if weighted else None, None)
    symbols = rng.integers(0, arity, (9, n_symbols)).astype(np.uint8)
    strings = bits.pack(layout.pack(symbols))
    assert strings.shape == (9, bits.n_bytes)
    assert not np.unpackbits(strings, axis=1)[:, bits.n_bits :].any()
    expected = hamming(symbols, symbols)
    if weighted:
        expected = (symbols[:, None] != symbols[None]) @ weights
    np.testing.assert_array_equal(bits.distances(bit_distances(strings, strings)), expected)
    np.testing.assert_array_equal(bits.unpack(strings), layout.pack(symbols))
    assert BitLayout.from_text(bits.to_text()) == bits


@given(radius=st.floats(0, 1e308), weights=st.lists(st.floats(0.001, 1e6), min_size=3, max_size=3))
def test_a_radius_allows_just_the_distances_up_to_it(radius, weights):
    bits = BitLayout.weighted(CodeLayout(3, 4), weights, 15)
    most = bits.most_differing(radius) // bits.scale
    assert most * bits.step <= radius
    assert (most + 1) * bits.step > radius or most >= sum(bits.copies)
