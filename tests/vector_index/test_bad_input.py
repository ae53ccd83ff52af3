"""Input that makes no sense is refused by one sentence, and nothing changes."""

from __future__ import annotations

import numpy as np
import pytest

from rankhash import InvalidInputError, VectorIndex

X = np.random.default_rng(0).normal(size=(30, 4))
NAN, ZERO = X.copy(), X.copy()
NAN[7, 2], ZERO[5] = np.nan, 0


def one_sentence(error):
    text = str(error.value)
    assert text
    assert "\n" not in text
    return text


@pytest.mark.parametrize(
    ("parameters", "says"),
    [
        ({"metric": "manhattan"}, "metric"),
        ({"metric": None}, "metric"),
        ({"recall": -0.1}, "recall"),
        ({"recall": 1.5}, "recall"),
        ({"recall": float("nan")}, "recall"),
        ({"recall": "high"}, "recall"),
        ({"bytes_per_vector": 3}, "bytes_per_vector"),
        ({"bytes_per_vector": 129}, "bytes_per_vector"),
        ({"bytes_per_vector": "many"}, "bytes_per_vector"),
        ({"bytes_per_vector": 8.5}, "bytes_per_vector"),
        ({"vectors": "float64"}, "vectors"),
        ({"vectors": 32}, "vectors"),
        ({"n_cells": 0}, "n_cells"),
        ({"n_cells": "some"}, "n_cells"),
        ({"n_probes": 0}, "n_probes"),
        ({"n_candidates": -1}, "n_candidates"),
        ({"random_state": -1}, "random_state"),
        ({"verbose": "yes"}, "verbose"),
    ],
)
def test_parameters_out_of_range_are_named(parameters, says):
    with pytest.raises(InvalidInputError, match=says) as error:
        VectorIndex(**parameters)
    one_sentence(error)


@pytest.mark.parametrize("metric", ["cosine", "euclidean", "dot"])
@pytest.mark.parametrize(
    ("vectors", "says"),
    [
        (np.ones((3, 5)), "5 features"),
        (np.ones(4), "2D"),
        (np.ones((2, 2, 4)), "2D"),
        (np.empty((0, 3)), r"0 sample\(s\)"),
        (NAN, "NaN"),
        (np.where(np.isnan(NAN), np.inf, NAN), "inf"),
        (np.full((2, 4), "a"), "."),
        (np.full((2, 4), 1e300), "."),
    ],
)
def test_vectors_that_do_not_fit_are_refused_everywhere(metric, vectors, says):
    index = VectorIndex(metric)
    index.add(X)
    before = index.search(X)
    for call in (
        index.add,
        index.search,
        lambda v: index.upsert(v, np.arange(len(v))),
        lambda v: index.add(v, np.arange(100, 100 + len(v))),
    ):
        with pytest.raises(InvalidInputError, match=says) as error:
            call(vectors)
        one_sentence(error)
    assert len(index) == 30
    np.testing.assert_array_equal(index.search(X).ids, before.ids)


@pytest.mark.parametrize("call", ["add", "search", "fit"])
def test_a_zero_vector_has_no_cosine(call):
    index = VectorIndex("cosine")
    with pytest.raises(InvalidInputError, match=r"row 5 of . is zero, which has no direction") as error:
        getattr(index, call)(ZERO)
    one_sentence(error)
    assert len(index) == 0
    for metric in ("euclidean", "dot"):
        other = VectorIndex(metric)
        other.add(ZERO)
        assert len(other) == 30


def test_a_refused_first_add_leaves_the_dimension_open():
    index = VectorIndex("cosine")
    for refused in (NAN, ZERO):
        with pytest.raises(InvalidInputError):
            index.add(refused)
    assert index.n_features is None
    index.add(np.ones((2, 9)))
    assert index.n_features == 9


def test_only_an_empty_index_can_be_fitted(learned, queries):
    index = learned()
    before = index.search(queries)
    with pytest.raises(InvalidInputError, match="only an empty index can be fitted") as error:
        index.fit(queries)
    one_sentence(error)
    np.testing.assert_array_equal(index.search(queries).ids, before.ids)


@pytest.mark.parametrize(
    ("how", "says"),
    [
        ({"k": 0}, "k"),
        ({"k": 2.5}, "k"),
        ({"k": 2**41}, "k"),
        ({"recall": -0.1}, "recall"),
        ({"recall": 1.01}, "recall"),
        ({"filter": np.ones(29, bool)}, "30 vectors got 29"),
        ({"filter": np.ones((30, 1), bool)}, "one-dimensional"),
        ({"filter": [0.5]}, "ids or a boolean mask"),
        ({"filter": ["a"]}, "ids or a boolean mask"),
        ({"exact": "yes"}, "exact"),
        ({"n_threads": 0}, "n_threads"),
        ({"n_threads": 1.5}, "n_threads"),
    ],
)
def test_searches_out_of_range_are_refused(how, says):
    index = VectorIndex("euclidean")
    index.add(X)
    with pytest.raises(InvalidInputError, match=says) as error:
        index.search(X, **how)
    one_sentence(error)


def test_an_index_without_vectors_cannot_be_saved(tmp_path):
    with pytest.raises(InvalidInputError, match="cannot be saved") as error:
        VectorIndex().save(tmp_path / "index.rankhash")
    one_sentence(error)
    assert not list(tmp_path.iterdir())
