"""A collection without a hasher: exact while it is small, learned as it grows, and whole after a kill."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from unittest import mock

import numpy as np
import pytest

from rankhash import LSH, Collection, FileFormatError, InvalidInputError, StorageError
from rankhash.vector_index import _coder, _engine, _options

from .model import distances_in

N, D = 3000, 8
RNG = np.random.default_rng(0)
CENTERS = RNG.normal(size=(20, D)) * 4
VECTORS = (CENTERS[RNG.integers(0, 20, N)] + RNG.normal(size=(N, D))).astype(np.float32)
QUERIES = (CENTERS[RNG.integers(0, 20, 50)] + RNG.normal(size=(50, D))).astype(np.float32)


@pytest.fixture(autouse=True)
def _few_vectors_are_many(monkeypatch):
    """Cells from 1000 vectors on, with codes of 4 bytes."""
    monkeypatch.setattr(_options, "EXACT_NUMBERS", 1000 * D)
    monkeypatch.setattr(_coder, "SHORTEST_CODE", 4)
    monkeypatch.setattr(_coder, "LONGEST_CODE", 4)
    monkeypatch.setattr(_engine, "FEW_PASSING", 50)


def recall(found, truth):
    pairs = zip(found.ids.tolist(), truth.tolist(), strict=True)
    return np.mean([len({*row} & {*true}) for row, true in pairs]) / truth.shape[1]


@pytest.mark.parametrize("metric", ["cosine", "euclidean", "dot"])
@pytest.mark.parametrize("kind", ["float16", "float32"])
def test_few_vectors_are_compared_exactly(path, metric, kind):
    kept = VECTORS[:500].astype(kind).astype(np.float32)
    away = distances_in(metric, QUERIES, kept)
    order = np.argsort(away, axis=1, kind="stable")
    with Collection.create(path, metric=metric, store_vectors=kind) as collection:
        collection.add(VECTORS[:500], metadata=[{"n": i} for i in range(500)])
        found = collection.search(QUERIES, 5)
        tolerance = {"rtol": 2e-3, "atol": 2e-3} if kind == "float16" else {"rtol": 1e-4, "atol": 1e-5}
        np.testing.assert_allclose(found.distances, np.take_along_axis(away, order[:, :5], 1), **tolerance)
        assert recall(found, order[:, :5]) > (0.98 if kind == "float16" else 0.999)
        some = collection.search(QUERIES, 3, where="n < 100").ids
        assert recall(mock.Mock(ids=some), np.argsort(away[:, :100], axis=1)[:, :3]) > 0.98
        radius = float(np.median(away[0]))
        near = collection.search_radius(QUERIES[:2], radius)
        assert abs(np.diff(near.offsets)[0] - (away[0] <= radius).sum()) <= 2
        assert collection.stats().n_learned is None


def test_it_learns_in_the_background_and_every_handle_follows(path):
    with Collection.create(path, metric="euclidean") as writer, Collection.open(path) as reader:
        writer.add(VECTORS[:900])
        assert reader.search(QUERIES, 10).ids.shape == (50, 10)
        assert not writer._learner.at_work
        writer.add(VECTORS[900:])
        writer._learner._thread.wait()
        truth = np.argsort(distances_in("euclidean", QUERIES, VECTORS), axis=1)[:, :10]
        for handle in (writer, reader):
            assert handle.stats().n_learned == N
            assert recall(handle.search(QUERIES, 10), truth) > 0.9
            assert recall(handle.search(QUERIES, 10, recall=1), truth) > 0.999
            assert "cells" in handle.stats().index
        assert reader.stats().recall_measured > 0.9
        writer.delete(list(range(0, 1000, 2)))
        writer.add(VECTORS[:10], [f"n{i}" for i in range(10)])
        assert reader.search(VECTORS[:10], 2).ids[:, 0].tolist() == ["n0", 1, "n2", 3, "n4", 5, "n6", 7, "n8", 9]
        assert writer.check().problems == reader.check().problems == ()
        writer.compact()
        assert reader.search(VECTORS[1:2], 1).ids.tolist() == [[1]]
    with Collection.open(path) as again:
        assert again.stats().n_learned == N
        assert again.search(VECTORS[1:2], 1).ids.tolist() == [[1]]


def test_growth_is_measured_again_and_drift_is_learned_anew(path):
    with Collection.create(path, metric="euclidean") as collection:
        collection.add(VECTORS[:1200])
        collection._learner._thread.wait()
        first = collection._database.encoding.learned
        collection.add(VECTORS[1200:2400])
        collection._learner._thread.wait()
        second = collection._database.encoding.learned
        assert (second.name, second.n_calibrated, second.n_learned) == (first.name, 2400, 1200)
        far = VECTORS + np.float32(100)
        collection.add(far)
        collection._learner._thread.wait()
        third = collection._database.encoding.learned
        assert third.name != first.name
        assert third.n_learned == 5400
        assert collection.search(far[:5], 1).ids[:, 0].tolist() == [2400, 2401, 2402, 2403, 2404]


def test_learning_ends_with_the_handle_and_leaves_no_trace(path):
    with Collection.create(path) as collection:
        collection.add(VECTORS)
        assert "learning" in collection.stats().index
    with Collection.open(path) as collection:
        assert collection.stats().n_learned is None
        with pytest.raises(StorageError, match="opened for reading"):
            collection.learn()
        assert collection.check().problems == ()
    with Collection.open(path, "rw") as collection:
        collection.learn()
        assert collection.stats().n_learned == N
        name = collection._database.encoding.learned.name
        collection.learn()
        assert collection._database.encoding.learned.name == name
        collection.learn(anew=True)
        assert collection._database.encoding.learned.name != name


def test_rehash_gives_a_collection_another_hasher(path):
    hasher = LSH(64, random_state=0).fit(VECTORS)
    with Collection.create(path, metric="euclidean") as writer, Collection.open(path) as reader:
        writer.add(VECTORS[:900], metadata=[{"n": i} for i in range(900)])
        writer.delete([5])
        before = reader.search(QUERIES, 5)
        writer.rehash(hasher)
        for handle in (writer, reader):
            found = handle.search(QUERIES, 5, rerank=900)
            assert found.ids.tolist() == before.ids.tolist()
            assert handle.get([7])[0].code.tolist() == hasher.encode(VECTORS[7:8])[0].tolist()
            assert handle.hasher.fingerprint == hasher.fingerprint
            assert handle.count("n < 10") == 9
            assert handle.check().problems == ()
        writer.add(VECTORS[900:910])
        writer.rehash()
        assert writer.hasher.get_params() == hasher.get_params()
        assert reader.search(VECTORS[905:906], 1).ids.tolist() == [[905]]
    with Collection.create(None, hasher) as bare, pytest.raises(InvalidInputError, match="stored vectors"):
        bare.rehash(hasher)


def test_what_is_learned_is_checked(path):
    with Collection.create(path) as collection:
        collection.add(VECTORS[:1001])
        collection.learn(anew=True)
        with collection._database.connections.writing() as connection:
            connection.execute("UPDATE settings SET value = substr(value, 1, 3000) WHERE name = 'learned'")
    with pytest.raises(FileFormatError, match="damaged"):
        Collection.open(path)


LEARN = """
import sys, numpy as np
from rankhash import Collection
from rankhash.vector_index import _coder, _options
_options.EXACT_NUMBERS, _coder.SHORTEST_CODE, _coder.LONGEST_CODE = 1000, 4, 4
rng = np.random.default_rng(0)
with Collection.open(sys.argv[1], "rw") as collection:
    print("open", flush=True)
    while True:
        print(*collection.add(rng.normal(size=(300, 8)).astype("f4"))[-1:], flush=True)
        collection.learn(anew=True)
        print("learned", flush=True)
"""


@pytest.mark.parametrize("seed", range(3))
def test_a_kill_while_it_learns_leaves_it_whole(path, seed):
    with Collection.create(path, metric="euclidean") as collection:
        collection.add(VECTORS[:300])
    lines = []
    with subprocess.Popen([sys.executable, "-c", LEARN, path], stdout=subprocess.PIPE, text=True) as process:
        while "learned" not in lines:
            lines.append(process.stdout.readline().strip())
            assert process.poll() is None, lines
        time.sleep(np.random.default_rng(seed).uniform(0, 0.5))
        os.kill(process.pid, signal.SIGKILL)
        lines += process.stdout.read().split()
    acknowledged = max(int(line) for line in lines if line.isdigit())
    with Collection.open(path, "rw") as collection:
        assert collection.check().problems == ()
        assert len(collection) >= acknowledged + 1
        assert len(collection) % 300 == 0
        assert collection.stats().n_learned is not None
        assert collection.search(VECTORS[:20], 1, recall=1).ids[:, 0].tolist() == list(range(20))
        collection.add(VECTORS[:1], ["new"])
        assert collection.check().problems == ()


@pytest.mark.parametrize("metric", ["euclidean", "dot"])
def test_vectors_whose_distances_overflow_are_refused_and_change_nothing(path, metric):
    wrong = VECTORS.copy()
    wrong[::7] = np.sign(wrong[::7]) * np.float32(1e20)
    with Collection.create(path, metric=metric) as collection:
        with pytest.raises(InvalidInputError, match=r"row 0 of X has the length .* scale the vectors down"):
            collection.add(wrong)
        assert len(collection) == 0
        with mock.patch("rankhash.collection._batch.storable"):  # a file of an earlier version
            collection.add(wrong)
        with pytest.raises(InvalidInputError, match="of X has the length"):
            collection.learn()
        assert collection.search(QUERIES, 5).ids.shape == (50, 5)
