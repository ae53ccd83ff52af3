"""Hyperplanes chosen one by one, so that the Hamming distances of similar and of dissimilar pairs diverge most."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._checks import check_integer
from .._types import F32, F64, I32, Flags
from ..codes import CodeLayout
from ..errors import InvalidInputError
from .base import Arrays, Hasher
from .training import Training, labelled_points, new_generator

CANDIDATE_BLOCK = 64
"""Candidates that are counted at once."""


class JSDBoosting(Hasher):
    """Binary codes: hyperplanes chosen so that similar and dissimilar pairs have the most different distances.

    Bits are chosen one after another [1]_. Each is the hyperplane, of many candidates, that maximises the
    Jensen-Shannon divergence between the Hamming distances of similar and of dissimilar pairs, for the code so far.

    The pairs come from ``fit(X, y)`` (class labels, also multi-label), from ``fit(X, similarity=...)`` (given
    pairs), or else from the distances of the vectors (``n_neighbors``).

    Parameters
    ----------
    n_symbols, n_bits, n_bytes
        The size of a code, 1 to 4096 bits, in symbols, bits or bytes; 64 bits if all are None (the default).
    n_candidates
        Hyperplanes that are compared per bit, 200 by default.
    n_pairs
        Number of pairs to learn from, 20 000 by default, half of them similar.
    n_neighbors
        Without labels: mean number of vectors that a vector is similar to, 50 by default.
    max_points
        Largest number of vectors to learn from, 100 000 by default, drawn at random; given pairs are never sampled.
    random_state
        An integer for the same codes in every run, a RandomState, or None (the default).

    Attributes
    ----------
    projections_, bias_ : ndarray (n_symbols, n_features_in_), ndarray (n_symbols,)
        Normals and biases of the hyperplanes, in the order in which they were chosen.
    center_ : ndarray (n_features_in_,)
        The mean of the fitted vectors.
    history_ : dict of lists
        ``step`` (bits so far) and ``divergence``, in bits, of the distances with all bits so far.
    layout_, n_features_in_, feature_names_in_
        As for every hasher; codes have arity 2.

    Notes
    -----
    A reconstruction from the idea of the work; its candidates and its estimates of the distributions may differ.

    References
    ----------
    .. [1] L. Fan, Supervised binary hash code learning with Jensen Shannon divergence, ICCV 2013.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> hasher = JSDBoosting(8, n_pairs=2000, n_candidates=20, random_state=0).fit(X, y)
    >>> hasher.transform(X).shape, hasher.encode(X).shape
    ((1797, 8), (1797, 1))
    """

    bias_: F32
    center_: F32

    def __init__(
        self,
        n_symbols: int | None = None,
        *,
        n_bits: int | None = None,
        n_bytes: int | None = None,
        n_candidates: int = 200,
        n_pairs: int = 20_000,
        n_neighbors: int = 50,
        max_points: int = 100_000,
        random_state: Any = None,
    ) -> None:
        super().__init__(n_symbols, n_bits=n_bits, n_bytes=n_bytes, random_state=random_state)
        self.n_candidates = n_candidates
        self.n_pairs = n_pairs
        self.n_neighbors = n_neighbors
        self.max_points = max_points

    def _check_parameters(self) -> None:
        check_integer("n_candidates", self.n_candidates, 1, 1_000_000)
        check_integer("n_pairs", self.n_pairs, 2, 10_000_000)
        check_integer("n_neighbors", self.n_neighbors, 1, 2**31 - 1)
        check_integer("max_points", self.max_points, 3, 2**31 - 1)

    def _learn(self, training: Training, rng: np.random.RandomState) -> Arrays:
        draws = new_generator(rng)
        points = labelled_points(training, "JSDBoosting", draws, self.max_points, self.n_neighbors)
        pairs, labels = points.source.sample(draws, self.n_pairs, 0.5)
        if not 0 < labels.sum() < len(labels):
            raise InvalidInputError(f"n_pairs={self.n_pairs} is too few to draw pairs of both kinds")
        choice = Divergence(points.x, pairs, labels == 1)
        normals, biases = np.empty((self._n_symbols, points.x.shape[1])), np.empty(self._n_symbols)
        for bit in range(self._n_symbols):
            normals[bit], biases[bit] = choice.choose(self.n_candidates, draws)
        steps = [float(step + 1) for step in range(self._n_symbols)]
        self.history_ = {"step": steps, "divergence": choice.values}
        return {
            "projections_": normals.astype(np.float32),
            "bias_": (biases * points.scale).astype(np.float32),
            "center_": points.center,
        }

    def _fits(self, arrays: Arrays, layout: CodeLayout, n_features: int) -> bool:
        return (
            arrays.keys() == {*self._code_arrays}
            and len(arrays["projections_"]) == layout.n_symbols
            and super()._fits(arrays, layout, n_features)
        )


class Divergence:
    """The Hamming distances of the pairs by the bits so far, and the choice of the next bit."""

    def __init__(self, x: F32, pairs: I32, similar: Flags) -> None:
        self._x, self._pairs, self._similar = x, pairs, similar
        self.distances = np.zeros(len(pairs), np.int64)
        self.values: list[float] = []

    def choose(self, n_candidates: int, rng: np.random.Generator) -> tuple[F64, float]:
        """The unit normal and the bias of the best of ``n_candidates`` hyperplanes.

        A candidate lies half way between the points of a random dissimilar pair, at right angles to their difference.
        """
        apart = self._pairs[~self._similar]
        ends = self._x[apart[rng.integers(0, len(apart), n_candidates)]].astype(np.float64)
        normals = ends[:, 0] - ends[:, 1]
        normals /= np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), np.finfo(float).tiny)
        biases = -np.einsum("cd,cd->c", normals, (ends[:, 0] + ends[:, 1]) / 2)
        differ = np.empty((n_candidates, len(self._pairs)), bool)
        for start in range(0, n_candidates, CANDIDATE_BLOCK):
            part = slice(start, start + CANDIDATE_BLOCK)
            bits = (self._x @ normals[part].T.astype(np.float32) + biases[part].astype(np.float32) > 0).T
            differ[part] = bits[:, self._pairs[:, 0]] != bits[:, self._pairs[:, 1]]
        gains = self.divergences(differ)
        best = int(gains.argmax())
        self.distances += differ[best]
        self.values.append(float(gains[best]))
        return normals[best], float(biases[best])

    def divergences(self, differ: Flags) -> F64:
        """The divergence ``(c,)`` of the distances if bits that ``differ`` ``(c, t)`` were added, one at a time."""
        size = int(self.distances.max()) + 2
        counts = np.empty((2, len(differ), size))
        for kind in (0, 1):
            chosen = self._similar == bool(kind)
            at = np.zeros((int(chosen.sum()), size), np.float32)
            at[np.arange(len(at)), self.distances[chosen]] = 1
            moved = differ[:, chosen].astype(np.float32) @ at
            counts[kind] = at.sum(axis=0) - moved
            counts[kind, :, 1:] += moved[:, :-1]
        return jensen_shannon(*(counts / counts.sum(axis=2, keepdims=True)))


def jensen_shannon(first: F64, second: F64) -> F64:
    """The Jensen-Shannon divergence in bits of distributions ``(c, m)`` each: 0 if they are equal, 1 if disjoint.

    >>> jensen_shannon(np.array([[1.0, 0.0], [0.5, 0.5]]), np.array([[0.0, 1.0], [0.5, 0.5]])).tolist()
    [1.0, 0.0]
    """
    total: F64 = entropy((first + second) / 2) - (entropy(first) + entropy(second)) / 2
    return total


def entropy(shares: F64) -> F64:
    """The entropy in bits over the last axis; 0 log 0 is 0."""
    bits: F64 = -(shares * np.log2(np.where(shares > 0, shares, 1))).sum(axis=-1)
    return bits
