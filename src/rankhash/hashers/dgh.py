"""Discrete graph hashing: bits that are smooth on the anchor graph, balanced and uncorrelated, optimised as bits."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .._checks import check_choice, check_integer, check_number
from .._types import F32, F64, U8
from ._blocks import block_rows
from ._features.anchor_graph import AnchorGraphHasher, Joined, graph_functions
from ._features.orthogonal import orthonormal_rows
from .base import Arrays
from .training import Training

STARTS = ("eigenvectors", "rotated")
"""Initial values of Y: DGH-I and DGH-R of the paper."""

MAX_SIGN_STEPS = 100
"""Largest number of sign steps between two updates of Y."""

MIN_GAIN = 1e-4
"""Rounds end when the objective rises by less than this fraction."""

MIN_RANK = 1e-6
"""Eigenvalues of the covariance of the bits below this count as 0: bits that repeat others."""

Targets = Callable[[slice], F32]
"""Gives the rows of Y of a block of vectors."""


class DGH(AnchorGraphHasher):
    """Binary codes that are smooth on a neighbour graph of the vectors, optimised as bits rather than rounded.

    Learned without labels [1]_. [`AGH`][rankhash.AGH] takes signs of the graph's eigenvectors, which loses more the
    longer the codes are. DGH maximises the agreement of neighbours over the bits themselves, and keeps the bits close
    to a real-valued matrix of balanced, uncorrelated columns. New vectors take the bits that their neighbours on the
    graph have.

    Parameters
    ----------
    n_symbols
        Bits per code, 1 to 4096; less than ``n_anchors``. None by default.
    n_bits, n_bytes
        The size of a code in bits or bytes instead; None by default. Without any of the three, a code has 64 bits.
    start
        ``"rotated"`` (the default) begins with randomly rotated eigenvectors of the graph, DGH-R of the paper;
        ``"eigenvectors"`` with the eigenvectors themselves, DGH-I.
    rho
        Weight of the balanced, uncorrelated columns relative to the graph, 0.1 by default.
    n_rounds
        Largest number of rounds, 20 by default.
    n_anchors
        Number of cluster centres, 300 by default; the number of vectors if that is smaller.
    n_nearest
        Number of anchors per vector, 3 by default.
    random_state
        An integer for the same codes in every run, a RandomState, or None (the default).

    Attributes
    ----------
    anchors_ : ndarray (n_anchors, n_features_in_)
        The anchors.
    scale_ : ndarray (1,)
        A vector's weight at an anchor falls like exp(-(scale · distance)²).
    projections_ : ndarray (n_symbols, n_anchors)
        The mean of each bit (as -1 or 1) of the training vectors around each anchor.
    n_nearest_ : ndarray (1,) of int32
        Number of anchors per vector.
    history_ : dict of lists
        ``step`` (the round) and ``objective`` after it, per training vector.
    layout_, n_features_in_, feature_names_in_
        As for every hasher; codes have arity 2.

    References
    ----------
    .. [1] W. Liu, C. Mu, S. Kumar, S.-F. Chang, Discrete graph hashing, NIPS 2014.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(500, 8))
    >>> hasher = DGH(16, n_anchors=50, random_state=0).fit(X)
    >>> hasher.transform(X).shape, hasher.encode(X).shape
    ((500, 16), (500, 2))
    """

    def __init__(
        self,
        n_symbols: int | None = None,
        *,
        n_bits: int | None = None,
        n_bytes: int | None = None,
        start: str = "rotated",
        rho: float = 0.1,
        n_rounds: int = 20,
        n_anchors: int = 300,
        n_nearest: int = 3,
        random_state: Any = None,
    ) -> None:
        super().__init__(n_symbols, n_bits=n_bits, n_bytes=n_bytes, random_state=random_state)
        self.start = start
        self.rho = rho
        self.n_rounds = n_rounds
        self.n_anchors = n_anchors
        self.n_nearest = n_nearest

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_choice("start", self.start, STARTS)
        check_number("rho", self.rho, 0, 1e6)
        check_integer("n_rounds", self.n_rounds, 1, 10_000)

    def _learn(self, training: Training, rng: np.random.RandomState) -> Arrays:
        arrays, joined = self._join(training.vectors, rng)
        functions = graph_functions(joined, len(arrays["anchors_"]), self._n_symbols)
        if self.start == "rotated":
            functions = functions @ orthonormal_rows(rng, self._n_symbols, self._n_symbols)
        bits = DiscreteBits(joined, functions.astype(np.float32), self.rho)
        values = []
        for step in range(self.n_rounds):
            if step:
                bits.update_targets(rng)
            values.append(bits.ascend())
            if step and values[-1] - values[-2] < MIN_GAIN * abs(values[-2]):
                break
        self.history_ = {"step": [float(step) for step in range(len(values))], "objective": values}
        return arrays | {"projections_": bits.means.T.astype(np.float32)}


class DiscreteBits:
    """The bits B ``(n, r)`` of the training vectors, as ±1, and the two steps that maximise tr(B'AB) + ρ tr(B'Y).

    B is kept packed. Y is never stored: it is a linear function of the weights Z at first and of earlier bits later,
    and is computed block by block.
    """

    def __init__(self, joined: Joined, functions: F32, rho: float) -> None:
        self._joined, self._rho = joined, rho
        step = block_rows(8 * joined.places.shape[1], 2 * functions.shape[1])
        self._blocks = [slice(start, start + step) for start in range(0, len(joined.places), step)]
        self._n, (self._n_anchors, self.n_bits) = len(joined.places), functions.shape
        load = sum(joined.matrix(rows, self._n_anchors).sum(axis=0) for rows in self._blocks)
        self._inverse_load = np.where(load > 0, 1 / np.maximum(load, np.finfo(float).tiny), 0)[:, None]
        self.targets: Targets = lambda rows: self._interpolate(rows, functions)
        self.packed = np.empty((self._n, -(-self.n_bits // 8)), np.uint8)
        for rows in self._blocks:
            self.packed[rows] = np.packbits(self.targets(rows) > 0, axis=1)
        self.means = self._means()

    def bits(self, rows: slice) -> F32:
        """The bits of some vectors, as ±1."""
        return _unpacked(self.packed[rows], self.n_bits)

    def ascend(self) -> float:
        """The objective per vector after sign steps B ← sgn(2AB + ρY) until no bit changes; 0 keeps the bit.

        A = ZΛ^-1Z' is positive semidefinite, so that tr(B'AB) is convex in B and no step lowers the objective.
        """
        for _ in range(MAX_SIGN_STEPS):
            if not self._sign_step():
                break
        return self.objective()

    def _sign_step(self) -> bool:
        """Whether a step changed any bit; all bits of a step follow from those before it."""
        table, changed = (2 * self.means).astype(np.float32), False
        for rows, gradient in self._gradients(table):
            before = self.bits(rows)
            after = np.packbits(np.where(gradient == 0, before, gradient) > 0, axis=1)
            changed |= not np.array_equal(after, self.packed[rows])
            self.packed[rows] = after
        if changed:
            self.means = self._means()
        return changed

    def _gradients(self, table: F32) -> Iterator[tuple[slice, F32]]:
        for rows in self._blocks:
            yield rows, self._interpolate(rows, table) + np.float32(self._rho) * self.targets(rows)

    def _interpolate(self, rows: slice, table: F32) -> F32:
        return Joined(self._joined.places[rows], self._joined.weights[rows]).interpolate(table)

    def _means(self) -> F64:
        """Λ^-1Z'B ``(n_anchors, r)``: the mean bits around each anchor."""
        sums = np.zeros((self._n_anchors, self.n_bits))
        for rows in self._blocks:
            sums += self._joined.matrix(rows, self._n_anchors).T @ self.bits(rows)
        means: F64 = self._inverse_load * sums
        return means

    def objective(self) -> float:
        """(tr(B'AB) + ρ tr(B'Y)) / n."""
        total = 0.0
        for rows, gradient in self._gradients(self.means.astype(np.float32)):
            total += float(np.vdot(self.bits(rows), gradient))
        return total / self._n

    def update_targets(self, rng: np.random.RandomState) -> None:
        """Replace Y by the balanced, uncorrelated columns that agree most with the bits.

        They are √n UV' for the centred bits JB = UΣV', that is √n JB (B'JB)^-½. Where the bits have a lower rank,
        random columns that are orthogonal to all others complete U.
        """
        mean, products = np.zeros(self.n_bits), np.zeros((self.n_bits, self.n_bits))
        for rows in self._blocks:
            part = self.bits(rows)
            mean += part.sum(axis=0, dtype=np.float64)
            products += part.T @ part
        mean /= self._n
        values, vectors = np.linalg.eigh(products / self._n - np.outer(mean, mean))
        kept = values > MIN_RANK
        whiten = vectors[:, kept] / np.sqrt(values[kept])
        table, center = (whiten @ vectors[:, kept].T).astype(np.float32), mean.astype(np.float32)
        packed, n_bits = self.packed.copy(), self.n_bits
        if kept.all():
            self.targets = lambda rows: (_unpacked(packed[rows], n_bits) - center) @ table
            return
        columns, rest = self._completion(whiten, mean, int((~kept).sum()), rng), vectors[:, ~kept].T.astype(np.float32)
        self.targets = lambda rows: (_unpacked(packed[rows], n_bits) - center) @ table + columns[rows] @ rest

    def _completion(self, whiten: F64, mean: F64, n_missing: int, rng: np.random.RandomState) -> F32:
        """``(n, n_missing)`` columns of unit mean square, orthogonal to each other, to U and to the constant."""
        columns = np.empty((self._n, n_missing), np.float32)
        for rows in self._blocks:
            columns[rows] = rng.standard_normal(columns[rows].shape)
        columns -= columns.mean(axis=0, dtype=np.float64).astype(np.float32)
        along = np.zeros((whiten.shape[1], n_missing))
        for rows in self._blocks:
            along += ((self.bits(rows) - mean) @ whiten).T @ columns[rows]
        products = np.zeros((n_missing, n_missing))
        for rows in self._blocks:
            columns[rows] -= (((self.bits(rows) - mean) @ whiten) @ (along / self._n)).astype(np.float32)
            products += columns[rows].T.astype(np.float64) @ columns[rows]
        values, vectors = np.linalg.eigh(products / self._n)
        whitening = (vectors / np.sqrt(np.maximum(values, MIN_RANK))) @ vectors.T
        for rows in self._blocks:
            columns[rows] = columns[rows] @ whitening.astype(np.float32)
        return columns


def _unpacked(packed: U8, n_bits: int) -> F32:
    signs: F32 = np.unpackbits(packed, axis=1, count=n_bits).astype(np.float32)
    signs *= 2
    signs -= 1
    return signs
