"""Bits of many small networks, trained on random target codes for groups of similar points, which may change."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from .._checks import check_flag, check_integer, check_number
from .._types import F32, I64
from ._network import Adam, Network
from ._network_hasher import NetworkHasher
from ._targets import (
    N_OUTPUTS,
    all_codes,
    assigned,
    cross_entropy,
    group_means,
    outputs,
    random_network,
    similar_groups,
    varied_bits,
)
from .base import Arrays
from .progress import FitProgress
from .training import Training, TrainingPoints, labelled_points, new_generator

CANDIDATES_PER_BIT = 4
"""Candidate outputs per bit of a code."""

CHOICE_POINTS = 2000
"""Points by which outputs are chosen."""


class ForgivingHash(NetworkHasher):
    """Binary codes of many small networks, trained on similar points only, with targets that change in training.

    Each network is trained on some groups of similar points, with a random target code per group [1]_. After a number
    of steps, each group gets the target nearest to the network's outputs for its points; targets stay distinct.
    Training and reassignment alternate. The bits of a code are chosen among the outputs of all networks, for large
    entropy and small mutual information. Dissimilar pairs are never used.

    The groups come from ``fit(X, y)`` (class labels, also multi-label), from ``fit(X, similarity=...)`` (given
    pairs), or else from the distances of the vectors (``n_neighbors``).

    Parameters
    ----------
    n_symbols, n_bits, n_bytes
        The size of a code, 1 to 4096 bits, in symbols, bits or bytes; 64 bits if all are None (the default).
    n_hidden
        Hidden units of a network, 16 by default.
    n_rounds
        Number of assignments of targets, each followed by training; 4 by default.
    n_steps
        Training steps per round, 40 by default.
    learning_rate
        Size of a step of Adam, 0.03 by default.
    n_neighbors
        Without labels: mean number of vectors that a vector is similar to, 50 by default.
    max_points
        Largest number of vectors to learn from, 100 000 by default, drawn at random; given pairs are never sampled.
    verbose
        Whether a progress bar is shown on a terminal if learning takes longer than a second; True by default.
    random_state
        An integer for the same codes in every run, a RandomState, or None (the default).

    Attributes
    ----------
    first_, first_bias_ : ndarray (n_units, n_features_in_), ndarray (n_units,)
        The hidden layers of all networks that are used.
    projections_, bias_ : ndarray (n_symbols, n_units), ndarray (n_symbols,)
        The chosen outputs; weights of other networks' hidden units are 0.
    center_ : ndarray (n_features_in_,)
        The mean of the fitted vectors.
    history_ : dict of lists
        ``step`` (the network), its final ``loss``, and ``moved``: the fraction of its groups whose targets changed.
    layout_, n_features_in_, feature_names_in_
        As for every hasher; codes have arity 2.

    Notes
    -----
    A reconstruction: the original work identifies pieces of music, with other networks, features and another choice of
    outputs. Here groups consist of the points of random similar pairs, and targets are assigned by the smallest total
    distance. Outputs are chosen greedily by their entropy minus the mean mutual information with those chosen before.

    References
    ----------
    .. [1] S. Baluja, M. Covell, Learning to hash: forgiving hash functions and applications, Data Mining and Knowledge
       Discovery 17, 2008.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> hasher = ForgivingHash(8, n_rounds=2, n_steps=5, random_state=0).fit(X, y)
    >>> hasher.transform(X).shape, hasher.encode(X).shape
    ((1797, 8), (1797, 1))
    """

    first_: F32
    first_bias_: F32
    bias_: F32

    _layers = (("first_", "first_bias_"), ("projections_", "bias_"))
    _code_arrays = ("projections_", "bias_", "first_", "first_bias_", "center_")

    def __init__(
        self,
        n_symbols: int | None = None,
        *,
        n_bits: int | None = None,
        n_bytes: int | None = None,
        n_hidden: int = 16,
        n_rounds: int = 4,
        n_steps: int = 40,
        learning_rate: float = 0.03,
        n_neighbors: int = 50,
        max_points: int = 100_000,
        verbose: bool = True,
        random_state: Any = None,
    ) -> None:
        super().__init__(n_symbols, n_bits=n_bits, n_bytes=n_bytes, random_state=random_state)
        self.n_hidden = n_hidden
        self.n_rounds = n_rounds
        self.n_steps = n_steps
        self.learning_rate = learning_rate
        self.n_neighbors = n_neighbors
        self.max_points = max_points
        self.verbose = verbose

    def _check_parameters(self) -> None:
        check_integer("n_hidden", self.n_hidden, 1, 4096)
        check_integer("n_rounds", self.n_rounds, 1, 1_000_000)
        check_integer("n_steps", self.n_steps, 1, 1_000_000)
        check_number("learning_rate", self.learning_rate, 0, 1e6)
        check_integer("n_neighbors", self.n_neighbors, 1, 2**31 - 1)
        check_integer("max_points", self.max_points, 3, 2**31 - 1)
        check_flag("verbose", self.verbose)

    def _learn(self, training: Training, rng: np.random.RandomState) -> Arrays:
        draws = new_generator(rng)
        points = labelled_points(training, "ForgivingHash", draws, self.max_points, self.n_neighbors)
        width = np.sqrt(points.x.shape[1])  # unit variance per dimension on average
        networks, n_networks = [], -(-CANDIDATES_PER_BIT * self._n_symbols // N_OUTPUTS)
        self.history_ = {"step": [], "loss": [], "moved": []}
        with FitProgress(n_networks, "learning", shown=self.verbose) as progress:
            for _ in range(n_networks):
                networks.append(self._network(points, width, draws))
                progress.advance()
            chosen = self._chosen(networks, points.x[:: -(-len(points.x) // CHOICE_POINTS)] * width)
        return self._arrays(networks, chosen, width / points.scale) | {"center_": points.center}

    def _network(self, points: TrainingPoints, width: float, rng: np.random.Generator) -> Network:
        """A network trained on groups of similar points."""
        rows, groups = similar_groups(points.source, rng)
        x, n_groups = points.x[rows].astype(np.float64) * width, int(groups.max()) + 1
        network = random_network(x.shape[1], self.n_hidden, rng)
        codes = all_codes()
        targets = first = rng.permutation(len(codes))[:n_groups]
        adam = Adam(network.parameters(decoder=False))
        for round_ in range(self.n_rounds):
            if round_:
                targets = assigned(group_means(outputs(network, x), groups), codes)
            wanted = partial(cross_entropy, codes[targets][groups])
            for _ in range(self.n_steps):
                loss, gradients = network.code_loss(x, wanted)
                adam.step(gradients, self.learning_rate)
        self.history_["step"].append(float(len(self.history_["step"])))
        self.history_["loss"].append(loss)
        self.history_["moved"].append(float((targets != first).mean()))
        return network

    def _chosen(self, networks: list[Network], x: F32) -> I64:
        """The numbers of the outputs that become bits, network by network."""
        points = x.astype(np.float64)
        bits = np.concatenate([outputs(network, points) > 0.5 for network in networks], axis=1)
        return np.sort(varied_bits(bits.astype(np.uint8), self._n_symbols))

    def _arrays(self, networks: list[Network], chosen: I64, factor: float) -> Arrays:
        """The hidden layers of the networks with a chosen output, and those outputs."""
        used = np.unique(chosen // N_OUTPUTS)
        size = len(networks[0].layers[0].bias)
        projections = np.zeros((len(chosen), len(used) * size), np.float32)
        biases = np.empty(len(chosen), np.float32)
        for bit, output in enumerate(chosen):
            last = networks[output // N_OUTPUTS].layers[1]
            place = int(np.searchsorted(used, output // N_OUTPUTS)) * size
            projections[bit, place : place + size] = last.weights[output % N_OUTPUTS]
            biases[bit] = last.bias[output % N_OUTPUTS]
        hidden = [networks[number].layers[0] for number in used]
        return {
            "projections_": projections,
            "bias_": biases,
            "first_": (np.concatenate([layer.weights for layer in hidden]) * factor).astype(np.float32),
            "first_bias_": np.concatenate([layer.bias for layer in hidden]).astype(np.float32),
        }
