"""What every kind of index promises. A test file subclasses ``IndexContract`` and names its class."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import oracles
from rankhash import (
    CodeLayout,
    DuplicateIdError,
    FileFormatError,
    IdError,
    InvalidInputError,
    LayoutMismatchError,
    RankhashError,
    TakenIdError,
    UnknownIdError,
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


class IndexContract:
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

    # -- search ----------------------------------------------------------------------------------------------------

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

    # -- filters ---------------------------------------------------------------------------------------------------

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

    # -- changes ---------------------------------------------------------------------------------------------------

    @pytest.mark.parametrize("seed", range(6))
    def test_a_random_life_of_changes_keeps_every_promise(self, seed):
        rng = np.random.default_rng(seed)
        layout = LAYOUTS[seed % len(LAYOUTS)]
        index, model = self.make(layout), Model(layout)
        for _ in range(12):
            n = int(rng.integers(1, 400))
            symbols = draw(rng, layout, n)
            fresh = rng.permutation(4000)[:n]
            action = rng.integers(0, 5)
            if action == 0:
                model.put(symbols, index.add(layout.pack(symbols)))
            elif action == 1:
                new = np.array([i not in model.symbols for i in fresh])
                index.add(layout.pack(symbols[new]), fresh[new])
                model.put(symbols[new], fresh[new])
            elif action == 2:
                index.upsert(layout.pack(symbols), fresh)
                model.put(symbols, fresh)
            elif action == 3 and model.symbols:
                gone = rng.permutation(list(model.symbols))[: len(model.symbols) // 3]
                index.remove(gone)
                for i in gone:
                    del model.symbols[int(i)]
            else:
                index.compact()
            self.check(index, model, rng)

    def test_ids_that_were_removed_can_be_added_again(self, rng):
        index, model = self.filled(rng, LAYOUTS[0], 100)
        index.remove([5, 6, 99])
        for i in (5, 6, 99):
            del model.symbols[i]
        symbols = draw(rng, LAYOUTS[0], 2)
        index.add(LAYOUTS[0].pack(symbols), [99, 5])
        model.put(symbols, [99, 5])
        self.check(index, model, rng)
        assert index.add(LAYOUTS[0].pack(symbols))[0] == 100

    def test_removing_gives_the_room_back(self, rng):
        index, _ = self.filled(rng, LAYOUTS[0], 40000)
        before = index.nbytes
        index.remove(np.arange(30000))
        assert len(index) == 10000
        index.compact()
        assert index.nbytes < before

    def test_reserved_room_is_filled_without_copies(self, rng):
        layout = CodeLayout(32, 4)
        codes = layout.pack(draw(rng, layout, 3000))
        index, model = self.make(layout), self.make(layout)
        index.add(codes[:500])
        index.reserve(3000)
        room = index._store.blocks.ctypes.data
        for first in range(500, 3000, 500):
            index.add(codes[first : first + 500])
        assert index._store.blocks.ctypes.data == room
        model.add(codes)
        assert_same(index.search(codes[:20], 7), model.search(codes[:20], 7))
        index.reserve(10)
        assert len(index) == 3000

    @pytest.mark.parametrize("n", [-1, 1.5, "many", 1 << 50, 1 << 40])
    def test_room_that_cannot_be_had_is_refused(self, rng, n):
        index = self.make(CodeLayout(32, 4))
        codes = index.layout.pack(draw(rng, index.layout, 10))
        index.add(codes)
        with pytest.raises(InvalidInputError, match=r"n_codes|no memory"):
            index.reserve(n)
        assert len(index) == 10
        assert index.search(codes[:1], 1).distances[0, 0] == 0

    @pytest.mark.parametrize("layout", [*LAYOUTS, CodeLayout(20, 3), CodeLayout(13, 8)], ids=str)
    def test_memory_stays_near_the_bits_of_the_codes(self, rng, layout):
        n = 50000
        codes = layout.pack(rng.integers(0, layout.arity, (n, layout.n_symbols)))
        index = self.make(layout)
        index.add(codes)
        assert index.nbytes <= n * self.most_bytes(index) + 4096
        explicit = self.make(layout)
        for part in np.array_split(rng.permutation(n), 3):
            explicit.add(codes[part], part)
        assert explicit.nbytes <= n * (self.most_bytes(explicit) + 1.1 * 8) + 4096

    # -- bad input -------------------------------------------------------------------------------------------------

    def test_bad_codes_are_refused_and_nothing_changes(self, rng):
        index, model = self.filled(rng, LAYOUTS[3], 10)
        other = CodeLayout(16, 16)
        for bad in (
            other.pack(draw(rng, other, 2)),
            np.zeros(5, np.uint8),
            np.zeros((2, 5), np.int64),
            np.full((2, 5), 255, np.uint8),
            np.zeros((2, 5)),
        ):
            for call in (index.add, lambda c: index.upsert(c, [0, 1]), lambda c: index.search(c, 1)):
                with pytest.raises(LayoutMismatchError, match=r"13 symbols of arity 7|integers|uint8"):
                    call(bad)
        self.check(index, model, rng)

    @pytest.mark.parametrize(
        ("ids", "error", "message"),
        [
            ([1, -1], IdError, "between 0"),
            ([20, 20], DuplicateIdError, "more than once"),
            ([3, 20], TakenIdError, "already"),
            ([1.5, 2.5], IdError, "integers"),
            ([[20], [21]], IdError, "one for each"),
            ([20], IdError, "one for each"),
            (["a", "b"], IdError, "integers"),
            (np.array([2**63, 20], np.uint64), IdError, "between 0"),
        ],
    )
    def test_bad_ids_are_refused_and_nothing_changes(self, rng, ids, error, message):
        index, model = self.filled(rng, LAYOUTS[0], 10)
        with pytest.raises(error, match=message):
            index.add(LAYOUTS[0].pack(draw(rng, LAYOUTS[0], 2)), ids)
        self.check(index, model, rng)

    def test_removing_or_getting_an_unknown_id_is_an_error_and_nothing_changes(self, rng):
        index, model = self.filled(rng, LAYOUTS[0], 10)
        for ids, error in (([3, 10], UnknownIdError), ([-1], IdError), ([3, 3], DuplicateIdError), ([3.5], IdError)):
            with pytest.raises(error):
                index.remove(ids)
        with pytest.raises(UnknownIdError, match="id 10 is not in the index"):
            index.get([10])
        self.check(index, model, rng)

    @pytest.mark.parametrize("k", [0, -1, 1.0, None, "3", True])
    def test_bad_k_is_refused(self, rng, k):
        index, _ = self.filled(rng, LAYOUTS[0], 10)
        with pytest.raises(InvalidInputError, match="k must be"):
            index.search(index.get([0]), k)
        with pytest.raises(InvalidInputError, match="k must be"):
            index.search_scores(np.zeros((1, 32, 4)), k)

    def test_an_absurd_k_is_refused_before_memory_is_taken(self, rng):
        index, _ = self.filled(rng, LAYOUTS[0], 10)
        with pytest.raises(InvalidInputError, match="memory"):
            index.search(index.get([0]), 2**50)

    @pytest.mark.parametrize("radius", [-1, -0.5, np.nan, np.inf, "2", None])
    def test_bad_radius_is_refused(self, rng, radius):
        index, _ = self.filled(rng, LAYOUTS[0], 10)
        with pytest.raises(InvalidInputError, match="radius"):
            index.search_radius(index.get([0]), radius)

    @pytest.mark.parametrize(
        "weights", [np.ones(31), np.full(32, np.nan), -np.ones(32), np.ones((1, 32)), np.full(32, 1e38)]
    )
    def test_bad_weights_are_refused(self, rng, weights):
        index, _ = self.filled(rng, LAYOUTS[0], 10)
        with pytest.raises(InvalidInputError, match=r"weights|tables"):
            index.search(index.get([0]), 1, weights=weights)

    @pytest.mark.parametrize("tables", [np.zeros((1, 32, 3)), np.zeros((32, 4)), np.full((1, 32, 4), np.inf)])
    def test_bad_tables_are_refused(self, rng, tables):
        index, _ = self.filled(rng, LAYOUTS[0], 10)
        with pytest.raises(InvalidInputError, match="tables"):
            index.search_scores(tables, 1)

    def test_a_layout_is_needed(self):
        with pytest.raises(InvalidInputError, match="CodeLayout"):
            self.make((32, 4))

    # -- files -----------------------------------------------------------------------------------------------------

    @pytest.mark.parametrize("mmap", [False, True])
    @pytest.mark.parametrize("explicit", [False, True])
    def test_a_loaded_index_answers_the_same_and_can_be_changed(self, rng, tmp_path, mmap, explicit):
        ids = rng.permutation(5000)[:1000] if explicit else None
        index, model = self.filled(rng, CodeLayout(32, 4, "abc"), 1000, ids)
        gone = index.ids[:10]
        index.remove(gone)
        for i in gone:
            del model.symbols[int(i)]
        index.save(tmp_path / "index")
        loaded = self.make.load(tmp_path / "index", mmap=mmap)
        assert loaded.layout == index.layout
        self.check(loaded, model, rng)
        symbols = draw(rng, index.layout, 5)
        model.put(symbols, loaded.add(index.layout.pack(symbols)))
        loaded.upsert(index.layout.pack(symbols[::-1]), loaded.ids[:5])
        model.put(symbols[::-1], loaded.ids[:5])
        self.check(loaded, model, rng)
        assert len(self.make.load(tmp_path / "index")) == 990

    def test_copies_answer_the_same_and_live_on_their_own(self, rng):
        layout = CodeLayout(16, 4)
        index, _ = self.filled(rng, layout, 9000)
        index.remove(np.arange(0, 9000, 7))
        queries = layout.pack(draw(rng, layout, 3))
        answer = index.search(queries, 20)
        for other in (pickle.loads(pickle.dumps(index)), copy.deepcopy(index)):
            assert_same(other.search(queries, 20), answer)
            other.add(queries)
            assert other.search(queries, 1).distances.max() == 0
        assert_same(index.search(queries, 20), answer)

    def test_an_empty_index_can_be_saved(self, rng, tmp_path):
        self.make(LAYOUTS[3]).save(tmp_path / "index")
        loaded = self.make.load(tmp_path / "index", mmap=True)
        self.check(loaded, Model(LAYOUTS[3]), rng)

    def test_damaged_files_give_an_error_and_never_another_answer(self, rng, tmp_path):
        index, _ = self.filled(rng, LAYOUTS[3], 300, rng.permutation(900)[:300])
        index.remove(index.ids[:3])
        index.save(tmp_path / "index")
        good = (tmp_path / "index").read_bytes()
        expected = index.search(index.get(index.ids), 3)
        refused = 0
        for _ in range(1500):
            raw = bytearray(good)
            kind = rng.integers(0, 4)
            at = int(rng.integers(0, len(raw)))
            if kind == 0:
                raw[at] ^= 1 << rng.integers(0, 8)
            elif kind == 1:
                raw = raw[:at]
            elif kind == 2:
                raw[at : at + 8] = rng.integers(0, 256, 8, dtype=np.uint8).tobytes()
            else:
                raw[: 8 + at % 8] = rng.integers(0, 256, 8 + at % 8, dtype=np.uint8).tobytes()
            (tmp_path / "bad").write_bytes(raw)
            try:
                loaded = self.make.load(tmp_path / "bad", mmap=bool(rng.integers(0, 2)))
                assert_same(loaded.search(loaded.get(loaded.ids), 3), expected)
            except FileFormatError:
                refused += 1
        assert refused > 1000

    def test_a_file_without_verification_is_still_safe_to_open(self, rng, tmp_path):
        index, _ = self.filled(rng, LAYOUTS[3], 300, rng.permutation(900)[:300])
        index.save(tmp_path / "index")
        good = (tmp_path / "index").read_bytes()
        for _ in range(500):
            raw = bytearray(good)
            raw[int(rng.integers(0, len(raw)))] ^= 1 << rng.integers(0, 8)
            (tmp_path / "bad").write_bytes(raw)
            try:
                loaded = self.make.load(tmp_path / "bad", mmap=True, verify=False)
                loaded.search(loaded.layout.pack(draw(rng, loaded.layout, 8)), 3)
            except RankhashError:
                pass

    def test_a_foreign_file_is_refused(self, tmp_path):
        (tmp_path / "index").write_text("not an index")
        with pytest.raises(FileFormatError):
            self.make.load(tmp_path / "index")
        with pytest.raises(FileNotFoundError):
            self.make.load(tmp_path / "nothing")
