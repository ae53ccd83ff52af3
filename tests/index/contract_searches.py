"""What every index promises of its searches and filters."""

from __future__ import annotations

import numpy as np
import pytest

import oracles
from rankhash import (
    CodeLayout,
    InvalidInputError,
)

from .model import LAYOUTS, SIZES, IndexCase, Model, assert_same, draw


class SearchContract(IndexCase):
    @pytest.mark.parametrize("n", SIZES)
    @pytest.mark.parametrize("layout", LAYOUTS, ids=str)
    def test_search_finds_what_brute_force_finds(self, rng, layout, n):
        self.check(*self.filled(rng, layout, n), rng)

    @pytest.mark.parametrize("n", [1, 65, 700])
    def test_ids_in_any_order_are_found_in_the_order_of_distance_and_id(self, rng, n):
        ids = rng.permutation(10 * n)[:n]
        self.check(*self.filled(rng, LAYOUTS[0], n, ids), rng, k=50)

    def test_equal_codes_come_in_the_order_of_their_ids_however_they_were_added(self, rng):
        layout = LAYOUTS[0]
        index = self.make(layout)
        code = layout.pack(draw(rng, layout, 1))
        ids = rng.permutation(600)
        for batch in np.array_split(ids, 7):
            index.add(np.repeat(code, len(batch), axis=0), batch)
        assert index.search(code, 600).ids[0].tolist() == list(range(600))
        assert index.search(code, 5).ids[0].tolist() == [0, 1, 2, 3, 4]
        assert index.search(code, 5, weights=np.ones(32)).ids[0].tolist() == [0, 1, 2, 3, 4]

    def test_more_neighbours_than_codes_are_filled_up(self, rng):
        index, _ = self.filled(rng, LAYOUTS[0], 3)
        found = index.search(index.get([0, 1]), 5)
        assert found.ids.shape == found.distances.shape == (2, 5)
        assert (found.ids[:, 3:] == -1).all()
        assert np.isinf(found.distances[:, 3:]).all()

    def test_no_queries_give_no_rows(self, rng):
        index, _ = self.filled(rng, LAYOUTS[0], 10)
        none = np.empty((0, index.layout.n_bytes), np.uint8)
        assert index.search(none, 3).ids.shape == (0, 3)
        assert index.search(none, 3, weights=np.ones(32)).ids.shape == (0, 3)
        assert index.search_radius(none, 3).offsets.tolist() == [0]

    def test_results_do_not_depend_on_threads_batches_or_instruction_set(self, rng, isa):
        index, _ = self.filled(rng, LAYOUTS[0], 20000)
        queries = index.get(np.arange(150))
        expected = index.search(queries, 10, n_threads=1)
        for threads in (2, 3, 8):
            assert_same(index.search(queries, 10, n_threads=threads), expected)
        rows = [index.search(queries[i : i + 1], 10) for i in range(20)]
        np.testing.assert_array_equal(np.vstack([row.ids for row in rows]), expected.ids[:20])

    @pytest.mark.parametrize("threads", [1, 2, 7])
    def test_ids_out_of_order_are_compared_also_between_the_parts_of_a_search(self, rng, threads):
        layout = CodeLayout(6, 3)  # few different codes: ties everywhere
        index, _ = self.filled(rng, layout, 17000, np.sort(rng.permutation(60000)[:17000]))
        fresh = np.setdiff1d(rng.permutation(60000)[:4500], index.ids)
        symbols = draw(rng, layout, len(fresh))
        index.add(layout.pack(symbols), rng.permutation(fresh))
        model = Model(layout)
        ids = index.ids
        model.put(layout.unpack(index.get(ids)), ids)
        queries = draw(rng, layout, 3)
        distances = oracles.hamming(queries, model.arrays()[1])
        codes = layout.pack(queries)
        assert_same(index.search(codes, 40, n_threads=threads), oracles.nearest(distances, ids, 40))
        assert_same(index.search_radius(codes, 1, n_threads=threads), oracles.within(distances, ids, 1))
        ones = np.ones(6)
        found = index.search(codes, 40, weights=ones, n_threads=threads)
        assert_same(found, oracles.nearest(distances, ids, 40))

    def test_types_and_shapes_do_not_depend_on_the_arguments(self, rng):
        index, _ = self.filled(rng, LAYOUTS[0], 100)
        query = index.get([3])
        for found in (
            index.search(query, 1),
            index.search(query, 200),
            index.search(query, 1, weights=np.ones(32)),
            index.search(query, 1, filter=[]),
            index.search_scores(np.zeros((1, 32, 4)), 1),
        ):
            assert found.ids.dtype == np.int64
            assert found.distances.dtype == np.float32
            assert found.ids.shape == found.distances.shape

    @pytest.mark.parametrize("share", [0.0, 0.001, 0.03, 0.5, 1.0])
    @pytest.mark.parametrize("explicit", [False, True])
    def test_filters_keep_what_they_name(self, rng, share, explicit):
        layout = LAYOUTS[0]
        ids = rng.permutation(9000)[:3000] if explicit else None
        index, model = self.filled(rng, layout, 3000, ids)
        index.remove(index.ids[::7])
        for gone in sorted(model.symbols)[::7]:
            del model.symbols[gone]
        mask = rng.random(len(index)) < share
        kept = index.ids[mask]
        expected_ids, symbols = model.arrays(set(kept.tolist()))
        queries = draw(rng, layout, 8)
        distances = oracles.hamming(queries, symbols)
        expected = oracles.nearest(distances, expected_ids, 10)
        codes = layout.pack(queries)
        for chosen in (
            kept,
            mask,
            np.packbits(mask, bitorder="little"),
            kept.tolist(),
            rng.permutation(kept),
        ):
            assert_same(index.search(codes, 10, filter=chosen), expected)
            assert_same(index.search(codes[:1], 10, filter=chosen), [row[:1] for row in expected])
        assert_same(index.search_radius(codes, 9, filter=mask), oracles.within(distances, expected_ids, 9))
        ones = np.ones(layout.n_symbols)
        assert_same(index.search(codes, 10, filter=mask, weights=ones), expected)

    def test_unknown_ids_in_a_filter_are_passed_over(self, rng):
        index, _ = self.filled(rng, LAYOUTS[0], 10)
        assert sorted(index.search(index.get([0]), 9, filter=[3, 99, -4, 5]).ids[0].tolist())[-2:] == [3, 5]

    @pytest.mark.parametrize(
        "bad", [np.zeros(9, bool), np.zeros(1, np.uint8), np.zeros((2, 5), bool), np.zeros(10), ["a"]]
    )
    def test_filters_of_another_form_are_refused(self, rng, bad):
        index, _ = self.filled(rng, LAYOUTS[0], 10)
        with pytest.raises(InvalidInputError, match=r"filter|mask|bitmap"):
            index.search(index.get([0]), 1, filter=bad)
