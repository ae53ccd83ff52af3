"""Near pairs: what brute force finds, for every plan, instruction set, number of threads and size of range."""

from __future__ import annotations

import os
import signal
import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracles
from rankhash import (
    CodeLayout,
    FlatIndex,
    InvalidInputError,
    LayoutMismatchError,
    LookupIndex,
    _kernels,
    cpu_info,
    near_pairs,
)
from rankhash.duplicates import _plan, pairs


def draw(seed, n_symbols, arity, n):
    """Codes with many near copies of each other."""
    rng = np.random.default_rng(seed)
    centres = rng.integers(0, arity, (n // 5 + 1, n_symbols))
    symbols = centres[rng.integers(0, len(centres), n)]
    noise = rng.random(symbols.shape) < rng.random((n, 1)) * 6 / n_symbols
    return rng, np.where(noise, rng.integers(0, arity, symbols.shape), symbols).astype(np.uint8)


def draw_weights(rng, n_symbols):
    values = rng.random(n_symbols).astype(np.float32)
    values[rng.random(n_symbols) < 0.2] = 0
    return np.round(values, 1) if rng.random() < 0.5 else values


def expected(symbols, others, radius, weights):
    second = symbols if others is None else others
    distances = oracles.hamming(symbols, second)
    if weights is not None:
        distances = oracles.weighted(symbols, second, weights)
    return oracles.near_pairs(distances, radius, others is None)


def assert_same(found, wanted):
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(one, other)


@given(
    seed=st.integers(0, 2**32 - 1),
    n_symbols=st.integers(1, 140),
    arity=st.integers(2, 16),
    n=st.sampled_from([0, 1, 2, 63, 64, 65, 257]),
    radius=st.integers(0, 6),
    n_others=st.sampled_from([None, 0, 1, 65]),
    weighted=st.booleans(),
    threads=st.sampled_from([1, 2, 5]),
    isa_name=st.sampled_from(cpu_info().available),
)
def test_every_plan_finds_what_brute_force_finds(
    seed, n_symbols, arity, n, radius, n_others, weighted, threads, isa_name
):
    rng, symbols = draw(seed, n_symbols, arity, n + (n_others or 0))
    layout = CodeLayout(n_symbols, arity)
    others = None if n_others is None else symbols[n:]
    symbols = symbols[:n]
    weights = draw_weights(rng, n_symbols) if weighted else None
    radius = radius / 3 if weighted else radius
    wanted = expected(symbols, others, radius, weights)
    codes, second = layout.pack(symbols), None if others is None else layout.pack(others)
    before = cpu_info().isa
    _kernels.use_isa(isa_name)
    try:
        near = _plan.nearness(layout, radius, weights)
        for tables in _plan._candidates(layout, near):
            shape = n_symbols, arity
            found = _kernels.join(codes, (0, n), second, shape, near, tables, len(wanted[0]), threads)
            assert_same(found, wanted)
            if len(wanted[0]):
                few = len(wanted[0]) - 1
                assert _kernels.join(codes, (0, n), second, shape, near, tables, few, threads) is None
        opened = near_pairs(codes, radius, other=second, layout=layout, weights=weights, n_threads=threads)
        assert_same(opened.to_arrays(), wanted)
    finally:
        _kernels.use_isa(before)


@pytest.mark.parametrize("method", ["tables", "scan"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("cross", [False, True])
def test_ranges_and_batches_give_the_same_pairs_in_order(monkeypatch, method, weighted, cross):
    rng, symbols = draw(3, 40, 5, 900)
    layout = CodeLayout(40, 5)
    weights = draw_weights(rng, 40) if weighted else None
    monkeypatch.setattr(pairs, "_CAPACITY", 50)  # one code has more partners than that
    monkeypatch.setattr(_plan, "_SORT_ROW", 0.0 if method == "tables" else 1e9)
    monkeypatch.setattr(_plan, "_COMPARE_WORD", 0.0)
    other = symbols[::-1][:333] if cross else None
    codes = layout.pack(symbols)
    found = near_pairs(codes, 2, layout=layout, weights=weights, other=None if other is None else layout.pack(other))
    assert found.method == method
    batches = list(found.batches(17))
    assert max(len(batch.first) for batch in batches) == 17
    wanted = expected(symbols, other, 2, weights)
    assert len(wanted[0]) > 500
    assert_same([np.concatenate(parts) for parts in zip(*batches, strict=True)], wanted)
    assert_same(found.to_arrays(), wanted)


@pytest.mark.parametrize("make", [FlatIndex, LookupIndex])
def test_indexes_give_ids_and_leave_removed_codes_out(make):
    _, symbols = draw(4, 32, 4, 300)
    layout = CodeLayout(32, 4)
    index = make(layout)
    ids = np.random.default_rng(0).permutation(1000)[:300]
    index.add(layout.pack(symbols), ids)
    index.remove(ids[:40])
    found = near_pairs(index, 3)
    order = np.argsort(ids[40:])
    first, second, distances = expected(symbols[40:][order], None, 3, None)
    kept = np.sort(ids[40:])
    index.remove(kept[:100])  # after the call: no effect
    assert len(first) > 100
    assert_same(found.to_arrays(), (kept[first], kept[second], distances))
    between = near_pairs(layout.pack(symbols[:40]), 3, layout=layout, other=index).to_arrays()
    first, second, distances = expected(symbols[:40], symbols[40:][order][100:], 3, None)
    assert_same(between, (first, kept[100:][second], distances))


def test_too_many_pairs_are_refused_with_an_estimate():
    codes = np.zeros((3000, 8), np.uint8)
    with pytest.raises(InvalidInputError, match=r"about 4\.5e\+06 pairs lie within the radius, more than max_p"):
        near_pairs(codes, 3, max_pairs=1000)
    assert len(near_pairs(codes, 3).to_arrays().first) == 3000 * 2999 // 2


def test_a_limit_holds_where_the_sample_saw_nothing():
    codes = np.random.default_rng(0).integers(0, 256, (100_000, 16), dtype=np.uint8)
    codes[50_000:50_020] = 0
    found = near_pairs(codes, 3, max_pairs=100)
    assert found.estimate == 0
    assert found.method == "tables"
    with pytest.raises(InvalidInputError, match=r"about \S+ pairs lie within the radius, more than max_pairs=100;"):
        found.to_arrays()
    assert len(near_pairs(codes, 3, max_pairs=190).to_arrays().first) == 190


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"radius": -1}, "radius must be a finite number"),
        ({"radius": np.nan}, "radius must be a finite number"),
        ({"codes": np.zeros((3, 8))}, "codes without a layout must be uint8"),
        ({"layout": CodeLayout(16, 4)}, r"must have the shape \(n, 4\)"),
        ({"weights": [1.0, 2.0]}, "one for each of 64 symbols"),
        ({"weights": np.full(64, -1.0)}, "finite and not negative"),
        ({"weights": np.full(64, 3e38)}, "finite and not negative"),
        ({"other": FlatIndex(CodeLayout(32, 4))}, "other must have codes of 64 symbols of arity 2, got 32 of arity 4"),
        ({"max_pairs": -1}, "max_pairs must be a non-negative integer"),
        ({"n_threads": 0}, "n_threads must be a positive integer"),
    ],
)
def test_bad_input_gets_one_sentence(arguments, message):
    arguments = {"codes": np.zeros((3, 8), np.uint8), "radius": 1} | arguments
    with pytest.raises(InvalidInputError, match=message):
        near_pairs(**arguments)


def test_the_layout_of_an_index_is_not_another_one():
    with pytest.raises(LayoutMismatchError, match="layout must be that of the index"):
        near_pairs(FlatIndex(CodeLayout(32, 4)), 1, layout=CodeLayout(64, 2))


def test_ctrl_c_ends_a_join():
    codes = np.random.default_rng(0).integers(0, 256, (300_000, 2), dtype=np.uint8)
    layout = CodeLayout(16, 2)
    tables = next(iter(_plan._candidates(layout, _plan.nearness(layout, 3, None))))
    timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):  # would take minutes
        _kernels.join(codes, (0, len(codes)), None, (16, 2), _plan.nearness(layout, 0, None), tables, 2**60, 2)
    timer.join()


def test_correlated_symbols_are_spread_over_runs():
    rng = np.random.default_rng(0)
    symbols = rng.integers(0, 2, (20_000, 64)).astype(np.uint8)
    symbols[:, :16] = 0  # the first of four runs of neighbouring symbols says nothing
    found = near_pairs(CodeLayout(64, 2).pack(symbols), 3)
    assert found.method == "tables"
    runs = found._join.plan.tables.runs
    assert not any(int(run) & 0xFFFF == int(run) for run in runs[:, 0])
