"""Whatever is done to a collection, every handle answers like the model."""

from __future__ import annotations

import dataclasses
import functools
import tempfile
import warnings
from typing import ClassVar
from unittest import mock

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from rankhash import LSH, Collection, IdError
from rankhash.collection import _chunks
from rankhash.vector_index import _coder
from rankhash.vector_index.learned import new_name
from rankhash.vector_index.numbered import NumberedVectors

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
    "1 in n or 'x' not in t",
    "t like 'B%' or n not like '_'",
]

names = st.one_of(st.integers(-3, 40), st.sampled_from(["a", "b", "ç", "7", "0"]))
values = st.one_of(
    st.integers(0, 9), st.sampled_from([None, True, False, 2.5, "x", "b", "big", [1], ["x", True], {"er": True}])
)
fields = st.one_of(st.none(), st.dictionaries(st.sampled_from(["n", "t", "deep"]), values))


@st.composite
def batches(draw):
    """Places in the pool, and metadata or None."""
    places = draw(st.lists(st.integers(0, len(POOL) - 1), min_size=1, max_size=12))
    described = draw(st.one_of(st.none(), st.lists(fields, min_size=len(places), max_size=len(places))))
    return POOL[places], described


@pytest.fixture(autouse=True)
def _fields_may_be_unknown():
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="no item has the field")
        yield


class CollectionMachine(RuleBasedStateMachine):
    """Two handles of one file and one in memory, compared with the model."""

    @initialize(chunk=st.sampled_from([6, 60, 1 << 20]))
    def start(self, chunk):
        self.before = _chunks.CHUNK_BYTES
        _chunks.CHUNK_BYTES = chunk
        self.folder = tempfile.TemporaryDirectory()
        path = f"{self.folder.name}/x.rankhash"
        self.writer, self.memory, self.model = self.create(path)
        self.reader = Collection.open(path)

    def create(self, path):
        writer = Collection.create(path, HASHER, store_vectors="float32")
        return writer, Collection.create(":memory:", HASHER), Model(HASHER)

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
            self.check_found(handle.search(QUERIES, k, where=where, **self.options), ids, distances)
            assert handle.count(where) == len(self.model.passing(where))

    options: ClassVar = {"scoring": "hamming"}

    def check_found(self, found, ids, distances):
        assert found.ids.tolist() == ids.tolist()
        assert found.distances.tolist() == distances.tolist()

    def check_item(self, handle, item, vector):
        assert item.code.tolist() == HASHER.encode(vector[None])[0].tolist()
        assert (item.vector is None) if handle is self.memory else (item.vector == vector).all()

    @precondition(lambda self: self.model.items)
    @rule(data=st.data())
    def get(self, data):
        ids = data.draw(st.lists(st.sampled_from(list(self.model.items)), unique=True))
        for handle in (self.reader, self.memory):
            for name, item in zip(ids, handle.get(ids), strict=True):
                vector, described = self.model.items[name]
                assert (item.id, item.metadata) == (name, described)
                self.check_item(handle, item, vector)

    @invariant()
    def order_and_number_are_those_of_the_model(self):
        if hasattr(self, "folder"):
            for handle in (self.writer, self.reader, self.memory):
                assert len(handle) == len(self.model.items)
                assert handle.ids() == list(self.model.items)


@functools.cache
def learned():
    """What is learned from the pool, with codes of 4 bytes, since learning takes seconds."""
    with mock.patch.object(_coder, "SHORTEST_CODE", 4), mock.patch.object(_coder, "LONGEST_CODE", 4):
        vectors = NumberedVectors("cosine", 0.95, "float32", N_FEATURES)
        vectors.append(POOL, np.arange(len(POOL)))
        return vectors.learn(lambda: None, 1)[0]


def adopt_learned(collection):
    """What the learning thread does at its end."""
    with collection._database.transaction() as transaction:
        transaction.recode(transaction.encoding.with_learned(dataclasses.replace(learned(), name=new_name())))


class VectorMachine(CollectionMachine):
    """Collections without a hasher, which may learn at any moment; they are asked for all true neighbours."""

    options: ClassVar = {"recall": 1}

    def create(self, path):
        return Collection.create(path), Collection.create(None), Model(None, "cosine")

    def check_found(self, found, ids, distances):
        """Ties of rounded distances may come in any order."""
        np.testing.assert_allclose(found.distances, distances, rtol=1e-5, atol=1e-6)
        for row in range(len(ids)):
            for place in range(ids.shape[1]):
                near = np.isclose(distances[row], distances[row, place], rtol=1e-5, atol=1e-6)
                if not near[-1]:
                    assert found.ids[row, place] in ids[row, near].tolist()

    def check_item(self, handle, item, vector):
        assert item.code is None
        assert (item.vector == vector).all()

    @precondition(lambda self: self.model.items)
    @rule()
    def learn(self):
        self.both(adopt_learned)
        assert self.writer.stats().n_learned == len(POOL)

    @precondition(lambda self: self.model.items)
    @rule()
    def every_item_finds_itself(self):
        names = list(self.model.items)[:8]
        vectors = np.array([self.model.items[name][0] for name in names])
        for handle in (self.writer, self.reader, self.memory):
            assert np.abs(handle.search(vectors, 1, recall=0.9).distances).max() < 1e-5


TestCollection = CollectionMachine.TestCase
TestVectors = VectorMachine.TestCase
TestVectors.settings = settings(max_examples=12, stateful_step_count=25)
TestCollection.settings = settings(max_examples=25, stateful_step_count=25)
