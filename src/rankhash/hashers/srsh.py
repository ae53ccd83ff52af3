"""Sequential rank subspace hashing: every function learns the pairs that those before got wrong (Algorithm 2)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _kernels
from ..errors import InvalidInputError
from ._base import F32, F64, Arrays, Training
from ._learning import Rule, Trace, learn_function
from ._pairs import Callback, PairHasher, Problem
from ._parameters import check_number
from ._progress import FitProgress

DEFAULTS = {
    "hinge": {"rho": 1.0, "learning_rate": 0.06, "init_scale": 0.3},
    "bound": {"rho": 0.6, "learning_rate": 0.14, "init_scale": 0.6},
}
"""What None means for each update rule."""

N_CANDIDATES, CANDIDATE_PAIRS = 8, 3000
"""Random starts of the paper's rule, which cannot leave a bad one, and the pairs that they are tried with."""

MAX_DRAWS = 3
"""How often a function that is no better than guessing is learned before it is taken as it is."""

MIN_WEIGHT, MIN_ERROR = 1e-3, 1e-6
EARLY_FUNCTIONS = 8.0
"""Functions over which the share of similar pairs grows from half to nearly all of ``similar_share``."""


class SRSH(PairHasher):
    """Codes whose symbols tell which of a few learned projections is the largest, each made to help the others.

    Functions are learned one after another [1]_: pairs that the last one got wrong weigh more for the next
    one, as in AdaBoost, so that functions complement each other. At equal length the codes are better than
    those of :class:`RSH`; they cannot be learned in parallel.

    ``weights_`` says how much each symbol counts in the paper's weighted similarity: pass it to an index as
    ``index.search(codes, k, weights=hasher.weights_)``. The unweighted distance on the same codes is about as
    good and faster.

    Parameters
    ----------
    n_symbols, arity
        Functions, and so symbols of a code, 1 to 4096; projections that compete for each, 2 to 16.
    update
        ``"hinge"``: the largest rival is compared with the best assignment that has no error, so that wrong
        pairs move a function. ``"bound"``: it is compared with the winners, as the paper has it; wrong pairs
        then give no step, and each function is the best of 8 random starts. Codes of ``"hinge"`` are better.
    rho, lam, learning_rate, init_scale
        As for :class:`RSH`; None stands for what suits ``update``: 1, 0.06 and 0.3 for ``"hinge"``, 0.6, 0.14
        and 0.6 for ``"bound"``.
    similar_share
        The weight of similar pairs among all; it starts at half of this and nears it after some functions.
    boost
        How much a pair that a function gets wrong gains: its weight grows by the factor exp(boost · θ). 1 is the
        paper's; less holds back pairs that no function can get right.
    n_neighbors, max_pairs, tol, max_points, center, random_state, verbose
        As for :class:`RSH`.
    callback
        Called after every function with a dict: function, n_functions, n_pairs, bound, changed, error, weight.

    Attributes
    ----------
    weights_ : ndarray (n_symbols,)
        θ, positive: the logarithm of right over wrong pairs, as they were weighted for each function.
    projections_, center_, scale_, balance_, agreement_, errors_, history_, n_iter_
        As for :class:`RSH`.
    layout_, n_features_in_, feature_names_in_
        As for every hasher.

    Notes
    -----
    Departures from the paper's Algorithm 2, beside ``update="hinge"``: pairs are drawn in proportion to their
    weight instead of multiplying the step by it; wrong pairs gain less (``boost``); weights are kept for a pool
    of pairs, never for all n × n; they are normalised within the similar and within the dissimilar pairs, at the
    ratio that ``similar_share`` says, instead of together; ε counts wrong pairs as 1, not as ρ or λ, so that it
    stays below 1; the result is the mean of the weights over the second half of the pairs. A function with ε ≥ ½
    is drawn again, and if that does not help it gets a weight near 0, never a negative one.

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

    def __init__(
        self,
        n_symbols: int = 32,
        arity: int = 4,
        *,
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
        self.n_symbols = n_symbols
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
        self.random_state = random_state
        self.callback = callback
        self.verbose = verbose

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.update not in DEFAULTS:
            raise InvalidInputError(f"update must be 'hinge' or 'bound', got {self.update!r}")
        check_number("lam", self.lam, 0, 1e6)
        check_number("boost", self.boost, 0, 1)
        check_number("rho", self._value("rho"), 0, 1e6)
        check_number("learning_rate", self._value("learning_rate"), 0, 1e6)
        check_number("init_scale", self._value("init_scale"), 0, 1e6, open_interval=True)

    def _value(self, name: str) -> float:
        """A parameter, or what stands for it if it is None."""
        value = getattr(self, name)
        return DEFAULTS[self.update][name] if value is None else value

    def _learn(self, training: Training, rng: np.random.RandomState) -> Arrays:
        problem = self._problem(training, rng)
        draws = np.random.default_rng(rng.randint(0, 2**31 - 1, size=4))
        boosting = Boosting(problem.labels)
        members: list[Member] = []
        with FitProgress(self.n_symbols, "learning", shown=self.verbose) as progress:
            for function in range(self.n_symbols):
                boosting.balance(self.similar_share * (1 - 0.5 * np.exp(-function / EARLY_FUNCTIONS)))
                member = self._better_than_guessing(problem, boosting, draws)
                boosting.raise_wrong(member.wrong, self.boost * member.weight)
                members.append(member)
                progress.advance()
                self._tell(function, member.trace, error=member.error, weight=member.weight)
        arrays = self._results(problem, [m.weights for m in members], [m.trace for m in members])
        arrays["errors_"] = np.array([m.error for m in members], np.float32)
        arrays["weights_"] = np.array([m.weight for m in members], np.float32)
        return arrays

    def _better_than_guessing(self, problem: Problem, boosting: Boosting, rng: np.random.Generator) -> Member:
        """The first of a few draws with an error below one half, or else the best of them."""
        draws: list[Member] = []
        while len(draws) < MAX_DRAWS and (not draws or draws[-1].error >= 0.5):
            draws.append(self._draw_member(problem, boosting, rng))
        return min(draws, key=lambda member: member.error)

    def _draw_member(self, problem: Problem, boosting: Boosting, rng: np.random.Generator) -> Member:
        rule = Rule(self.update == "hinge", self._value("rho"), self.lam, self._value("learning_rate"), self.tol)
        drawn = boosting.draw(rng, self.max_pairs)
        pairs, labels = problem.pairs[drawn], problem.labels[drawn]
        start = self._start(problem, boosting, rule, pairs, labels, rng)
        weights, trace = learn_function(problem.x, pairs, labels, start, rule)
        wrong = problem.agreement(weights) != (problem.labels == 1)
        return Member(weights, trace, wrong, boosting.error(wrong))

    def _start(
        self,
        problem: Problem,
        boosting: Boosting,
        rule: Rule,
        pairs: _kernels.I32,
        labels: _kernels.U8,
        rng: np.random.Generator,
    ) -> F32:
        """A random start; for the paper's rule the one of several that does best after a few pairs."""

        def draw() -> F32:
            rows = rng.standard_normal((self.arity, len(problem.center))) * self._value("init_scale")
            return _kernels.pad_columns(rows.astype(np.float32))

        if rule.hinge:
            return draw()
        trial = replace(rule, tol=0.0)
        starts = [draw() for _ in range(N_CANDIDATES)]
        errors = []
        for start in starts:
            weights, _ = learn_function(problem.x, pairs[:CANDIDATE_PAIRS], labels[:CANDIDATE_PAIRS], start, trial)
            errors.append(boosting.error(problem.agreement(weights) != (problem.labels == 1)))
        return starts[int(np.argmin(errors))]


@dataclass(frozen=True)
class Member:
    """A learned function, which pairs of the pool it gets wrong, and their weight."""

    weights: F32
    trace: Trace
    wrong: NDArray[np.bool_]
    error: float

    @property
    def weight(self) -> float:
        """θ: how much the function counts."""
        error = float(np.clip(self.error, MIN_ERROR, 1 - MIN_ERROR))
        return max(float(np.log((1 - error) / error)), MIN_WEIGHT)


class Boosting:
    """The weights α of a pool of pairs, which add up to 1."""

    def __init__(self, labels: _kernels.U8) -> None:
        self._similar = labels == 1
        self._alpha: F64 = np.ones(len(labels))

    def balance(self, similar_share: float) -> None:
        """Give the similar pairs this share of the weight."""
        for kind, share in ((self._similar, similar_share), (~self._similar, 1 - similar_share)):
            self._alpha[kind] *= share / self._alpha[kind].sum()

    def draw(self, rng: np.random.Generator, size: int) -> NDArray[np.int64]:
        """Pairs drawn in proportion to their weight, evenly over the pool, in random order."""
        edges = np.cumsum(self._alpha)
        places = (np.arange(size) + rng.random(size)) * (edges[-1] / size)
        drawn = np.minimum(np.searchsorted(edges, places, side="right"), len(edges) - 1)
        return rng.permutation(drawn)

    def error(self, wrong: NDArray[np.bool_]) -> float:
        """ε: the weight of the wrong pairs."""
        return float(self._alpha[wrong].sum() / self._alpha.sum())

    def raise_wrong(self, wrong: NDArray[np.bool_], weight: float) -> None:
        """Make the pairs that a function gets wrong count more, by exp(``weight``)."""
        self._alpha[wrong] *= np.exp(weight)
