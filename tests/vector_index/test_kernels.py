"""Kernels of cells on every instruction set against their slow twins."""

from __future__ import annotations

import numpy as np
import pytest

import cell_oracles
import oracles
from rankhash import _kernels

from .brute import rows_view

BLOCK = _kernels.CELL_BLOCK


def hand_made_cells(rng, sizes, depth, n_symbols, product=False, scales=None, corrected=False):
    """Cells with the given numbers of random codes: the view, the vectors the codes stand for, and the centroids.

    With ``corrected`` codes have a byte for the correction, which is that of their vectors up to a rounding.
    """
    n, n_cells = sum(sizes), len(sizes)
    centroids = rng.normal(size=(n_cells, depth)).astype(np.float32)
    decoder = rng.normal(size=(n_symbols, 16, depth)).astype(np.float32) / 8
    scales = np.ones(n_cells, np.float32) if scales is None else np.asarray(scales, np.float32)
    cells, symbols = np.repeat(np.arange(n_cells), sizes), rng.integers(0, 16, (n, n_symbols))
    room = -(-np.array(sizes) // BLOCK) + 1
    first = np.cumsum(room) - room
    n_bytes = n_symbols // 2 + corrected
    blocks = rng.integers(0, 256, (room.sum(), n_bytes, BLOCK)).astype(np.uint8)  # free places hold anything
    rows = np.zeros((room.sum(), BLOCK), np.uint32)
    numbers = rng.permutation(n)
    place = first[cells] * BLOCK + np.concatenate([np.arange(size) for size in sizes])
    blocks[place // BLOCK, : n_symbols // 2, place % BLOCK] = symbols[:, ::2] | symbols[:, 1::2] << 4
    rows.ravel()[place] = numbers
    offsets = None if product else offsets_of(centroids, scales, decoder)
    lows = steps = None
    if corrected:
        lows, steps, blocks[place // BLOCK, -1, place % BLOCK] = correction_bytes(offsets, cells, symbols)
        offsets = None
    factor = np.float32(-1 if product else -2)
    squares = np.zeros(n_cells) if product else np.square(centroids, dtype=np.float64).sum(axis=1)
    view = _kernels.CellsView(
        product,
        depth,
        _kernels.as_panels(factor * centroids),
        squares.astype(np.float32),
        *decoder_axes(rng, factor, decoder),
        centroids,
        scales,
        np.ones(n_cells, np.float32),
        offsets,
        lows,
        steps,
        first.astype(np.int64),
        np.array(sizes, np.int32),
        blocks,
        rows,
    )
    order = np.argsort(numbers)
    return view, symbols[order], cells[order], centroids, scales, decoder


def correction_bytes(offsets, cells, symbols):
    """Lows and steps, the same for all cells, and the bytes of the codes: (correction - low) / step, rounded."""
    values = offsets[cells[:, None], np.arange(symbols.shape[1]), symbols].sum(axis=1, dtype=np.float64)
    lows = np.full(len(offsets), values.min(), np.float32)
    steps = np.full(len(offsets), np.ptp(values) / 255, np.float32)
    return lows, steps, np.rint((values - values.min()) / steps[0])


def decoder_axes(rng, factor, decoder):
    """A decoder ``(n_symbols, 16, depth)`` by axes of each symbol, in any basis; some symbols have one axis more."""
    axes, coordinates, first_axis = [], [], [0]
    for number, rows in enumerate(decoder.astype(np.float64)):
        basis = np.linalg.qr(rng.normal(size=(decoder.shape[2],) * 2))[0]
        basis = np.concatenate([basis, rng.normal(size=(number % 2, len(basis)))])
        axes.append(basis)
        coordinates.append(np.concatenate([basis[: decoder.shape[2]] @ rows.T, np.zeros((number % 2, 16))]))
        first_axis.append(first_axis[-1] + len(basis))
    axes = _kernels.as_panels(factor * np.concatenate(axes).astype(np.float32))
    return axes, np.array(first_axis, np.int32), np.concatenate(coordinates).astype(np.float32)


def offsets_of(centroids, scales, decoder):
    wide = decoder.astype(np.float64)
    cross = 2 * scales[:, None, None] * np.einsum("cd,svd->csv", centroids, wide)
    return (cross + scales[:, None, None] ** 2 * np.square(wide).sum(axis=2)).astype(np.float32)


def code_distances(points, symbols, cells, centroids, scales, decoder, product):
    """What sums of tables stand for, in float64."""
    parts = scales[cells, None, None] * decoder.astype(np.float64)[np.arange(symbols.shape[1]), symbols]
    points = points.astype(np.float64)
    if product:
        return -points @ (centroids[cells] + parts.sum(axis=1)).T
    away = points[:, None, :] - centroids[cells]
    return np.square(away).sum(axis=2) + np.square(parts).sum(axis=(1, 2)) - 2 * np.einsum("qnd,nsd->qn", away, parts)


@pytest.mark.parametrize("d", [1, 7, 16, 33])
@pytest.mark.parametrize(("n", "n_cells"), [(1, 1), (5, 16), (48, 17), (103, 40)])
def test_vectors_go_to_the_first_of_their_nearest_centroids(rng, isa, d, n, n_cells):
    centroids = np.round(rng.normal(size=(n_cells, d)) * 2).astype(np.float32)  # ties
    vectors = np.round(rng.normal(size=(n, d)) * 2).astype(np.float32)
    squares = np.square(centroids).sum(axis=1)
    cells, scores = _kernels.assign_cells(vectors, _kernels.as_panels(-2 * centroids), squares, 2)
    expected = cell_oracles.assigned_cells(vectors, centroids)
    np.testing.assert_array_equal(cells, expected[0])
    np.testing.assert_array_equal(scores, expected[1])


def test_products_with_centroids_are_rounded_once_per_dimension(rng, isa):
    centroids, vectors = (rng.normal(size=(n, 40)).astype(np.float32) for n in (30, 101))
    squares = np.square(centroids, dtype=np.float64).sum(axis=1).astype(np.float32)
    cells, scores = _kernels.assign_cells(vectors, _kernels.as_panels(-2 * centroids), squares, 1)
    expected = cell_oracles.assigned_cells(vectors, centroids)
    np.testing.assert_array_equal(cells, expected[0])
    np.testing.assert_array_equal(scores, expected[1])


@pytest.mark.parametrize("product", [False, True])
@pytest.mark.parametrize("n_symbols", [2, 4, 6, 8, 14, 32])
def test_codes_have_the_distances_of_what_they_stand_for(rng, isa, product, n_symbols):
    sizes = [1, 0, 31, 32, 33, 100, 64]
    made = hand_made_cells(rng, sizes, 9, n_symbols, product, scales=[1, 1, 0.5, 2, 1, 0.25, 1])
    view, symbols, cells, centroids, scales, decoder = made
    points = rng.normal(size=(7, 9)).astype(np.float32)
    nothing, _, _ = rows_view(np.empty((0, 9), np.float32), "float32")
    how = _kernels.CellSearch(100, float(len(sizes)), 0, 150)
    ids, distances, stats = _kernels.search_cells(view, nothing, None, None, points, points, how, 2)
    expected = code_distances(points, symbols, cells, centroids, scales, decoder, product)
    expected = expected if product else np.maximum(expected, 0)
    assert (ids >= 0).all()
    assert all(len(set(row)) == 100 for row in ids)
    np.testing.assert_allclose(distances, np.take_along_axis(expected, ids, axis=1), atol=2e-5)
    assert stats.candidates >= 7 * 150


@pytest.mark.parametrize("n_symbols", [2, 6, 8, 10, 14, 32])
def test_the_byte_of_a_correction_is_added_to_the_distance(rng, isa, n_symbols):
    sizes, scales = [1, 0, 31, 32, 33, 100, 64], np.array([1, 1, 0.5, 2, 1, 0.25, 1])
    made = hand_made_cells(rng, sizes, 9, n_symbols, scales=scales, corrected=True)
    view, symbols, cells, centroids, scales, decoder = made
    points = rng.normal(size=(7, 9)).astype(np.float32)
    nothing, _, _ = rows_view(np.empty((0, 9), np.float32), "float32")
    how = _kernels.CellSearch(100, float(len(sizes)), 0, 150)
    ids, distances, stats = _kernels.search_cells(view, nothing, None, None, points, points, how, 2)
    expected = np.maximum(code_distances(points, symbols, cells, centroids, scales, decoder, False), 0)
    assert all(len(set(row)) == 100 for row in ids)
    np.testing.assert_allclose(distances, np.take_along_axis(expected, ids, axis=1), atol=0.51 * view.steps[0] + 2e-5)
    assert stats.candidates >= 7 * 150


@pytest.mark.parametrize("n_cells", [15, 64, 150])
def test_a_query_alone_is_answered_as_in_a_batch(rng, isa, n_cells):
    view, *_ = hand_made_cells(rng, rng.integers(0, 40, n_cells).tolist(), 9, 8, corrected=True)
    points = rng.normal(size=(13, 9)).astype(np.float32)
    nothing, _, _ = rows_view(np.empty((0, 9), np.float32), "float32")
    how = _kernels.CellSearch(20, 40.0, 4, 50)
    batch = _kernels.search_cells(view, nothing, None, None, points, points, how, 1)
    for row in range(len(points)):
        point = points[row : row + 1]
        alone = _kernels.search_cells(view, nothing, None, None, point, point, how, 1)
        np.testing.assert_array_equal(alone[0][0], batch[0][row])
        np.testing.assert_array_equal(alone[1][0], batch[1][row])


def test_codes_much_farther_than_the_last_neighbour_are_not_re_ranked(rng, isa):
    made = hand_made_cells(rng, [200, 90, 33, 150], 12, 16, corrected=True)
    view, symbols, cells, centroids, _, decoder = made
    parts = decoder[np.arange(16), symbols].sum(axis=1)
    vectors = (centroids[cells] + parts + 0.01 * rng.normal(size=parts.shape)).astype(np.float32)
    rows, _, _ = rows_view(vectors, "float32")
    points = vectors[:9] + np.float32(0.1)
    all_of_them = _kernels.CellSearch(5, 4.0, 0, 300)
    few = _kernels.CellSearch(5, 4.0, 0, 300, slack=1.5)
    ids, distances, stats = _kernels.search_cells(view, rows, None, None, points, points, all_of_them, 1)
    same, near, fewer = _kernels.search_cells(view, rows, None, None, points, points, few, 1)
    assert fewer.candidates < stats.candidates / 2
    assert (same == ids).mean() > 0.8
    np.testing.assert_array_equal(near[:, 0], distances[:, 0])


@pytest.mark.parametrize("corrected", [False, True])
@pytest.mark.parametrize("n_symbols", [2, 6, 8, 16])
@pytest.mark.parametrize("n_candidates", [10, 50])
def test_candidates_are_the_codes_of_smallest_distance_up_to_the_rounding_of_levels(
    rng, isa, n_symbols, n_candidates, corrected
):
    made = hand_made_cells(rng, [200, 90, 33, 150], 6, n_symbols, corrected=corrected)
    view, symbols, cells, centroids, scales, decoder = made
    points = rng.normal(size=(6, 6)).astype(np.float32)
    nothing, _, _ = rows_view(np.empty((0, 6), np.float32), "float32")
    how = _kernels.CellSearch(n_candidates, 4.0, 0, n_candidates)
    ids, _, _ = _kernels.search_cells(view, nothing, None, None, points, points, how, 1)
    expected = code_distances(points, symbols, cells, centroids, scales, decoder, False)
    away = points[:, None, :].astype(np.float64) - centroids
    tables = np.square(decoder, dtype=np.float64).sum(axis=2) - 2 * np.einsum("qcd,svd->qcsv", away, decoder)
    squares = np.square(away).sum(axis=2)
    highest, lowest = (
        (squares + tables.max(axis=3).sum(axis=2)).max(axis=1),
        (squares + tables.min(axis=3).sum(axis=2)).min(axis=1),
    )
    # a level is at most 1/230 of all that codes can have, and each symbol's entry is rounded by half a level
    for found, row, level in zip(ids, expected, (highest - lowest) / 230, strict=True):
        assert row[found].max() <= np.sort(row)[n_candidates - 1] + (n_symbols + 2) * level


@pytest.mark.parametrize("exponent", [0, 2, 4, 8])
@pytest.mark.parametrize("effort", [1.0, 3.0, 6.5, 40.0])
def test_cells_are_scanned_by_rank_and_distance(rng, isa, exponent, effort):
    sizes = [5] * 24
    view, _, cells, centroids, *_ = hand_made_cells(rng, sizes, 5, 4)
    points = rng.normal(size=(11, 5)).astype(np.float32)
    nothing, _, _ = rows_view(np.empty((0, 5), np.float32), "float32")
    how = _kernels.CellSearch(len(cells), effort, exponent, len(cells))
    ids, _, stats = _kernels.search_cells(view, nothing, None, None, points, points, how, 2)
    expected = cell_oracles.probed_cells(points, centroids, effort, exponent)
    for found, probed in zip(ids, expected, strict=True):
        assert set(cells[found[found >= 0]]) == set(probed)
    assert stats.candidates == 5 * sum(len(probed) for probed in expected)


@pytest.mark.parametrize("growth", [1, 3])
def test_queries_far_from_the_nearest_cell_go_farther(rng, isa, growth):
    sizes = [5] * 24
    view, _, cells, centroids, *_ = hand_made_cells(rng, sizes, 5, 4)
    points = (rng.normal(size=(40, 5)) * rng.uniform(0.2, 3, (40, 1))).astype(np.float32)
    nothing, _, _ = rows_view(np.empty((0, 5), np.float32), "float32")
    how = _kernels.CellSearch(len(cells), 2.0, 4, len(cells), 0.5, 3.0, growth)
    ids, _, _ = _kernels.search_cells(view, nothing, None, None, points, points, how, 1)
    expected = cell_oracles.probed_cells(points, centroids, 2.0, 4, np.ones(24), 0.5, 3.0, growth)
    near = cell_oracles.probed_cells(points, centroids, 2.0, 4)
    assert sum(len(one) > len(other) for one, other in zip(expected, near, strict=True)) > 5
    for found, probed in zip(ids, expected, strict=True):
        assert set(cells[found[found >= 0]]) == set(probed)
    how = _kernels.CellSearch(1, 24.0, 0, 10, 0.5, 3.0, growth)
    stats = [_kernels.search_cells(view, nothing, None, None, q, q, how, 1)[2] for q in points[:, None]]
    assert min(s.candidates for s in stats) < 20 < max(s.candidates for s in stats)


@pytest.mark.parametrize("dtype", _kernels.ROW_TYPES)
@pytest.mark.parametrize("product", [False, True])
def test_candidates_are_ranked_by_true_distance_of_what_passes(rng, isa, dtype, product):
    sizes = [146]
    view = hand_made_cells(rng, sizes, 12, 16, product)[0]
    vectors, queries = (rng.normal(size=(n, 12)).astype(np.float32) for n in (sum(sizes), 9))
    rows, stored, factors = rows_view(vectors, dtype, split=50)
    ids, passes = rng.permutation(999)[: sum(sizes)], rng.random(sum(sizes)) < 0.5
    bits = np.packbits(passes, bitorder="little")
    how = _kernels.CellSearch(20, 1.0, 0, sum(sizes))
    found = _kernels.search_cells(view, rows, ids, bits, queries, queries, how, 2)
    distances = cell_oracles.row_distances(
        queries, stored[passes], factors if factors is None else factors[passes], product
    )
    for one, other in zip(found[:2], oracles.nearest(distances, ids[passes], 20), strict=True):
        np.testing.assert_array_equal(one, other)


def test_candidates_do_not_depend_on_the_instruction_set_threads_or_the_batch(rng):
    view = hand_made_cells(rng, [100, 257, 64, 1, 30, 90], 10, 8)[0]
    rows, _, _ = rows_view(rng.normal(size=(542, 10)).astype(np.float32), "float16")
    queries = rng.normal(size=(140, 10)).astype(np.float32)
    how = _kernels.CellSearch(10, 9.0, 4, 25)
    before, answers = _kernels.cpu_info().isa, []
    for isa in _kernels.cpu_info().available:
        _kernels.use_isa(isa)
        answers += [_kernels.search_cells(view, rows, None, None, queries, queries, how, t) for t in (1, 3)]
        one = [_kernels.search_cells(view, rows, None, None, q, q, how, 1) for q in queries[:, None]]
        answers.append((np.concatenate([a[0] for a in one]), np.concatenate([a[1] for a in one]), answers[-1][2]))
    _kernels.use_isa(before)
    for ids, distances, stats in answers[1:]:
        np.testing.assert_array_equal(ids, answers[0][0])
        np.testing.assert_array_equal(distances, answers[0][1])
        assert stats[::3] == answers[0][2][::3]  # cells and candidates
