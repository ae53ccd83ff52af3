"""Whatever is done to a collection, every handle answers like the model."""

from __future__ import annotations

import tempfile

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from rankhash import LSH, Collection, IdError
from rankhash.collection import _chunks

from .model import N_FEATURES, Model

RNG = np.random.default_rng(0)
POOL = RNG.normal(size=(64, N_FEATURES)).astype(np.float32)
HASHER = LSH(10, random_state=0).fit(POOL)
QUERIES = RNG.normal(size=(3, N_FEATURES)).astype(np.float32)
FILTERS = [
    "n < 5",
    "n != 3",
    "not exists n",
    "n in (1, 'x', null)",
    "n between 2 and 7 or t = 'b'",
    "not (n > 4 and t >= 'b')",
    "deep.er = true",
]

names = st.one_of(st.integers(-3, 40), st.sampled_from(["a", "b", "ç", "7", "0"]))
values = st.one_of(st.integers(0, 9), st.sampled_from([None, True, False, 2.5, "x", "b", [1], {"er": True}]))
fields = st.one_of(st.none(), st.dictionaries(st.sampled_from(["n", "t", "deep"]), values))


@st.composite
def batches(draw):
    """Places in the pool, and metadata or None."""
    places = draw(st.lists(st.integers(0, len(POOL) - 1), min_size=1, max_size=12))
    described = draw(st.one_of(st.none(), st.lists(fields, min_size=len(places), max_size=len(places))))
    return POOL[places], described


class CollectionMachine(RuleBasedStateMachine):
    """Two handles of one file, and one in memory, beside the model."""

    @initialize(chunk=st.sampled_from([6, 60, 1 << 20]))
    def start(self, chunk):
        self.before = _chunks.CHUNK_BYTES
        _chunks.CHUNK_BYTES = chunk
        self.folder = tempfile.TemporaryDirectory()
        path = f"{self.folder.name}/x.rankhash"
        self.writer = Collection.create(path, HASHER, store_vectors="float32")
        self.reader = Collection.open(path)
        self.memory = Collection.create(":memory:", HASHER)
        self.model = Model(HASHER)

    def teardown(self):
        if hasattr(self, "folder"):
            report = self.writer.check()
            for handle in (self.writer, self.reader, self.memory):
                handle.close()
            _chunks.CHUNK_BYTES = self.before
            self.folder.cleanup()
            assert report.problems == ()

    def both(self, call):
        return [call(self.writer), call(self.memory)]

    @rule(batch=batches())
    def add(self, batch):
        vectors, metadata = batch
        expected = self.model.add(vectors, None, metadata)
        assert self.both(lambda c: c.add(vectors, metadata=metadata)) == [expected] * 2

    @rule(batch=batches(), data=st.data())
    def add_with_ids(self, batch, data):
        vectors, metadata = batch
        ids = data.draw(st.lists(names, min_size=len(vectors), max_size=len(vectors), unique=True))
        if any(name in self.model.items for name in ids):
            for handle in (self.writer, self.memory):
                with pytest.raises(IdError, match="already"):
                    handle.add(vectors, ids, metadata)
        else:
            self.model.add(vectors, ids, metadata)
            self.both(lambda c: c.add(vectors, ids, metadata))

    @rule(batch=batches(), data=st.data())
    def upsert(self, batch, data):
        vectors, metadata = batch
        ids = data.draw(st.lists(names, min_size=len(vectors), max_size=len(vectors), unique=True))
        self.model.upsert(vectors, ids, metadata)
        self.both(lambda c: c.upsert(vectors, ids, metadata))

    @precondition(lambda self: self.model.items)
    @rule(data=st.data())
    def delete(self, data):
        ids = data.draw(st.lists(st.sampled_from(list(self.model.items)), unique=True))
        self.model.delete(ids)
        assert self.both(lambda c: c.delete(ids)) == [len(ids)] * 2

    @rule(where=st.sampled_from(FILTERS))
    def delete_where(self, where):
        ids = self.model.passing(where)
        self.model.delete(ids)
        assert self.both(lambda c: c.delete(where=where)) == [len(ids)] * 2

    @rule(name=names)
    def delete_unknown(self, name):
        if name not in self.model.items:
            with pytest.raises(IdError, match="is not in the collection"):
                self.writer.delete([*list(self.model.items)[:1], name])

    @rule()
    def compact(self):
        self.both(lambda c: c.compact())
        assert self.writer.stats().n_dead_codes == 0

    @rule(field=st.sampled_from(["n", "t", "deep.er"]), drop=st.booleans())
    def index_field(self, field, drop):
        self.both(lambda c: c.index_field(field, drop=drop))

    @rule()
    def reopen(self):
        path = self.writer.path
        self.writer.close()
        self.writer = Collection.open(path, "rw")

    @rule(where=st.sampled_from([None, *FILTERS]), k=st.integers(1, 8))
    def search(self, where, k):
        ids, distances = self.model.search(QUERIES, k, where)
        for handle in (self.writer, self.reader, self.memory):
            found = handle.search(QUERIES, k, where=where)
            assert found.ids.tolist() == ids.tolist()
            assert found.distances.tolist() == distances.tolist()
            assert handle.count(where) == len(self.model.passing(where))

    @precondition(lambda self: self.model.items)
    @rule(data=st.data())
    def get(self, data):
        ids = data.draw(st.lists(st.sampled_from(list(self.model.items)), unique=True))
        for handle in (self.reader, self.memory):
            for name, item in zip(ids, handle.get(ids), strict=True):
                vector, described = self.model.items[name]
                assert (item.id, item.metadata) == (name, described)
                assert item.code.tolist() == HASHER.encode(vector[None])[0].tolist()
                assert (item.vector is None) if handle is self.memory else (item.vector == vector).all()

    @invariant()
    def order_and_number_are_those_of_the_model(self):
        if hasattr(self, "folder"):
            for handle in (self.writer, self.reader, self.memory):
                assert len(handle) == len(self.model.items)
                assert handle.ids() == list(self.model.items)


TestCollection = CollectionMachine.TestCase
TestCollection.settings = settings(max_examples=25, stateful_step_count=25, deadline=None)
