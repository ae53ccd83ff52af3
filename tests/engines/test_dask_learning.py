"""Encoding and learning from Dask arrays."""

from __future__ import annotations

import dask
import dask.array as da
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from rankhash import ITQ, LSH, RSH, InvalidInputError
from rankhash.engines.dask import _fitting, encode, fit

RNG = np.random.default_rng(0)
Y = RNG.integers(0, 4, 900)
X = (RNG.normal(size=(900, 12)) + 2 * RNG.normal(size=(4, 12))[Y]).astype(np.float32)
ARRAY = da.from_array(X, chunks=(256, 5))
RSH_SMALL = RSH(8, max_pairs=400, n_neighbors=8, random_state=3)


def refuse(*arguments):
    raise AssertionError("computed too early")


@pytest.mark.parametrize("hasher", [LSH(17, random_state=0), RSH_SMALL, ITQ(8, random_state=0)], ids=str)
def test_codes_are_those_of_the_hasher_whatever_the_blocks(client, hasher):
    hasher = clone(hasher).fit(X)
    codes = encode(ARRAY, hasher)
    assert codes.shape == (900, hasher.layout_.n_bytes)
    assert (codes.dtype, codes.numblocks) == (np.uint8, (4, 1))
    with client.as_current():
        np.testing.assert_array_equal(codes.compute(), hasher.encode(X))


def test_encoding_waits_until_it_is_asked_for_and_carries_the_hasher_once():
    hasher = LSH(8, random_state=0).fit(X)
    codes = encode(ARRAY.map_blocks(refuse, dtype=np.float32), hasher)
    assert sum("hasher-" in str(key) for key in dict(codes.__dask_graph__())) == 1


def test_blocks_without_rows_or_of_unknown_length_are_encoded():
    hasher = LSH(8, random_state=0).fit(X)
    kept = ARRAY[ARRAY[:, 0] > 2]
    with dask.config.set(scheduler="synchronous"):
        np.testing.assert_array_equal(encode(kept, hasher).compute(), hasher.encode(X[X[:, 0] > 2]))
        empty = da.from_array(X, chunks=((0, 900), (12,)))
        np.testing.assert_array_equal(encode(empty, hasher).compute(), hasher.encode(X))


def test_callbacks_and_histories_stay_at_home(client):
    hasher = clone(RSH_SMALL).set_params(callback=lambda _: refuse).fit(X)
    with client.as_current():
        np.testing.assert_array_equal(encode(ARRAY, hasher).compute(), hasher.encode(X))


def test_bad_input_of_encode():
    class Own(LSH):
        pass

    hasher = LSH(8).fit(X)
    with_nan = X.copy()
    with_nan[300, 1] = np.nan
    for array, by, error, match in [
        (X, hasher, InvalidInputError, "dask array"),
        (ARRAY[:, 0], hasher, InvalidInputError, "one per row"),
        (ARRAY[:, :7], hasher, InvalidInputError, "7 features"),
        (ARRAY.astype(complex), hasher, InvalidInputError, "real numbers"),
        (ARRAY, LSH(8), NotFittedError, "not fitted"),
        (ARRAY, Own(8).fit(X), InvalidInputError, "map_blocks"),
        (ARRAY, "LSH", InvalidInputError, "hasher must be"),
    ]:
        with pytest.raises(error, match=match):
            encode(array, by)
    with (
        dask.config.set(scheduler="synchronous"),
        pytest.raises(InvalidInputError, match=r"in block 1.*row 44 holds NaN"),
    ):
        encode(da.from_array(with_nan, chunks=(256, -1)), hasher).compute()


# -- fit ---------------------------------------------------------------------------------------------------------------


def count_functions(dask_scheduler=None):
    """Number of learning tasks that the scheduler has seen, in any state."""
    prefixes = dask_scheduler.task_prefixes.items()
    return sum(sum(tasks.state_counts.values()) for name, tasks in prefixes if "learn_one" in name)


@pytest.mark.parametrize("hasher", [RSH_SMALL, LSH(9, random_state=0)], ids=str)
def test_a_small_array_is_learned_from_as_a_whole(client, hasher):
    alone = clone(hasher).fit(X)
    spread = clone(hasher)
    assert fit(spread, ARRAY, client=client) is spread
    assert spread.fingerprint == alone.fingerprint


def test_functions_of_rsh_are_learned_on_the_workers(client):
    before = client.run_on_scheduler(count_functions)
    learned = fit(clone(RSH_SMALL), ARRAY, Y, client=client)
    assert learned.fingerprint == clone(RSH_SMALL).fit(X, Y).fingerprint
    assert client.run_on_scheduler(count_functions) > before


def test_a_sample_does_not_depend_on_the_blocks(client):
    hashers = [clone(RSH_SMALL) for _ in range(3)]
    for hasher, chunks in zip(hashers, [(100, 12), (900, 3), (256, 5)], strict=True):
        fit(hasher, da.from_array(X, chunks=chunks), da.from_array(Y, chunks=77), max_points=300, client=client)
    assert len({hasher.fingerprint for hasher in hashers}) == 1
    other = fit(clone(RSH_SMALL).set_params(random_state=4), ARRAY, Y, max_points=300, client=client)
    assert other.fingerprint != hashers[0].fingerprint


def test_only_drawn_blocks_are_read():
    rng = np.random.default_rng(0)
    lengths = (10, 0, 30, 5, 55)
    for _ in range(20):
        rows = _fitting._drawn_rows(rng, lengths, 20, 2)
        blocks = np.unique(np.searchsorted(np.cumsum(lengths), rows, side="right"))
        assert len(blocks) <= 2
        assert (np.diff(rows) > 0).all()
        assert 0 <= rows.min() <= rows.max() < 100
        assert len(rows) <= 20
    assert _fitting._drawn_rows(rng, lengths, 100, None) is None
    assert len(_fitting._drawn_rows(rng, lengths, 99, None)) == 99


def test_a_sample_of_blocks_is_learned_from(client):
    rng = np.random.default_rng(np.random.RandomState(3).randint(0, 2**31 - 1, size=4))
    rows = _fitting._drawn_rows(rng, ARRAY.chunks[0], 200, 2)
    learned = fit(clone(RSH_SMALL), ARRAY, max_points=200, max_blocks=2, client=client)
    assert learned.fingerprint == clone(RSH_SMALL).fit(X[rows]).fingerprint


def test_given_pairs_are_learned_from_without_the_other_vectors(client):
    first, second = RNG.integers(0, 450, (2, 2000)) * 2
    pairs = np.column_stack([first, second, Y[first] == Y[second]])
    guarded = da.from_array(np.where(np.arange(900)[:, None] % 2, np.nan, X), chunks=(256, 5))
    learned = fit(clone(RSH_SMALL), guarded, similarity=pairs, client=client)
    assert learned.fingerprint == clone(RSH_SMALL).fit(X[::2], similarity=pairs // [2, 2, 1]).fingerprint


def test_of_too_many_pairs_some_are_drawn():
    pairs = np.column_stack([*RNG.integers(0, 10**9, (2, 5000)), RNG.integers(0, 2, 5000)])
    rows, places = _fitting._drawn_pairs(np.random.default_rng(0), pairs, 10**9, 700)
    assert 600 < len(rows) <= 700
    known = {tuple(pair) for pair in pairs.tolist()}
    assert all((rows[i], rows[j], s) in known for i, j, s in places)
    assert len(places) > 250


def test_other_methods_learn_from_the_sample(client):
    learned = fit(ITQ(8, random_state=0), ARRAY, max_points=400, client=client)
    again = fit(ITQ(8, random_state=0), ARRAY, max_points=400, client=client)
    assert learned.fingerprint == again.fingerprint


def test_bad_input_of_fit(client):
    pairs = [(0, 1, 1), (1, 2, 0)]
    for arguments, options, match in [
        ((X,), {}, "dask array"),
        ((ARRAY[ARRAY[:, 0] > 0],), {}, "compute_chunk_sizes"),
        ((ARRAY, Y[:5]), {}, "row for each of 900"),
        ((ARRAY, Y), {"similarity": pairs}, "not both"),
        ((ARRAY,), {"similarity": pairs, "max_blocks": 1}, "max_blocks"),
        ((ARRAY,), {"similarity": [(0, 900, 1)]}, "0 to 899"),
        ((ARRAY,), {"similarity": [(0, 1)]}, "rows"),
        ((ARRAY,), {"similarity": [(0, 1, 1), (2, 3, 0)], "max_points": 1}, "no pair"),
        ((ARRAY,), {"max_points": 0}, "max_points"),
        ((ARRAY,), {"max_blocks": 0}, "max_blocks"),
        ((ARRAY,), {"client": 5}, "client must be"),
    ]:
        with pytest.raises(InvalidInputError, match=match):
            fit(clone(RSH_SMALL), *arguments, **{"client": client, **options})
    with pytest.raises(InvalidInputError, match="hasher must be"):
        fit("RSH", ARRAY, client=client)
