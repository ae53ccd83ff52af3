"""What every index promises of changes, ids and memory."""

from __future__ import annotations

import numpy as np
import pytest

from rankhash import (
    CodeLayout,
    InvalidInputError,
)

from .model import LAYOUTS, IndexCase, Model, assert_same, draw


class ChangeContract(IndexCase):
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

    def test_removing_and_compacting_frees_memory(self, rng):
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
