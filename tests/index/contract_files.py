"""What every index promises of files and copies."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

from rankhash import (
    CodeLayout,
    FileFormatError,
    RankhashError,
)

from .model import LAYOUTS, IndexCase, Model, assert_same, draw


class FileContract(IndexCase):
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
