"""Learning one rank function from labelled pairs, pair by pair or by the gradient of all of them.

::

    pairs, labels ─▶ blocks ─▶ W += rate · (winners - rivals)ᵀ x ─▶ symbols still changing? ─▶ mean of the last half
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from .. import _kernels
from ._base import F32, F64

N_BLOCKS = 8
"""Blocks of pairs; after each the symbols are compared with those before."""

N_STEPS = 80
"""Steps of batch learning over the same distance that the online steps cover."""

N_WATCHED = 2000
"""Points whose symbols are watched."""


@dataclass(frozen=True)
class Rule:
    """How a function moves: margins, rate and when to stop."""

    hinge: bool
    rho: float
    lam: float
    rate: float
    tol: float
    batch: bool = False


@dataclass
class Trace:
    """The course of learning one function, one entry a block of pairs."""

    pairs: list[int] = field(default_factory=list)
    bound: list[float] = field(default_factory=list)
    updated: list[float] = field(default_factory=list)
    changed: list[float] = field(default_factory=list)

    def add(self, n_pairs: int, totals: _kernels.PairTotals, n_seen: int, changed: float) -> None:
        """Note a block of ``n_pairs`` after which ``n_seen`` pairs were seen in all."""
        self.pairs.append(n_seen)
        self.bound.append(totals.bound / n_pairs)
        self.updated.append(totals.updates / n_pairs)
        self.changed.append(changed)


class Watch:
    """Tells which share of some points' symbols changed since it was last asked."""

    def __init__(self, x: F32, weights: F32) -> None:
        self._points = x[:: -(-len(x) // N_WATCHED)]
        self._symbols = self._winners(weights)

    def _winners(self, weights: F32) -> np.ndarray[tuple[int, ...], np.dtype[np.intp]]:
        winners: np.ndarray[tuple[int, ...], np.dtype[np.intp]] = (self._points @ weights.T).argmax(axis=1)
        return winners

    def changed(self, weights: F32) -> float:
        """The share of symbols that ``weights`` give and the weights of the last call did not."""
        symbols = self._winners(weights)
        share = float((symbols != self._symbols).mean())
        self._symbols = symbols
        return share


def learn_function(x: F32, pairs: _kernels.I32, labels: _kernels.U8, start: F32, rule: Rule) -> tuple[F32, Trace]:
    """The weights ``(arity, d)`` that the pairs lead to from ``start``, and how it went.

    ``x`` is ``(n, d)`` with d a multiple of 8. The rate falls linearly to 0 at the last pair; the result is
    the mean of the weights over the second half. Learning ends early after a block of pairs that changed
    less than ``rule.tol`` of the symbols.
    """
    learn = _learn_batch if rule.batch else _learn_online
    return learn(x, pairs, labels, np.array(start, np.float32, order="C"), rule)


def _learn_online(x: F32, pairs: _kernels.I32, labels: _kernels.U8, weights: F32, rule: Rule) -> tuple[F32, Trace]:
    n, trace, watch = len(pairs), Trace(), Watch(x, weights)
    lag, result = np.zeros_like(weights), weights
    half = n // 2
    edges = np.linspace(0, n, min(N_BLOCKS, n) + 1).astype(int)
    for first, last in pairwise(edges):
        totals = _kernels.train_pairs(
            x,
            pairs[first:last],
            labels[first:last],
            weights,
            lag,
            hinge=rule.hinge,
            rho=rule.rho,
            lam=rule.lam,
            rate=rule.rate * (1 - first / n),
            rate_step=-rule.rate / n,
            age=int(first) - half,
        )
        result = weights - lag / np.float32(last - half) if last > half else weights
        trace.add(last - first, totals, int(last), watch.changed(result))
        if trace.changed[-1] < rule.tol:
            break
    return result, trace


def _learn_batch(x: F32, pairs: _kernels.I32, labels: _kernels.U8, weights: F32, rule: Rule) -> tuple[F32, Trace]:
    n, trace, watch = len(pairs), Trace(), Watch(x, weights)
    total: F64 = np.zeros(weights.shape)
    per_block = N_STEPS // N_BLOCKS
    for step in range(N_STEPS):
        scores = np.ascontiguousarray(x @ weights.T)
        gradient, totals = _kernels.pair_gradient(scores, pairs, labels, hinge=rule.hinge, rho=rule.rho, lam=rule.lam)
        rate = rule.rate * (1 - step / N_STEPS) / N_STEPS
        weights = weights + np.float32(rate) * (gradient.T @ x)
        if step >= N_STEPS // 2:
            total += weights
        if (step + 1) % per_block == 0:
            trace.add(n, totals, (step + 1) * n, watch.changed(weights))
            if trace.changed[-1] < rule.tol:
                break
    averaged = step + 1 - N_STEPS // 2
    return (total / averaged).astype(np.float32) if averaged > 0 else weights, trace
