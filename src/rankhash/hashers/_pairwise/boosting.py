"""Boosting over a pool of pairs: the weights α of SRSH, by its own rules and by those printed in the paper."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ... import _kernels
from ..._types import F32, F64
from ..training import PairPool
from .rank_function import Rule, Trace, learn_literally

MIN_WEIGHT, MIN_ERROR = 1e-3, 1e-6
"""Lower limits of the weight θ and of the error ε."""


@dataclass(frozen=True)
class Member:
    """A learned function, the pairs of the pool that it gets wrong, and its weighted error."""

    weights: F32
    trace: Trace
    wrong: NDArray[np.bool_]
    error: float

    @property
    def weight(self) -> float:
        """θ, the weight of the function."""
        error = float(np.clip(self.error, MIN_ERROR, 1 - MIN_ERROR))
        return max(float(np.log((1 - error) / error)), MIN_WEIGHT)


class Boosting:
    """The weights α of the pairs of a pool, which sum to 1."""

    def __init__(self, labels: _kernels.U8) -> None:
        self._similar = labels == 1
        self._alpha: F64 = np.ones(len(labels))

    def balance(self, similar_share: float) -> None:
        """Scale the weights so that those of the similar pairs sum to this share."""
        for kind, share in ((self._similar, similar_share), (~self._similar, 1 - similar_share)):
            self._alpha[kind] *= share / self._alpha[kind].sum()

    def draw(self, rng: np.random.Generator, size: int) -> NDArray[np.int64]:
        """Pairs drawn in proportion to their weight, by stratified sampling, in random order."""
        edges = np.cumsum(self._alpha)
        places = (np.arange(size) + rng.random(size)) * (edges[-1] / size)
        drawn = np.minimum(np.searchsorted(edges, places, side="right"), len(edges) - 1)
        return rng.permutation(drawn)

    def error(self, wrong: NDArray[np.bool_]) -> float:
        """ε, the total weight of the wrong pairs."""
        return float(self._alpha[wrong].sum() / self._alpha.sum())

    def raise_wrong(self, wrong: NDArray[np.bool_], weight: float) -> None:
        """Multiply the weights of the wrong pairs by exp(``weight``)."""
        self._alpha[wrong] *= np.exp(weight)


class PaperBoosting(Boosting):
    """The weights α of the pairs as printed in Algorithm 2: ε and α with the losses ρ and λ, one sum for all pairs.

    ``sampling`` chooses the reading of α: pairs are drawn in proportion to it, or else it multiplies the step.
    """

    def __init__(self, labels: _kernels.U8, *, sampling: bool) -> None:
        super().__init__(labels)
        self._sampling = sampling
        self._logs: F64 = np.zeros(len(labels))

    def pick(self, rng: np.random.Generator, size: int) -> NDArray[np.int64]:
        """The pairs of one function, in the order of its steps."""
        return self.draw(rng, size) if self._sampling else rng.integers(0, len(self._alpha), size)

    def learn(self, pool: PairPool, picked: NDArray[np.int64], start: F32, rule: Rule) -> Member:
        """The next function, learned from the picked pairs of the pool; afterwards α is that of the function after it.

        θ = ln((1 - ε) / ε), with ε limited to [1e-6, 1 - 1e-6]: ρ or λ above 1 can raise ε beyond 1.
        """
        factors = None if self._sampling else self._alpha[picked]
        weights, trace = learn_literally(pool.x, pool.pairs[picked], pool.labels[picked], start, rule, factors)
        wrong = pool.agreement(weights) != self._similar
        losses = wrong * np.where(self._similar, rule.rho, rule.lam)
        error = float(np.clip(self._alpha @ losses / self._alpha.sum(), MIN_ERROR, 1 - MIN_ERROR))
        self._logs += np.log((1 - error) / error) * losses
        self._logs -= self._logs.max()
        self._alpha = np.exp(self._logs)
        self._alpha *= len(self._alpha) / self._alpha.sum()
        return Member(weights, trace, wrong, error)
