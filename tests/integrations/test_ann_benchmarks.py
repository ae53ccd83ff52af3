"""The entry for ann-benchmarks keeps that harness's contract."""

from __future__ import annotations

import re

import numpy as np
import pytest

pytest.importorskip("h5py", reason="needs h5py of the extra data")

from ann_benchmarks import contract

ENTRY = contract.entry()
RNG = np.random.default_rng(0)


def written(path, vectors, metric, n_queries=30):
    contract.write_set(path, vectors[n_queries:], vectors[:n_queries], metric, 20)
    return path


@pytest.mark.parametrize("name", ["RankhashFlat", "RankhashLookup"])
@pytest.mark.parametrize("n_bits", [16, 77])
def test_entries_for_bits_are_exact(tmp_path, name, n_bits):
    path = written(tmp_path / "set.hdf5", RNG.integers(0, 2, (800, n_bits)).astype(bool), "hamming")
    algorithm = getattr(ENTRY, name)("hamming")
    (outcome,) = contract.run(path, algorithm, [None], 10, n_runs=1)
    assert (outcome.name, outcome.recall) == (name, 1.0)
    query = RNG.integers(0, 2, n_bits).astype(bool)
    algorithm.batch_query(query[None], 10)
    assert np.array_equal(algorithm.query(query, 10), algorithm.res[0])


@pytest.mark.parametrize("metric", ["angular", "euclidean"])
def test_entries_for_vectors_have_the_recall_that_is_asked_for(tmp_path, metric):
    path = written(tmp_path / "set.hdf5", RNG.normal(size=(500, 12)).astype(np.float32), metric)
    algorithm = ENTRY.RankhashVectors(metric)
    outcomes = contract.run(path, algorithm, [0.5, 0.99], 10, n_runs=1)
    assert [outcome.name for outcome in outcomes] == ["RankhashVectors(recall=0.5)", "RankhashVectors(recall=0.99)"]
    assert outcomes[1].recall >= 0.99
    assert algorithm.get_additional()["index_bytes"] > 0


def test_ties_and_near_ties_count_as_found():
    train = np.array([[1, 1, 1, 0], [1, 1, 0, 1], [0, 0, 0, 0], [1, 0, 1, 1]], bool)
    test = np.ones((1, 4), bool)
    true = np.array([[0.25, 0.25]])

    def recall(*ids):
        return contract.recall_with_ties("hamming", train, test, [np.array(ids, np.int64)], true, 2)

    assert recall(0, 3) == recall(1, 3) == 1
    assert recall(0, 2) == recall(0) == 0.5
    assert recall() == 0
    with pytest.raises(ValueError, match="twice"):
        recall(0, 0)


def test_other_metrics_are_refused():
    with pytest.raises(NotImplementedError, match="not by jaccard"):
        ENTRY.RankhashFlat("jaccard")
    with pytest.raises(NotImplementedError, match="not by hamming"):
        ENTRY.RankhashVectors("hamming")


def test_the_configuration_names_classes_of_the_module():
    text = (contract.HERE / "config.yml").read_text()
    constructors = re.findall(r"constructor: (\w+)", text)
    assert constructors == ["RankhashFlat", "RankhashLookup", "RankhashVectors"]
    assert all(hasattr(ENTRY, name) for name in constructors)
    for recall in re.search(r"query_args: \[\[(.*)\]\]", text)[1].split(","):
        assert 0 < float(recall) < 1
