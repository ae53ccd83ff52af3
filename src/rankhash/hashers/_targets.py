"""Parts of ForgivingHash: groups of similar points, the target codes of its networks, and the choice of outputs."""

from __future__ import annotations

import numpy as np
from scipy.optimize import linear_sum_assignment

from .._types import F64, I64, U8
from ..similarity import PairSource
from ._network import Layer, Network, sigmoid

N_OUTPUTS = 8
"""Outputs of a network, and bits of its target codes."""

GROUP_PAIRS, MAX_GROUPS = 500, 64
"""Similar pairs that the groups of a network are made of, and the largest number of groups."""

FLOOR = 1e-6
"""Outputs are clipped to [FLOOR, 1 - FLOOR] in the loss."""


def similar_groups(source: PairSource, rng: np.random.Generator) -> tuple[I64, I64]:
    """Points, and the group of each. A group is a random point and all points similar to it that have no group yet.

    There are up to 64 groups, each of two points or more.
    """
    rows = np.unique(source.sample(rng, GROUP_PAIRS, 1.0)[0]).astype(np.int64)
    similar = source.labels_among(rows) == 1
    groups, n_groups = np.full(len(rows), -1), 0
    for point in rng.permutation(len(rows)):
        members = np.flatnonzero(similar[point] & (groups < 0))
        if groups[point] < 0 and len(members):
            groups[[point, *members]] = n_groups
            n_groups += 1
        if n_groups == MAX_GROUPS:
            break
    return rows[groups >= 0], groups[groups >= 0]


def random_network(n_in: int, n_hidden: int, rng: np.random.Generator) -> Network:
    """A network of one hidden layer with random weights; the inputs of its units have about unit variance."""
    sizes = ((n_hidden, n_in), (N_OUTPUTS, n_hidden))
    layers = [
        Layer(rng.standard_normal(size) / np.sqrt(size[1]), np.zeros(size[0]), np.zeros(size[1])) for size in sizes
    ]
    return Network(layers, [])


def outputs(network: Network, x: F64) -> F64:
    """The outputs ``(n, 8)`` of a network, between 0 and 1."""
    values = x
    for layer in network.layers:
        values = sigmoid(values @ layer.weights.T + layer.bias)
    return values


def all_codes() -> F64:
    """All codes ``(256, 8)`` of zeros and ones."""
    return (np.arange(2**N_OUTPUTS)[:, None] >> np.arange(N_OUTPUTS) & 1).astype(np.float64)


def group_means(values: F64, groups: I64) -> F64:
    """The mean of the values of each group."""
    sums = np.zeros((int(groups.max()) + 1, values.shape[1]))
    np.add.at(sums, groups, values)
    means: F64 = sums / np.bincount(groups)[:, None]
    return means


def assigned(means: F64, codes: F64) -> I64:
    """Distinct codes for the groups, with the smallest sum of distances to the groups' mean outputs."""
    apart = means @ (1 - codes.T) + (1 - means) @ codes.T
    found: I64 = linear_sum_assignment(apart)[1]
    return found


def cross_entropy(wanted: F64, values: F64) -> tuple[float, F64]:
    """The mean cross-entropy of outputs between 0 and 1, and its gradient."""
    kept = np.clip(values, FLOOR, 1 - FLOOR)
    loss = -(wanted * np.log(kept) + (1 - wanted) * np.log(1 - kept)).mean()
    return float(loss), (kept - wanted) / (kept * (1 - kept)) / kept.size


def varied_bits(bits: U8, n: int) -> I64:
    """``n`` columns, chosen greedily: the first has the largest entropy H.

    Each further one has the largest H minus the mean mutual information with the columns chosen before.
    """
    both = bits.T.astype(np.float64) @ bits / len(bits)
    ones = np.diag(both)
    joint = np.stack([both, ones[:, None] - both, ones - both, 1 - ones[:, None] - ones + both])
    entropy = _information(np.stack([ones, 1 - ones]))
    shared = entropy[:, None] + entropy - _information(joint)
    chosen = [int(entropy.argmax())]
    while len(chosen) < n:
        value = entropy - shared[:, chosen].mean(axis=1)
        value[chosen] = -np.inf
        chosen.append(int(value.argmax()))
    return np.array(chosen, np.int64)


def _information(shares: F64) -> F64:
    """The entropy over the first axis; 0 log 0 is 0."""
    kept = np.maximum(shares, 0)
    total: F64 = -(kept * np.log(np.where(kept > 0, kept, 1))).sum(axis=0)
    return total
