"""Hostile input at the door: every limit holds, in bounded time, and nothing stays behind."""

from __future__ import annotations

import os
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankhash import (
    LSH,
    Collection,
    DeadlineError,
    FilterError,
    IdError,
    InvalidInputError,
    StorageError,
    _metadata,
)
from rankhash.collection import _filter_cache
from rankhash.collection.filters import MAX_LENGTH, field_path, parse

LARGEST = 2**63 - 2

RUNS = ["1", "a", " ", "é", "-", "+", ".", "1.", "1e", "e1", "(", ")", "'", '"', "`", "\\", "'\\", "<", "=", ",", "\n"]
RUNS += ["not ", "a.", "1,", "a=1 or ", "a in (1,", "'x',", "\ud800", "\0", "0", "_", "٣", "!"]


def seconds_of(call, *args):
    """Processor time of a call that fails."""
    started = time.thread_time()
    with pytest.raises(FilterError):
        call(*args)
    return time.thread_time() - started


def test_a_long_run_of_digits_is_read_once():
    assert seconds_of(parse, "a = " + "1" * (MAX_LENGTH - 10) + "x") < 0.5


@pytest.mark.parametrize("start", ["", "a = ", "a = '", "a in (", "a = 1", "`", "a between 1 and "])
@pytest.mark.parametrize("end", ["x", "", "'", "~"])
def test_no_repeated_token_takes_more_than_linear_time(start, end):
    """Tokens of 20,000 characters take milliseconds; a quadratic pattern would take seconds."""
    for run in RUNS:
        text = start + run * ((MAX_LENGTH - 20) // len(run)) + end + " ~"
        assert seconds_of(parse, text) < 0.5, (start, run, end)


@given(st.lists(st.sampled_from(RUNS), min_size=1, max_size=4), st.sampled_from(["", "a = ", "'", "a = 1e"]))
@settings(max_examples=60)
def test_no_mixture_of_tokens_takes_more_than_linear_time(runs, start):
    text = start + "".join(run * (4000 // len(run)) for run in runs) + " ~"
    assert seconds_of(parse, text) < 0.5


def test_the_name_of_a_field_has_the_length_of_a_filter_at_most():
    with pytest.raises(FilterError, match="characters"):
        field_path("a" * (MAX_LENGTH + 1))


# -- ids and metadata ----------------------------------------------------------------------------------------------


def test_the_largest_id_leaves_the_collection_writable(collection, vectors):
    collection.add(vectors[:1], [LARGEST])
    with pytest.raises(IdError, match="no room"):
        collection.add(vectors[:2])
    assert collection.add(vectors[:2], ["a", 7]) == ["a", 7]
    collection.upsert(vectors[:1], [LARGEST])
    assert collection.ids() == ["a", 7, LARGEST]
    assert collection.check().problems == ()


def test_a_large_id_does_not_use_up_the_numbers(collection, vectors):
    collection.add(vectors[:1], [LARGEST - 10])
    assert collection.add(vectors[:5]) == [LARGEST - 9 + i for i in range(5)]
    for _ in range(3):
        collection.add(vectors[:20], [f"t{len(collection)}-{i}" for i in range(20)])
    collection.delete([LARGEST - 8])
    assert len(collection) == 65
    assert collection.search(vectors[:1], 1).ids[0, 0] == LARGEST - 10
    collection.compact()
    assert collection.check().problems == ()


def nested(depth, leaf):
    for _ in range(depth):
        leaf = {"a": leaf} if depth % 2 else [leaf]
    return {"a": leaf}


def test_metadata_have_a_depth(collection, vectors):
    collection.add(vectors[:1], ["deep"], [nested(_metadata.MAX_DEPTH - 1, 1)])
    assert collection.count("exists a") == 1
    endless = {}
    endless["a"] = endless
    shared = []
    for _ in range(60):
        shared = [shared, shared]
    for wrong in (nested(_metadata.MAX_DEPTH, 1), nested(2500, 1), nested(2501, 1), endless):
        with pytest.raises(InvalidInputError, match="levels deep"):
            collection.add(vectors[:1], ["x"], [wrong])
    with pytest.raises(InvalidInputError, match="bytes"):
        collection.add(vectors[:1], ["x"], [{"a": shared}])
    assert collection.ids() == ["deep"]


@pytest.mark.parametrize("wrong", [{1: "a", "1": "b"}, {1: "a"}, {None: 1}, {"a": {2.5: 1}}, {"a": [{True: 1}]}])
def test_keys_of_metadata_are_text(collection, vectors, wrong):
    with pytest.raises(InvalidInputError, match="text as keys"):
        collection.add(vectors[:1], ["x"], [wrong])
    assert len(collection) == 0


# -- time and memory of filters ------------------------------------------------------------------------------------


def slow_filter(n):
    return " or ".join(f"a{i}.b = 'x{i}'" for i in range(n))


@pytest.fixture
def described(collection, vectors):
    collection.add(np.tile(vectors, (20, 1)), metadata=[{"n": i, "text": "x" * 200} for i in range(6000)])
    return collection


@pytest.mark.filterwarnings("ignore:no item has the field")
def test_a_filter_is_interrupted_at_its_deadline(described):
    where = slow_filter(399)
    started = time.perf_counter()
    with pytest.raises(DeadlineError, match="took too long"), described.snapshot(timeout=0.05) as snapshot:
        snapshot.count(where)
    assert time.perf_counter() - started < 2
    with described.snapshot(timeout=60) as snapshot:
        assert snapshot.count("n < 10") == 10
    assert described.count(where) == 0  # the same connection without a deadline


@pytest.mark.parametrize("how", ["search", "search_stored", "histogram", "duplicate_groups"])
def test_a_native_search_is_interrupted_at_its_deadline(how, tmp_path):
    vectors = np.random.default_rng(0).normal(size=(40_000, 64)).astype(np.float32)
    hasher = LSH(n_bits=256, random_state=0).fit(vectors) if how in ("histogram", "duplicate_groups") else None
    with Collection.create(tmp_path / "c", hasher, metric="euclidean", store_vectors="float32") as made:
        made.add(vectors[:9000])
        made.add(vectors[9000:])
        made.search(vectors[:1])
        queries = vectors[:4000]
        calls = {
            "search": lambda now: now.search(queries, 10, recall=1.0, n_threads=1),
            "search_stored": lambda now: now.search_stored(queries, 10),
            "histogram": lambda now: now.histogram(hasher.encode(queries), n_threads=1),
            "duplicate_groups": lambda now: now.duplicate_groups(radius=60),
        }
        started = time.perf_counter()
        with pytest.raises(DeadlineError, match="took too long"), made.snapshot(timeout=0.1) as now:
            calls[how](now)
        assert time.perf_counter() - started < 0.6
        assert made.search(vectors[:1]).ids[0, 0] == 0  # without a deadline again
        with made.snapshot(timeout=0.01) as now:
            time.sleep(0.02)
            made.search(vectors[:2000])  # the deadline is of the snapshot, not of the thread


def test_filters_are_kept_up_to_a_number_and_a_size(described, monkeypatch):
    cache = described._reader._caches.filters
    monkeypatch.setattr(_filter_cache, "MAX_ENTRIES", 5)
    for i in range(20):
        assert described.count(f"n = {i}") == 1
    assert list(cache._entries) == [f"n = {i}" for i in range(15, 20)]
    monkeypatch.setattr(_filter_cache, "MAX_BYTES", 20_000)
    texts = ["n = 1 or text = '" + "y" * 3000 + f"{i}'" for i in range(5)]
    for text in texts:
        described.count(text)
    assert list(cache._entries) == texts[-1:]
    described.add(np.ones((1, 6)), metadata=[{"n": 1}])
    described.count(texts[-1])
    assert cache._n_bytes == sum(_filter_cache._size(*pair) for pair in cache._entries.items())


@pytest.mark.filterwarnings("ignore:no item has the field")
def test_a_filter_does_not_keep_others_waiting(described, monkeypatch):
    """While one filter runs, another one is answered."""
    evaluated = _filter_cache._evaluated

    def also_another(entry, connection, replica, condition, parameters, next_number):
        if "a0" in str(parameters):
            assert described.count("n = 3") == 1
        return evaluated(entry, connection, replica, condition, parameters, next_number)

    monkeypatch.setattr(_filter_cache, "_evaluated", also_another)
    assert described.count(slow_filter(2)) == 0


def test_ids_of_removed_items_are_not_kept_for_ever(collection, vectors):
    names = [f"n{i}" for i in range(10)]
    for _ in range(30):
        collection.upsert(vectors[:10], names)
        assert {*collection.search(vectors[:10], 10).ids.ravel()} == {*names}
    assert len(collection._reader._caches.names._known) <= 20


# -- files ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["deleted", "replaced by a copy", "replaced by another"])
def test_a_change_of_a_file_that_is_gone_is_refused(path, collection, hasher, vectors, tmp_path, how):
    collection.add(vectors[:3])
    if how == "replaced by a copy":
        (tmp_path / "copy").write_bytes(path.read_bytes())
        os.replace(tmp_path / "copy", path)
    elif how == "deleted":
        os.unlink(path)
    else:
        Collection.create(tmp_path / "other.rankhash", hasher).close()
        os.replace(tmp_path / "other.rankhash", path)
    for change in (
        lambda: collection.add(vectors[:3]),
        lambda: collection.delete([0]),
        lambda: collection.compact(),
        lambda: collection.index_field("a"),
    ):
        with pytest.raises(StorageError, match="deleted or replaced"):
            change()


@pytest.mark.parametrize("suffix", [".jsonl", ".npy", ".parquet"])
def test_an_export_is_on_the_disk_before_it_has_its_name(collection, vectors, tmp_path, monkeypatch, suffix):
    collection.add(vectors[:3])
    steps = []
    fsync, replace = os.fsync, os.replace
    monkeypatch.setattr(os, "fsync", lambda file: steps.append(os.readlink(f"/proc/self/fd/{file}")) or fsync(file))
    monkeypatch.setattr(os, "replace", lambda *names: steps.append("rename") or replace(*names))
    collection.export_file(tmp_path / f"items{suffix}")
    assert steps[0].endswith(".tmp")
    assert steps[1:] == ["rename", str(tmp_path)]


def test_a_full_disk_is_a_storage_error(hasher, tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StorageError, match="No space left on device"):
        hasher.save(tmp_path / "hasher.safetensors")
    assert os.listdir(tmp_path) == []


def test_the_warning_of_a_field_that_no_item_has_is_short():
    with Collection.create(":memory:", metric="euclidean") as items:
        items.add([[1.0, 2.0]], metadata=[{"a": 1}])
        with pytest.warns(UserWarning, match="no item has the field") as caught:
            assert items.count("a.b" * 6000 + " = 1") == 0
        assert len(str(caught[0].message)) < 200
