"""Learning one rank function from labelled pairs, by stochastic steps or by full-gradient steps.

::

    pairs, labels ─▶ blocks ─▶ W += rate · (winners - rivals)ᵀ x ─▶ symbols still changing? ─▶ mean of the last half
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from ... import _kernels
from ..._types import F32, F64
from ..base import History
from ..training import winners

N_BLOCKS = 8
"""Blocks of pairs per function; convergence is checked after each."""

N_STEPS = 80
"""Full-gradient steps of batch learning; their rates add up to those of the stochastic steps."""

N_WATCHED = 2000
"""Points whose symbols are compared for convergence."""


@dataclass(frozen=True)
class Rule:
    """The update rule: loss (``hinge`` or the paper's bound), margins ``rho`` and ``lam``, rate, tolerance."""

    hinge: bool
    rho: float
    lam: float
    rate: float
    tol: float
    batch: bool = False
    literal: bool = False
    """Whether the rate stays constant and the last weights are the result, as in the paper; False by default."""


@dataclass
class Trace:
    """The course of learning one function, one entry per block of pairs."""

    n_pairs: list[int] = field(default_factory=list)
    bound: list[float] = field(default_factory=list)
    updated: list[float] = field(default_factory=list)
    changed: list[float] = field(default_factory=list)

    def add(self, size: int, totals: _kernels.PairTotals, n_seen: int, changed: float) -> None:
        """Append a block of ``size`` pairs, after which ``n_seen`` pairs were seen in all."""
        self.n_pairs.append(n_seen)
        self.bound.append(totals.bound / size)
        self.updated.append(totals.updates / size)
        self.changed.append(changed)


def joined_history(traces: list[Trace]) -> History:
    """The traces of all functions as one dict of lists."""
    history: History = {"step": [], "function": []}
    history |= {name: [] for name in vars(Trace())}
    for function, trace in enumerate(traces):
        history["step"] += range(len(trace.n_pairs))
        history["function"] += [function] * len(trace.n_pairs)
        for name, values in vars(trace).items():
            history[name] += values
    return history


class SymbolChange:
    """The fraction of the watched points' symbols that changed between two calls."""

    def __init__(self, x: F32, weights: F32) -> None:
        self._points = x[:: -(-len(x) // N_WATCHED)]
        self._symbols = winners(self._points, weights)

    def changed(self, weights: F32) -> float:
        """The fraction of symbols that differ from those of the last call."""
        symbols = winners(self._points, weights)
        share = float((symbols != self._symbols).mean())
        self._symbols = symbols
        return share


def learn_literally(
    x: F32, pairs: _kernels.I32, labels: _kernels.U8, start: F32, rule: Rule, factors: F64 | None = None
) -> tuple[F32, Trace]:
    """As ``learn_function``, by the paper's update: the rate is constant, and the last weights are the result.

    ``factors`` ``(t,)`` multiply the rate of each pair; None, the default, stands for ones.
    """
    weights = np.array(start, np.float32, order="C")
    n, trace, watch, lag = len(pairs), Trace(), SymbolChange(x, weights), np.zeros_like(weights)
    rates = (rule.rate * (np.ones(n) if factors is None else factors)).astype(np.float32)
    for first, last in pairwise(np.linspace(0, n, min(N_BLOCKS, n) + 1).astype(int)):
        part, steps, age = (pairs[first:last], labels[first:last], weights, lag), rates[first:last], int(first) - n
        totals = _kernels.train_pairs(
            x, *part, hinge=False, rho=rule.rho, lam=rule.lam, rate=rule.rate, rate_step=0.0, age=age, rates=steps
        )
        trace.add(last - first, totals, int(last), watch.changed(weights))
        if trace.changed[-1] < rule.tol:
            break
    return weights, trace


def learn_function(x: F32, pairs: _kernels.I32, labels: _kernels.U8, start: F32, rule: Rule) -> tuple[F32, Trace]:
    """The learned weights ``(arity, d)`` and the course of learning.

    ``x`` is ``(n, d)`` with d a multiple of 8, ``start`` are the initial weights. The rate falls linearly to 0 at the
    last pair. The result is the mean of the weights over the second half of the pairs. Learning stops early after a
    block that changed less than ``rule.tol`` of the symbols.
    """
    if rule.literal:
        return learn_literally(x, pairs, labels, start, rule)
    learn = _learn_batch if rule.batch else _learn_online
    return learn(x, pairs, labels, np.array(start, np.float32, order="C"), rule)


def _learn_online(x: F32, pairs: _kernels.I32, labels: _kernels.U8, weights: F32, rule: Rule) -> tuple[F32, Trace]:
    n, trace, watch = len(pairs), Trace(), SymbolChange(x, weights)
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
    n, trace, watch = len(pairs), Trace(), SymbolChange(x, weights)
    total: F64 = np.zeros(weights.shape)
    per_block, columns = N_STEPS // N_BLOCKS, np.ascontiguousarray(x.T)
    for step in range(N_STEPS):
        scores = _kernels.inner_products(x, weights)
        gradient, totals = _kernels.pair_gradient(scores, pairs, labels, hinge=rule.hinge, rho=rule.rho, lam=rule.lam)
        rate = rule.rate * (1 - step / N_STEPS) / N_STEPS
        weights = weights + np.float32(rate) * _kernels.inner_products(gradient.T, columns)
        if step >= N_STEPS // 2:
            total += weights
        if (step + 1) % per_block == 0:
            trace.add(n, totals, (step + 1) * n, watch.changed(weights))
            if trace.changed[-1] < rule.tol:
                break
    averaged = step + 1 - N_STEPS // 2
    return (total / averaged).astype(np.float32) if averaged > 0 else weights, trace
