"""Sequential rank subspace hashing: functions are learned by boosting (the paper's Algorithm 2)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from .. import _kernels
from .._checks import check_choice, check_number
from .._types import F32
from ._pairwise.boosting import Boosting, Member, PaperBoosting
from ._pairwise.hasher import PairHasher
from ._pairwise.rank_function import Rule, learn_function
from .base import Arrays
from .parameters import Callback
from .progress import FitProgress
from .training import PairPool, Training

DEFAULTS = {
    "hinge": {"rho": 1.0, "learning_rate": 0.06, "init_scale": 0.3},
    "bound": {"rho": 0.6, "learning_rate": 0.14, "init_scale": 0.6},
    "paper": {"rho": 1.0, "learning_rate": 0.03, "init_scale": 0.1},
    "paper-sampling": {"rho": 1.0, "learning_rate": 0.03, "init_scale": 0.1},
}
"""Defaults of parameters that are None, by update rule."""

N_CANDIDATES, CANDIDATE_PAIRS = 8, 3000
"""Random starts of the paper's rule, which does not recover from a bad start, and pairs to compare them with."""

MAX_DRAWS = 3
"""Attempts at a function with an error below one half."""

WARM_UP = 8.0
"""Weight of similar pairs for function t: similar_share · (1 - exp(-t / 8) / 2)."""


class SRSH(PairHasher):
    """Codes whose symbols are argmaxes of a few learned projections; functions are learned by boosting.

    Functions are learned one after another [1]_: pairs that a function gets wrong gain weight for the next one, as in
    AdaBoost, so that functions complement each other. At equal length the codes are better than those of
    [`RSH`][rankhash.RSH]; they cannot be learned in parallel.

    ``weights_`` are the weights of the symbols in the paper's weighted similarity. Pass them to an index as
    ``index.search(codes, k, weights=hasher.weights_)``. The unweighted distance on the same codes is about as good and
    faster.

    Parameters
    ----------
    n_symbols
        Functions, that is symbols per code, 1 to 4096; None by default.
    n_bits, n_bytes
        The size of a code in bits or bytes instead; None by default. Without any of the three, a code has 64 bits.
    arity
        Projections per symbol, 2 to 16; 4 by default.
    update
        ``"hinge"``, the default: the largest rival is compared with the best assignment without error, so that wrong
        pairs move a function. ``"bound"``: it is compared with the winners, as in the paper; wrong pairs then give no
        step, and each function is the best of 8 random starts. Codes of ``"hinge"`` are better. ``"paper"``: Algorithm
        2 as printed, with the weight α of a pair on its step; ``"paper-sampling"``: the same, but pairs are drawn in
        proportion to α. Both ignore ``similar_share`` and ``boost``.
    rho
        Loss of a similar pair with different symbols. None, the default, takes 0.6 for ``"bound"``, else 1.
    lam
        Loss of a dissimilar pair with equal symbols, 1 by default.
    learning_rate
        Initial step size, which falls linearly to 0; constant for ``"paper"``. None, the default, takes 0.06 for
        ``"hinge"``, 0.14 for ``"bound"``, 0.03 for ``"paper"``.
    init_scale
        Standard deviation of the random start. None, the default, takes 0.3 for ``"hinge"``, 0.6 for ``"bound"``, 0.1
        for ``"paper"``.
    similar_share
        Total weight of the similar pairs, 0.6 by default; function t uses similar_share · (1 - exp(-t / 8) / 2).
    boost
        The weight of a wrong pair grows by exp(boost · θ); 0.7 by default. The paper has 1; less limits the weight of
        pairs that no function gets right.
    n_neighbors, max_pairs, tol, max_points, center, random_state, verbose
        As for [`RSH`][rankhash.RSH], with the same defaults: 50, 40 000, 0.002, 50 000, True, None, True.
    callback
        Called after every function with a dict: function, n_functions, n_pairs, bound, changed, error, weight. None by
        default.

    Attributes
    ----------
    weights_ : ndarray (n_symbols,)
        θ = ln((1 - ε) / ε), positive, with ε the weighted error of each function.
    projections_, center_, scale_, balance_, agreement_, errors_, history_, n_iter_
        As for [`RSH`][rankhash.RSH].
    layout_, n_features_in_, feature_names_in_
        As for every hasher.

    Notes
    -----
    Departures from the paper's Algorithm 2, in addition to ``update="hinge"``, none of which ``update="paper"`` has but
    the pool, of all pairs of up to 1000 vectors or 500 000 random ones, and θ ≥ 0.001 in ``weights_``:

    * pairs are drawn in proportion to their weight, instead of multiplying the step by it;
    * wrong pairs gain less weight (``boost``);
    * weights are kept for a pool of pairs, not for all n × n;
    * weights are normalised within similar and within dissimilar pairs, at the ratio of ``similar_share``;
    * ε counts wrong pairs as 1, not as ρ or λ, so that it is below 1;
    * the result is the mean of the weights over the second half of the pairs;
    * a function with ε ≥ ½ is learned again from other pairs; if ε is still ≥ ½, its θ is 0.001 instead of negative.

    References
    ----------
    .. [1] K. Li, G. Qi, J. Ye, K. Hua, Rank subspace learning for compact hash codes, 2015.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> hasher = SRSH(16, max_pairs=5000, random_state=0).fit(X, y)
    >>> hasher.encode(X).shape, bool((hasher.weights_ > 0).all())
    ((1797, 4), True)
    """

    _side_arrays = (*PairHasher._side_arrays, "weights_")

    @property
    def nested(self) -> bool:
        """True: with the same ``random_state``, the first symbols of a longer code are a shorter code."""
        return True

    def __init__(
        self,
        n_symbols: int | None = None,
        arity: int = 4,
        *,
        n_bits: int | None = None,
        n_bytes: int | None = None,
        update: str = "hinge",
        rho: float | None = None,
        lam: float = 1.0,
        learning_rate: float | None = None,
        init_scale: float | None = None,
        similar_share: float = 0.6,
        boost: float = 0.7,
        n_neighbors: int = 50,
        max_pairs: int = 40_000,
        tol: float = 0.002,
        max_points: int = 50_000,
        center: bool = True,
        random_state: Any = None,
        callback: Callback | None = None,
        verbose: bool = True,
    ) -> None:
        super().__init__(n_symbols, n_bits=n_bits, n_bytes=n_bytes, random_state=random_state)
        self.arity = arity
        self.update = update
        self.rho = rho
        self.lam = lam
        self.learning_rate = learning_rate
        self.init_scale = init_scale
        self.similar_share = similar_share
        self.boost = boost
        self.n_neighbors = n_neighbors
        self.max_pairs = max_pairs
        self.tol = tol
        self.max_points = max_points
        self.center = center
        self.callback = callback
        self.verbose = verbose

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_choice("update", self.update, tuple(DEFAULTS))
        check_number("lam", self.lam, 0, 1e6)
        check_number("boost", self.boost, 0, 1)
        check_number("rho", self._value("rho"), 0, 1e6)
        check_number("learning_rate", self._value("learning_rate"), 0, 1e6)
        check_number("init_scale", self._value("init_scale"), 0, 1e6, open_interval=True)

    def _value(self, name: str) -> float:
        """A parameter, or its default for the update rule if it is None."""
        value = getattr(self, name)
        return DEFAULTS[self.update][name] if value is None else value

    def _learn(self, training: Training, rng: np.random.RandomState) -> Arrays:
        pool = self._pool(training, rng)
        draws = np.random.default_rng(rng.randint(0, 2**31 - 1, size=4))
        next_member = self._paper_members(pool, draws) if self._literal else self._members(pool, draws)
        members: list[Member] = []
        with FitProgress(self._n_symbols, "learning", shown=self.verbose) as progress:
            for function, member in enumerate(next_member):
                members.append(member)
                progress.advance()
                self._notify(function, member.trace, error=member.error, weight=member.weight)
        arrays = self._results(pool, [m.weights for m in members], [m.trace for m in members])
        arrays["errors_"] = np.array([m.error for m in members], np.float32)
        arrays["weights_"] = np.array([m.weight for m in members], np.float32)
        return arrays

    def _members(self, pool: PairPool, rng: np.random.Generator) -> Iterator[Member]:
        """The functions one after another, by the library's own boosting."""
        boosting = Boosting(pool.labels)
        for function in range(self._n_symbols):
            boosting.balance(self.similar_share * (1 - 0.5 * np.exp(-function / WARM_UP)))
            member = self._better_than_guessing(pool, boosting, rng)
            boosting.raise_wrong(member.wrong, self.boost * member.weight)
            yield member

    def _paper_members(self, pool: PairPool, rng: np.random.Generator) -> Iterator[Member]:
        """The functions one after another, by Algorithm 2 as printed."""
        boosting = PaperBoosting(pool.labels, sampling=self.update == "paper-sampling")
        rule = Rule(False, self._value("rho"), self.lam, self._value("learning_rate"), self.tol, literal=True)
        for _ in range(self._n_symbols):
            picked = boosting.pick(rng, self.max_pairs)
            yield boosting.learn(pool, picked, self._gaussian(pool, rng), rule)

    def _gaussian(self, pool: PairPool, rng: np.random.Generator) -> F32:
        """A random start."""
        rows = rng.standard_normal((self.arity, len(pool.center))) * self._value("init_scale")
        return _kernels.pad_columns(rows.astype(np.float32))

    def _better_than_guessing(self, pool: PairPool, boosting: Boosting, rng: np.random.Generator) -> Member:
        """The first of up to 3 functions with an error below one half, or else the best."""
        draws: list[Member] = []
        while len(draws) < MAX_DRAWS and (not draws or draws[-1].error >= 0.5):
            draws.append(self._draw_member(pool, boosting, rng))
        return min(draws, key=lambda member: member.error)

    def _draw_member(self, pool: PairPool, boosting: Boosting, rng: np.random.Generator) -> Member:
        rule = Rule(self.update == "hinge", self._value("rho"), self.lam, self._value("learning_rate"), self.tol)
        drawn = boosting.draw(rng, self.max_pairs)
        pairs, labels = pool.pairs[drawn], pool.labels[drawn]
        start = self._start(pool, boosting, rule, pairs, labels, rng)
        weights, trace = learn_function(pool.x, pairs, labels, start, rule)
        wrong = pool.agreement(weights) != (pool.labels == 1)
        return Member(weights, trace, wrong, boosting.error(wrong))

    def _start(
        self,
        pool: PairPool,
        boosting: Boosting,
        rule: Rule,
        pairs: _kernels.I32,
        labels: _kernels.U8,
        rng: np.random.Generator,
    ) -> F32:
        """A random start; for the paper's rule the best of 8 after 3000 pairs."""
        if rule.hinge:
            return self._gaussian(pool, rng)
        trial = replace(rule, tol=0.0)
        starts = [self._gaussian(pool, rng) for _ in range(N_CANDIDATES)]
        errors = []
        for start in starts:
            weights, _ = learn_function(pool.x, pairs[:CANDIDATE_PAIRS], labels[:CANDIDATE_PAIRS], start, trial)
            errors.append(boosting.error(pool.agreement(weights) != (pool.labels == 1)))
        return starts[int(np.argmin(errors))]
