"""Semantic hashing: a small neural network, pretrained by restricted Boltzmann machines, whose last layer are bits."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._checks import check_integer, check_number, check_verbose
from .._types import F32
from ..similarity import SIMILAR, PairSource
from ._history import mean_records
from ._network import Adam, Network, nca_of, pretrained
from ._network_hasher import NetworkHasher
from .base import Arrays
from .progress import FitProgress
from .training import (
    Training,
    center_and_scale,
    data_center,
    new_generator,
    pairs_among,
    sample_rows,
)

RECORDS = 50
"""Entries of ``history_``."""


class SemanticHashing(NetworkHasher):
    """Binary codes: the rounded last layer of a neural network with two hidden layers.

    Layers are trained one after another as restricted Boltzmann machines [1]_. Then all are fine-tuned together.
    Without labels the network is unrolled to an autoencoder, which reconstructs the vectors from codes with added
    noise; the noise drives the codes to 0 and 1. With classes or pairs [2]_ it maximises the probability that a random
    neighbour in the space of codes is similar.

    Parameters
    ----------
    n_symbols, n_bits, n_bytes
        The size of a code, 1 to 4096 bits, in symbols, bits or bytes; 64 bits if all are None (the default).
    n_hidden
        Units of each of the two hidden layers, 128 by default.
    noise
        Without labels: standard deviation of the Gaussian noise on the inputs of the code units during fine-tuning; 4
        by default.
    n_pretraining, n_steps
        Mini-batches per Boltzmann machine, and of the fine-tuning; 1000 and 3000 by default.
    learning_rate
        Initial step size of the fine-tuning, which falls linearly to 0; 0.003 by default.
    batch_size
        Vectors per mini-batch, 100 by default.
    max_points
        Largest number of vectors to learn from, 100 000 by default, drawn at random; given pairs are never sampled.
    verbose
        Whether a progress bar is shown on a terminal if learning takes longer than a second; True by default.
    random_state
        An integer for the same codes in every run, a RandomState, or None (the default).

    Attributes
    ----------
    first_, first_bias_ : ndarray (n_hidden, n_features_in_), ndarray (n_hidden,)
        Weights and biases of the first hidden layer.
    second_, second_bias_ : ndarray (n_hidden, n_hidden), ndarray (n_hidden,)
        Those of the second hidden layer.
    projections_, bias_ : ndarray (n_symbols, n_hidden), ndarray (n_symbols,)
        Those of the code layer; a bit is 1 where the input of its unit is positive.
    center_ : ndarray (n_features_in_,)
        The mean of the fitted vectors.
    history_ : dict of lists
        ``step`` (mini-batches so far) and ``loss`` since the last record: the mean squared error of the
        reconstruction per dimension, or 1 minus the probability of a similar neighbour.
    layout_, n_features_in_, feature_names_in_
        As for every hasher; codes have arity 2.

    Notes
    -----
    A reconstruction: the first work models counts of words and the second real-valued image features, with other layer
    sizes and schedules. Here the visible units are Gaussian, each step has its own noise, and the optimiser is Adam.

    References
    ----------
    .. [1] R. Salakhutdinov, G. Hinton, Semantic hashing, International Journal of Approximate Reasoning 50, 2009.
    .. [2] A. Torralba, R. Fergus, Y. Weiss, Small codes and large image databases for recognition, CVPR 2008.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> hasher = SemanticHashing(16, n_hidden=32, n_steps=2, random_state=0).fit(X)
    >>> hasher.transform(X).shape, hasher.encode(X).shape
    ((1797, 16), (1797, 2))
    """

    first_: F32
    first_bias_: F32
    second_: F32
    second_bias_: F32
    bias_: F32

    _layers = (("first_", "first_bias_"), ("second_", "second_bias_"), ("projections_", "bias_"))
    _code_arrays = ("projections_", "bias_", "first_", "first_bias_", "second_", "second_bias_", "center_")

    def __init__(
        self,
        n_symbols: int | None = None,
        *,
        n_bits: int | None = None,
        n_bytes: int | None = None,
        n_hidden: int = 128,
        noise: float = 4.0,
        n_pretraining: int = 1000,
        n_steps: int = 3000,
        learning_rate: float = 0.003,
        batch_size: int = 100,
        max_points: int = 100_000,
        verbose: bool = True,
        random_state: Any = None,
    ) -> None:
        super().__init__(n_symbols, n_bits=n_bits, n_bytes=n_bytes, random_state=random_state)
        self.n_hidden = n_hidden
        self.noise = noise
        self.n_pretraining = n_pretraining
        self.n_steps = n_steps
        self.learning_rate = learning_rate
        self.batch_size = batch_size
        self.max_points = max_points
        self.verbose = verbose

    def _check_parameters(self) -> None:
        check_integer("n_hidden", self.n_hidden, 1, 65_536)
        check_number("noise", self.noise, 0, 1e6)
        check_integer("n_pretraining", self.n_pretraining, 0, 1_000_000)
        check_integer("n_steps", self.n_steps, 1, 1_000_000)
        check_number("learning_rate", self.learning_rate, 0, 1e6)
        check_integer("batch_size", self.batch_size, 2, 1_000_000)
        check_integer("max_points", self.max_points, 3, 2**31 - 1)
        check_verbose(self.verbose)

    def _learn(self, training: Training, rng: np.random.RandomState) -> Arrays:
        draws, data = new_generator(rng), training.vectors
        known = training.known_pairs("SemanticHashing")
        rows = np.arange(data.n_rows)
        if known is None or not known.is_partial:
            rows = sample_rows(draws, data.n_rows, self.max_points)
        center = data_center(data, centered=True)
        points, scale = center_and_scale(data, rows, center)
        width = np.float32(np.sqrt(data.n_features))
        points *= width  # unit variance per dimension on average
        source = None if known is None else pairs_among(known, rows)
        sizes = (data.n_features, self.n_hidden, self.n_hidden, self._n_symbols)
        with FitProgress(3 * self.n_pretraining + self.n_steps, "learning", shown=self.verbose) as progress:
            network = pretrained(points, sizes, self.n_pretraining, self.batch_size, draws, progress.advance)
            self._fine_tune(network, points, source, draws, progress)
        arrays: Arrays = {"center_": center}
        for (name, bias), layer in zip(self._layers, network.layers, strict=True):
            arrays |= {name: layer.weights.astype(np.float32), bias: layer.bias.astype(np.float32)}
        arrays["first_"] = arrays["first_"] * (width / np.float32(scale))
        return arrays

    def _fine_tune(
        self, network: Network, x: F32, source: PairSource | None, rng: np.random.Generator, progress: FitProgress
    ) -> None:
        """Minimise the error of the reconstruction, or maximise the similar neighbours, by Adam."""
        adam, losses = Adam(network.parameters(decoder=source is None)), np.empty(self.n_steps)
        size = min(self.batch_size, len(x))
        for step in range(self.n_steps):
            rows = rng.choice(len(x), size, replace=False)
            points = x[rows].astype(np.float64)
            if source is None:
                noise = self.noise * rng.standard_normal((size, self._n_symbols))
                losses[step], gradients = network.reconstruction(points, noise)
            else:
                losses[step], gradients = network.code_loss(points, nca_of(source.labels_among(rows) == SIMILAR))
            adam.step(gradients, self.learning_rate * (1 - step / self.n_steps))
            progress.advance()
        self.history_ = mean_records("loss", losses, RECORDS)
