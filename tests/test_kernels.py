"""Every kernel on every instruction set against its slow twin, with ragged sizes."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import oracles
from rankhash import CodeLayout, InvalidInputError, _kernels, cpu_info

ISAS = cpu_info().available
SHAPES = [
    (64, 2),
    (32, 4),
    (16, 16),
    (128, 2),
    (64, 4),
    (32, 16),
    (1, 2),
    (5, 3),
    (13, 8),
    (20, 5),
    (7, 16),
    (300, 7),
]


def view_of(layout, symbols, live=None):
    codes = layout.pack(symbols)
    blocks = _kernels.allocate_blocks(len(codes), layout.bits)
    _kernels.write_slices(blocks, 0, codes)
    bits = None
    if live is not None:
        bits = np.zeros(len(blocks) * _kernels.SLICE, np.uint8)
        packed = np.packbits(live, bitorder="little")
        bits[: len(packed)] = packed
    return _kernels.CodesView(blocks, len(codes), layout.n_symbols, layout.arity, bits, None, len(codes))


def draw_case(seed, n_symbols, arity, n, n_queries):
    """Codes with many ties and near neighbours: few distinct rows with noise."""
    rng = np.random.default_rng(seed)
    centres = rng.integers(0, arity, (3, n_symbols))
    symbols = centres[rng.integers(0, 3, n + n_queries)]
    noise = rng.random(symbols.shape) < rng.random((len(symbols), 1)) * 0.5
    symbols = np.where(noise, rng.integers(0, arity, symbols.shape), symbols).astype(np.uint8)
    return rng, symbols[:n], symbols[n:]


case = {
    "seed": st.integers(0, 2**32 - 1),
    "n_symbols": st.integers(1, 140),
    "arity": st.integers(2, 16),
    "n": st.sampled_from([0, 1, 63, 64, 65, 255, 256, 257, 700]),
    "n_queries": st.sampled_from([1, 2, 6, 7, 65]),
    "k": st.sampled_from([1, 2, 10, 100, 1000]),
    "share": st.sampled_from([None, 0.0, 0.01, 0.5, 1.0]),
    "threads": st.sampled_from([1, 2, 5]),
    "isa_name": st.sampled_from(ISAS),
}


@settings(max_examples=min(300, 3 * settings().max_examples))
@given(**case)
def test_search_finds_what_brute_force_finds(seed, n_symbols, arity, n, n_queries, k, share, threads, isa_name):
    rng, symbols, queries = draw_case(seed, n_symbols, arity, n, n_queries)
    layout = CodeLayout(n_symbols, arity)
    live = None if share is None else rng.random(n) < share
    kept = np.arange(n) if live is None else np.flatnonzero(live)
    view = view_of(layout, symbols, live)
    tables = rng.normal(size=(n_queries, n_symbols, arity)).astype(np.float32)
    if seed % 2:
        tables = np.round(tables)  # ties
    before = cpu_info().isa
    _kernels.use_isa(isa_name)
    try:
        by_code = _kernels.search(view, layout.pack(queries), k, threads)
        by_table = _kernels.search_scores(view, tables, k, threads)
        radius = n_symbols // 2
        near = _kernels.search_radius(view, layout.pack(queries), radius, threads)
        low = _kernels.search_scores_radius(view, tables, 0.5, threads)
    finally:
        _kernels.use_isa(before)
    codes, sums = oracles.hamming(queries, symbols[kept]), oracles.table_sums(tables, symbols[kept])
    for found, expected in [
        (by_code, oracles.nearest(codes, kept, k)),
        (by_table, oracles.nearest(sums, kept, k)),
        (near, oracles.within(codes, kept, radius)),
        (low, oracles.within(sums, kept, 0.5)),
    ]:
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("name", ["avx2", "avx512", "neon"])
def test_instruction_sets_that_were_not_compared_are_named(name):
    if name not in ISAS:
        pytest.skip(f"this machine has no {name}: its kernels are compared with nothing here")
    assert name in ISAS


@pytest.mark.parametrize(("n_symbols", "arity"), [(32, 4), (64, 2), (16, 16), (9, 3), (128, 2), (40, 16)])
@pytest.mark.parametrize("k", [32, 100, 1000, 3000])
@pytest.mark.parametrize("n_runs", [8, 9], ids=["Hamming", "tables"])
def test_many_neighbours_are_found_whatever_the_sample_says(rng, isa, n_symbols, arity, k, n_runs):
    """Enough blocks for a sampled limit: random codes, and near codes that lie all in sampled blocks, or in none."""
    layout, n = CodeLayout(n_symbols, arity), 40_000
    symbols = rng.integers(0, arity, (n, n_symbols)).astype(np.uint8)
    queries = rng.integers(0, arity, (9, n_symbols)).astype(np.uint8)
    for run in range(n_runs):
        first = 157 * run // n_runs * 256
        symbols[first : first + 300] = np.where(rng.random((300, n_symbols)) < 0.2, 0, queries[0])
        symbols[first + 2000 : first + 2300] = queries[1]
    live = rng.random(n) < 0.5
    tables = rng.normal(size=(9, n_symbols, arity)).astype(np.float32)
    tables[:3] = np.round(tables[:3])
    for chosen in (None, live):
        view, kept = view_of(layout, symbols, chosen), np.arange(n) if chosen is None else np.flatnonzero(live)
        near, sums = oracles.hamming(queries, symbols[kept]), oracles.table_sums(tables, symbols[kept])
        for n_queries, threads in ((1, 1), (9, 1), (1, 2)):
            by_code = _kernels.search(view, layout.pack(queries[:n_queries]), k, threads)
            by_score = _kernels.search_scores(view, tables[:n_queries], k, threads)
            for found, distances in ((by_code, near), (by_score, sums)):
                for one, other in zip(found, oracles.nearest(distances[:n_queries], kept, k), strict=True):
                    np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(("n_symbols", "arity"), SHAPES)
def test_invalid_symbols_in_slices_are_found(rng, n_symbols, arity):
    layout = CodeLayout(n_symbols, arity)
    symbols = rng.integers(0, arity, (700, n_symbols)).astype(np.uint8)
    blocks = view_of(layout, symbols).blocks
    assert _kernels.first_invalid_position(blocks, 700, n_symbols, arity) == -1
    for place in (699, 257, 3):
        symbols[place, rng.integers(n_symbols)] = arity
        if arity & (arity - 1):
            _kernels.write_slices(blocks, 0, oracles.pack(symbols, arity))
            assert _kernels.first_invalid_position(blocks, 700, n_symbols, arity) == place
            assert _kernels.first_invalid_position(blocks, place, n_symbols, arity) == -1


@pytest.mark.parametrize(("n_symbols", "arity"), SHAPES)
def test_slices_hold_the_codes_that_were_written(rng, n_symbols, arity):
    layout = CodeLayout(n_symbols, arity)
    codes = layout.pack(rng.integers(0, arity, (700, n_symbols)))
    blocks = _kernels.allocate_blocks(700, layout.bits)
    for start, stop in [(0, 5), (5, 64), (64, 65), (65, 300), (300, 700)]:
        _kernels.write_slices(blocks, start, codes[start:stop])
    places = rng.permutation(700)
    np.testing.assert_array_equal(_kernels.read_slices(blocks, places, layout.n_bytes), codes[places])
    _kernels.write_slices_at(blocks, places[:9], codes[:9])
    np.testing.assert_array_equal(_kernels.read_slices(blocks, places[:9], layout.n_bytes), codes[:9])


@pytest.mark.parametrize("n_symbols", [15, 16, 17, 31, 32, 63, 64, 4096])
def test_distances_at_both_ends_are_counted(isa, n_symbols):
    layout = CodeLayout(n_symbols, 3)
    symbols = np.repeat(np.array([[0], [1]], np.uint8), n_symbols, axis=1)
    view = view_of(layout, symbols)
    for queries in (symbols[:1], np.repeat(symbols[:1], 9, axis=0)):
        ids, distances = _kernels.search(view, layout.pack(queries), 2, 1)
        assert (ids == [0, 1]).all()
        assert (distances == [0, n_symbols]).all()


def test_tables_of_very_unequal_size_are_searched_exactly(rng, isa):
    layout = CodeLayout(40, 4)
    symbols = rng.integers(0, 4, (2000, 40)).astype(np.uint8)
    tables = (rng.normal(size=(5, 40, 4)) * 10.0 ** rng.integers(-12, 12, (5, 40, 1))).astype(np.float32)
    found = _kernels.search_scores(view_of(layout, symbols), tables, 50, 1)
    expected = oracles.nearest(oracles.table_sums(tables, symbols), np.arange(2000), 50)
    np.testing.assert_array_equal(found[1], expected[1])


def run_python(code, **environment):
    return subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("name", ISAS)
def test_environment_variable_chooses_the_instruction_set(name):
    result = run_python("import rankhash; print(rankhash.cpu_info().isa)", RANKHASH_ISA=name)
    assert result.stdout.strip() == name


def test_unknown_instruction_set_is_an_error_that_names_the_known_ones():
    result = run_python("import rankhash", RANKHASH_ISA="mmx")
    assert result.returncode != 0
    assert "RANKHASH_ISA='mmx'" in result.stderr
    assert "scalar" in result.stderr


@pytest.mark.skipif(not sysconfig.get_config_var("Py_GIL_DISABLED"), reason="this Python has a global lock")
def test_free_threaded_python_stays_free():
    result = run_python("import sys, rankhash; print(sys._is_gil_enabled())", PYTHONWARNINGS="error::RuntimeWarning")
    assert result.stdout.strip() == "False", result.stderr


@pytest.mark.parametrize("bad", [0, -1, 1.5, True, "2"])
def test_a_bad_number_of_threads_is_refused(bad):
    with pytest.raises(InvalidInputError, match="n_threads"):
        _kernels.resolve_threads(bad)


def test_searches_from_many_python_threads_agree(rng):
    layout = CodeLayout(32, 4)
    symbols = rng.integers(0, 4, (20000, 32)).astype(np.uint8)
    view, queries = view_of(layout, symbols), layout.pack(symbols[:70])
    expected = _kernels.search(view, queries, 5, 1)
    results = [None] * 8

    def work(i):
        for _ in range(5):
            results[i] = _kernels.search(view, queries, 5, 1 + i % 4)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for ids, distances in results:
        np.testing.assert_array_equal(ids, expected[0])
        np.testing.assert_array_equal(distances, expected[1])


def test_threads_work_after_a_fork():
    code = """
import os, warnings, numpy as np
warnings.simplefilter("ignore")
from rankhash import CodeLayout, FlatIndex
layout = CodeLayout(32, 4)
codes = np.random.default_rng(0).integers(0, 256, (20000, 8), dtype=np.uint8)
index = FlatIndex(layout)
index.add(codes)
expected = index.search(codes[:3], 5, n_threads=2)
child = os.fork()
if child == 0:
    same = (index.search(codes[:3], 5, n_threads=2).ids == expected.ids).all()
    os._exit(0 if same else 1)
print("child", os.waitpid(child, 0)[1])
"""
    result = run_python(code)
    assert result.stdout.strip() == "child 0", result.stderr
