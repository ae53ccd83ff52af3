"""Cross-modal metrics against all orders of the ties."""

from itertools import pairwise, permutations

import numpy as np
import pytest

from rankhash import CCAITQ
from rankhash.errors import InvalidInputError
from rankhash.evaluation.counts import Counts
from rankhash.evaluation.cross_modal import Direction, average_precision_at, evaluate_views, partner_directions

RNG = np.random.default_rng(0)
Y = np.arange(90) % 3
X, Z = (RNG.normal(size=(3, d))[Y] * 2 + RNG.normal(size=(90, d)) for d in (12, 7))


def naive_average_precision_at(distances, relevant, k):
    """The mean over all orders of the ties."""
    values = []
    for order in permutations(range(len(distances))):
        if all(distances[a] <= distances[b] for a, b in pairwise(order)):
            flags = np.array([relevant[i] for i in order[:k]])
            precision = flags.cumsum() / np.arange(1, len(flags) + 1)
            values.append((precision * flags).sum() / min(k, sum(relevant)))
    return np.mean(values)


@pytest.mark.parametrize("seed", range(8))
def test_average_precision_of_the_first_k_is_the_mean_over_all_orders(seed):
    rng = np.random.default_rng(seed)
    distances, relevant = rng.integers(0, 3, (3, 6)), rng.random((3, 6)) < 0.5
    relevant[:, 0] = True
    for k in (1, 2, 4, 6, 9):
        found = average_precision_at(Counts.of(distances, relevant), k)
        expected = [naive_average_precision_at(d, r, k) for d, r in zip(distances, relevant, strict=True)]
        np.testing.assert_allclose(found, expected)


def test_queries_without_relevant_items_are_left_out():
    counts = Counts.of(np.array([[0, 1], [0, 1]]), np.array([[True, False], [False, False]]))
    direction = Direction("a", "b", counts)
    assert np.isnan(average_precision_at(counts, 1)[1])
    assert direction.mean_average_precision() == direction.mean_average_precision(1) == 1


def test_the_curve_is_the_mean_precision_at_recalls():
    counts = Counts.of(np.array([[0, 1, 2, 3]]), np.array([[True, False, True, False]]))
    recalls, precision = Direction("a", "b", counts).precision_recall()
    np.testing.assert_allclose(precision, np.where(recalls <= 0.5 + 1e-9, 1, 2 / 3))


def test_every_view_is_searched_from_every_other():
    hasher = CCAITQ(8, random_state=0).fit({"x": X, "z": Z})
    found = evaluate_views(hasher, (X[:20], Z[:20]), Y[:20], (X, Z), Y)
    assert [one.name for one in found] == ["x → z", "z → x"]
    layout = hasher.layout_
    symbols = layout.unpack(hasher.encode(X[:20])), layout.unpack(hasher.encode(Z, view=1))
    distances = (symbols[0][:, None] != symbols[1]).sum(axis=2)
    expected = Counts.of(distances, Y[:20, None] == Y).query_average_precision().mean()
    assert abs(found[0].mean_average_precision() - expected) < 1e-12
    partners = partner_directions(hasher, (X, Z))
    assert partners[0].counts.n_relevant.tolist() == [1] * len(X)
    with pytest.raises(InvalidInputError, match="the hasher has 2 views, but vectors of 1 were given"):
        evaluate_views(hasher, (X,), Y, (X, Z), Y)
