"""A feed-forward network of sigmoid layers: pretraining by Boltzmann machines, back-propagation, and Adam."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from .._types import F32, F64, Flags

Floats = TypeVar("Floats", F32, F64)
CodeLoss = Callable[[F64], tuple[float, F64]]
"""A loss of codes ``(n, q)`` between 0 and 1, and its gradient."""

START_DEVIATION = 0.05
"""Standard deviation of the weights before pretraining."""

GAUSSIAN_RATE, BINARY_RATE, PRETRAINING_MOMENTUM = 0.005, 0.05, 0.8
"""Step sizes of contrastive divergence with Gaussian and with binary visible units, and the momentum."""

ADAM_DECAYS, ADAM_FLOOR = (0.9, 0.999), 1e-8
"""Adam's decay rates β₁ and β₂, and ε."""


def sigmoid(values: Floats) -> Floats:
    """1 / (1 + exp(-values)), of the same type."""
    with np.errstate(over="ignore"):
        squashed: Floats = np.exp(-values)
    squashed += 1
    np.reciprocal(squashed, out=squashed)
    return squashed


@dataclass
class Layer:
    """Weights ``(n_out, n_in)``, biases of the outputs, and biases of the inputs in the decoder."""

    weights: F64
    bias: F64
    back_bias: F64


@dataclass
class Network:
    """An autoencoder: layers from vectors to codes, and copies of their weights for the decoder."""

    layers: list[Layer]
    back: list[F64]

    def parameters(self, *, decoder: bool) -> list[F64]:
        """The arrays that fine-tuning changes, in the order of their gradients; with ``decoder`` also the decoder's."""
        forward = [array for layer in self.layers for array in (layer.weights, layer.bias)]
        if not decoder:
            return forward
        return forward + [
            array for layer, back in zip(self.layers, self.back, strict=True) for array in (back, layer.back_bias)
        ]

    def _forward(self, x: F64, noise: F64 | float) -> list[F64]:
        """The values of all layers, the vectors first and the codes last."""
        values = [x]
        for layer in self.layers[:-1]:
            values.append(sigmoid(values[-1] @ layer.weights.T + layer.bias))
        last = self.layers[-1]
        return [*values, sigmoid(values[-1] @ last.weights.T + last.bias + noise)]

    def _backward(self, values: list[F64], gradient: F64) -> list[F64]:
        """The gradients of all weights and biases, given that of the codes."""
        gradients: list[F64] = []
        for layer, before, after in zip(self.layers[::-1], values[-2::-1], values[:0:-1], strict=True):
            gradient = gradient * after * (1 - after)
            gradients = [gradient.T @ before, gradient.sum(axis=0), *gradients]
            gradient = gradient @ layer.weights
        return gradients

    def code_loss(self, x: F64, loss: CodeLoss) -> tuple[float, list[F64]]:
        """A loss of the codes, and its gradients with respect to ``parameters(decoder=False)``."""
        values = self._forward(x, 0.0)
        value, gradient = loss(values[-1])
        return value, self._backward(values, gradient)

    def reconstruction(self, x: F64, noise: F64) -> tuple[float, list[F64]]:
        """The mean squared error of decoding noisy codes, and its gradients with respect to
        ``parameters(decoder=True)``."""
        values = self._forward(x, noise)
        decoded = [values[-1]]
        for place in range(len(self.layers) - 1, -1, -1):
            inputs = decoded[-1] @ self.back[place] + self.layers[place].back_bias
            decoded.append(sigmoid(inputs) if place else inputs)
        error = decoded[-1] - x
        gradient, back = 2 * error / error.size, []
        for place in range(len(self.layers)):
            after, before = decoded[len(self.layers) - place], decoded[len(self.layers) - place - 1]
            if place:
                gradient = gradient * after * (1 - after)
            back += [before.T @ gradient, gradient.sum(axis=0)]
            gradient = gradient @ self.back[place].T
        return float(np.square(error).mean()), self._backward(values, gradient) + back


def nca(codes: F64, similar: Flags) -> tuple[float, F64]:
    """1 - the mean probability that a random neighbour is similar, and its gradient, for codes ``(n, q)``.

    Neighbourhood components analysis: point i chooses the neighbour j ≠ i with probability p_ij ∝ exp(-|c_i - c_j|²).
    """
    n = len(codes)
    lengths = np.square(codes).sum(axis=1)
    squares = lengths[:, None] + lengths - 2 * codes @ codes.T
    np.fill_diagonal(squares, np.inf)
    probabilities = np.exp(squares.min(axis=1, keepdims=True) - squares)
    probabilities /= probabilities.sum(axis=1, keepdims=True)
    right = (probabilities * similar).sum(axis=1)
    pull = probabilities * (right[:, None] - similar)
    pull += pull.T
    gradient = -2 / n * (pull.sum(axis=1)[:, None] * codes - pull @ codes)
    return 1 - float(right.mean()), gradient


def nca_of(similar: Flags) -> CodeLoss:
    """``nca`` for points that are similar where ``similar`` ``(n, n)`` is True."""
    return lambda codes: nca(codes, similar)


def pretrained(
    x: F32,
    sizes: tuple[int, ...],
    n_steps: int,
    batch_size: int,
    rng: np.random.Generator,
    advance: Callable[[], None],
) -> Network:
    """A network with layers of these sizes, each trained as a Boltzmann machine on the values of the one below."""
    layers, values = [], x
    for place, (n_in, n_out) in enumerate(itertools.pairwise(sizes)):
        start = START_DEVIATION * rng.standard_normal((n_out, n_in))
        layer = Layer(start, np.zeros(n_out), np.zeros(n_in))
        machine = BoltzmannMachine(layer, gaussian=place == 0)
        for _ in range(n_steps):
            machine.step(values[rng.integers(0, len(values), batch_size)].astype(np.float64), rng)
            advance()
        layers.append(layer)
        values = sigmoid(values @ layer.weights.T.astype(np.float32) + layer.bias.astype(np.float32))
    return Network(layers, [layer.weights.copy() for layer in layers])


class BoltzmannMachine:
    """A layer as a restricted Boltzmann machine, with Gaussian or binary visible units."""

    def __init__(self, layer: Layer, *, gaussian: bool) -> None:
        self._layer, self._gaussian = layer, gaussian
        self._parts = (layer.weights, layer.bias, layer.back_bias)
        self._steps = [np.zeros_like(part) for part in self._parts]

    def step(self, data: F64, rng: np.random.Generator) -> None:
        """One step of contrastive divergence (CD-1) on a mini-batch ``(n, n_in)``."""
        layer = self._layer
        hidden = sigmoid(data @ layer.weights.T + layer.bias)
        states = (rng.random(hidden.shape) < hidden).astype(np.float64)
        reconstructed = states @ layer.weights + layer.back_bias
        reconstructed = reconstructed if self._gaussian else sigmoid(reconstructed)
        again = sigmoid(reconstructed @ layer.weights.T + layer.bias)
        gradients = (
            hidden.T @ data - again.T @ reconstructed,
            (hidden - again).sum(axis=0),
            (data - reconstructed).sum(axis=0),
        )
        rate = GAUSSIAN_RATE if self._gaussian else BINARY_RATE
        for step, part, gradient in zip(self._steps, self._parts, gradients, strict=True):
            step *= PRETRAINING_MOMENTUM
            step += rate / len(data) * gradient
            part += step


class Adam:
    """The Adam optimiser: steps scaled by running means of the gradients and of their squares, in place."""

    def __init__(self, parameters: list[F64]) -> None:
        self._parameters = parameters
        self._means = [np.zeros_like(p) for p in parameters]
        self._squares = [np.zeros_like(p) for p in parameters]
        self._count = 0

    def step(self, gradients: list[F64], rate: float) -> None:
        """One step of descent."""
        self._count += 1
        first, second = ADAM_DECAYS
        scale = rate * np.sqrt(1 - second**self._count) / (1 - first**self._count)
        for part, mean, square, gradient in zip(self._parameters, self._means, self._squares, gradients, strict=True):
            mean += (1 - first) * (gradient - mean)
            square += (1 - second) * (gradient**2 - square)
            part -= scale * mean / (np.sqrt(square) + ADAM_FLOOR)
