"""Vectors of very many dimensions: learned from in the space that they span, or refused with a sentence."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from rankhash import ITQ, SPLH, InvalidInputError
from rankhash.hashers import HASHERS, _blocks, splh
from rankhash.hashers._features import span
from rankhash.hashers._features.span import Span
from rankhash.vectors import batches

ROTATING = [name for name in HASHERS if HASHERS[name]._rotates]
FAST = {"n_iterations": 20, "max_iter": 5, "n_steps": 20, "n_neighbors": 5}


def wide(n, d):
    rng = np.random.default_rng(0)
    return (rng.normal(size=(n, 6)) @ rng.normal(size=(6, d)) + 3).astype(np.float32)


def make(name):
    hasher = HASHERS[name](8, random_state=0)
    return hasher.set_params(**{key: value for key, value in FAST.items() if key in hasher.get_params()})


def test_the_methods_that_depend_on_products_only_are_known():
    assert {"ITQ", "JRSH", "MLH", "RSH", "SPLH", "SRSH", "SpectralHashing", "RankQuantizer"} <= {*ROTATING}
    assert not {"WTA", "MinHash", "BSSC", "CRO", "PermutationCodes"} & {*ROTATING}


def test_coordinates_have_the_products_of_the_vectors():
    X = wide(9, 2000)
    found = Span.of(batches(X))
    x = found.coordinates.whole()
    np.testing.assert_allclose(x.astype(float) @ x.T, X.astype(float) @ X.T, rtol=1e-5)
    np.testing.assert_allclose(found.expand(x), X, atol=1e-4)


@pytest.mark.parametrize("shape", [(9, 1000), (1200, 1100)])
def test_few_dimensions_and_many_vectors_are_left_alone(shape):
    assert Span.of(batches(np.ones(shape, np.float32))) is None


@pytest.mark.parametrize("labelled", [False, True])
@pytest.mark.parametrize("name", ROTATING)
def test_a_fit_to_wide_vectors_takes_little_memory(name, labelled, tmp_path):
    n, d = 40, 20_000
    X, y = wide(n, d), np.arange(n) % 4 if labelled else None
    hasher = make(name)
    tracemalloc.start()
    hasher.fit(X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 150e6, "a matrix of d × d would take 3.2 GB"
    narrow = make(name).fit(Span.of(batches(X)).coordinates.whole(), y)
    codes, expected = hasher.transform(X), narrow.transform(Span.of(batches(X)).coordinates.whole())
    assert (codes == expected).mean() > 0.97  # up to rounding at thresholds
    hasher.save(tmp_path / "hasher")


def test_vectors_too_long_for_float32_are_refused():
    with pytest.raises(InvalidInputError, match="scale them down"):
        ITQ(8).fit(np.full((3, 2000), 3e38, np.float32))


@pytest.mark.parametrize("hasher", [ITQ(8), SPLH(8)])
def test_a_matrix_of_all_dimensions_that_memory_cannot_hold_is_refused(hasher, monkeypatch):
    monkeypatch.setattr(_blocks, "SQUARE_COPIES", 1 << 40)
    with pytest.raises(InvalidInputError, match=r"no memory to fit .* reduce their dimension first"):
        hasher.fit(wide(50, 20))


@pytest.mark.parametrize("labelled", [False, True])
def test_the_first_eigenvector_is_the_same_by_lanczos_iterations(labelled, monkeypatch):
    X = wide(120, 60) + np.random.default_rng(1).normal(size=(120, 60)).astype(np.float32)
    y = np.arange(120) % 4 if labelled else None
    codes = SPLH(12, random_state=0).fit(X, y).encode(X)
    monkeypatch.setattr(splh, "MOST_DENSE", 10)
    np.testing.assert_array_equal(SPLH(12, random_state=0).fit(X, y).encode(X), codes)


def test_large_sets_are_left_alone(monkeypatch):
    monkeypatch.setattr(span, "MAX_BYTES", 1000)
    assert Span.of(batches(wide(9, 2000))) is None
