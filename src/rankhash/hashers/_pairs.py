"""What the hashers that learn from labelled pairs share: :class:`PairHasher`.

::

    X ─▶ at most max_points rows ─▶ (x - center) / scale ─▶ x
    y | similarity | distances ─▶ PairSource ─▶ a pool of pairs ─▶ a draw of pairs for each function
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from .. import _kernels
from ..codes import CodeLayout
from ..errors import InvalidInputError
from ..similarity import GivenPairs, PairSource, label_source
from ..vectors import VectorBatches, as_vectors
from ._base import F32, Arrays, Hasher, Training
from ._learning import Trace
from ._parameters import check_flag, check_integer, check_number
from ._reduced import neighbors_among

Callback = Callable[[dict[str, Any]], object]

MIN_POOL, MAX_POOL, POOL_PER_POINT = 200_000, 2_000_000, 10


@dataclass(frozen=True)
class Problem:
    """What is learned from: the scaled points and a pool of labelled pairs, the similar ones first."""

    x: F32
    center: F32
    scale: float
    pairs: _kernels.I32
    labels: _kernels.U8

    @property
    def n_similar(self) -> int:
        """How many pairs of the pool are similar."""
        return int(self.labels.sum())

    def draw(self, rng: np.random.Generator, size: int, share: float) -> tuple[_kernels.I32, _kernels.U8]:
        """``size`` pairs of the pool in random order, ``share`` of them similar, and their labels."""
        similar = rng.random(size) < share
        drawn = np.where(
            similar,
            rng.integers(0, self.n_similar, size),
            rng.integers(self.n_similar, len(self.pairs), size),
        )
        return self.pairs[drawn], similar.astype(np.uint8)

    def agreement(self, weights: F32) -> NDArray[np.bool_]:
        """Which pairs of the pool get the same symbol from ``weights``."""
        symbols = (self.x @ weights.T).argmax(axis=1).astype(np.uint8)
        agree: NDArray[np.bool_] = symbols[self.pairs[:, 0]] == symbols[self.pairs[:, 1]]
        return agree


class PairHasher(Hasher):
    """A hasher whose functions are learned from labelled pairs.

    Attributes
    ----------
    history_ : list of dict
        For every function the pairs seen, the mean bound, the share of pairs that moved it and the share of
        symbols that changed, block by block. It is not saved.
    n_iter_ : int
        The most pairs that a function needed.
    """

    center: bool
    n_neighbors: int
    max_pairs: int
    max_points: int
    tol: float
    similar_share: float
    callback: Callback | None
    verbose: bool
    history_: list[dict[str, list[float]]]
    n_iter_: int
    scale_: F32
    balance_: F32
    agreement_: F32
    errors_: F32
    weights_: F32

    _code_arrays = ("projections_", "center_")
    _side_arrays: ClassVar[tuple[str, ...]] = ("scale_", "balance_", "agreement_", "errors_")

    def _check_parameters(self) -> None:
        check_flag("center", self.center)
        check_flag("verbose", self.verbose)
        check_integer("n_neighbors", self.n_neighbors, 1, 2**31 - 1)
        check_integer("max_pairs", self.max_pairs, 1, 2**31 - 1)
        check_integer("max_points", self.max_points, 3, 2**31 - 1)
        check_number("tol", self.tol, 0, 1)
        check_number("similar_share", self.similar_share, 0, 1, open_interval=True)
        if self.callback is not None and not callable(self.callback):
            raise InvalidInputError(f"callback must be a function or None, got {self.callback!r}")

    def _problem(
        self, training: Training, rng: np.random.RandomState, frame: tuple[F32, float] | None = None
    ) -> Problem:
        """The points, centred and of unit mean square length, and their pool of pairs.

        ``frame`` is a centre and a scale from before, instead of those of the points.
        """
        data = training.vectors
        if data.n_rows < 2:
            raise InvalidInputError(f"{type(self).__name__} learns from pairs, but there is 1 sample: n_samples=1")
        known = label_source(training.y, training.similarity, data.n_rows)
        draws = np.random.default_rng(rng.randint(0, 2**31 - 1, size=4))
        rows = None if isinstance(known, GivenPairs) else _some_rows(draws, data.n_rows, self.max_points)
        center, scale = (self._center(data), None) if frame is None else frame
        x, scale = _scaled(data, rows, center, scale)
        if known is None:
            source: PairSource = neighbors_among(x, self.n_neighbors, draws, scale)
        else:
            source = known if rows is None else known.subset(rows)
            source.require_both_kinds("the sample of max_points vectors is too small for so rare classes")
        pairs, labels = source.pool(draws, int(np.clip(POOL_PER_POINT * len(x), MIN_POOL, MAX_POOL)))
        return Problem(_kernels.pad_columns(x), center, scale, pairs, labels)

    def _center(self, data: VectorBatches) -> F32:
        if self.center:
            return data.mean()
        data.check()
        return np.zeros(data.n_features, np.float32)

    def _results(self, problem: Problem, weights: list[F32], traces: list[Trace]) -> Arrays:
        """The arrays of a fit, after its course was noted."""
        stacked = np.concatenate(weights)[:, : len(problem.center)]
        with np.errstate(over="ignore"):
            projections = (stacked / problem.scale).astype(np.float32)
        if not np.isfinite(projections).all() or not projections.any():
            raise InvalidInputError(f"X spreads by {problem.scale:g}, which float32 projections cannot undo; scale it")
        arrays: Arrays = {"projections_": projections, "scale_": np.array([problem.scale], np.float32)}
        if self.center:
            arrays["center_"] = problem.center
        arrays |= self._diagnose(problem, weights)
        self.history_ = [vars(trace) for trace in traces]
        self.n_iter_ = max(trace.pairs[-1] for trace in traces)
        return arrays

    def _diagnose(self, problem: Problem, weights: list[F32]) -> Arrays:
        arity = len(weights[0])
        balance = np.empty((len(weights), arity), np.float32)
        agreement = np.empty((len(weights), 2), np.float32)
        for function, w in enumerate(weights):
            symbols = (problem.x @ w.T).argmax(axis=1)
            balance[function] = np.bincount(symbols, minlength=arity) / len(symbols)
            agree = problem.agreement(w)
            similar = problem.labels == 1
            agreement[function] = agree[similar].mean(), agree[~similar].mean()
        share = self.similar_share
        errors = share * (1 - agreement[:, 0]) + (1 - share) * agreement[:, 1]
        return {"balance_": balance, "agreement_": agreement, "errors_": errors.astype(np.float32)}

    def _tell(self, function: int, trace: Trace, **facts: float) -> None:
        """Call the callback after a function was learned."""
        if self.callback is not None:
            news = {"function": function, "n_functions": self.n_symbols, "n_pairs": trace.pairs[-1]}
            last = {"bound": trace.bound[-1], "changed": trace.changed[-1]}
            self.callback({**news, **last, **facts})

    def _fits(self, arrays: Arrays, layout: CodeLayout, n_features: int) -> bool:
        shapes = {
            "scale_": (1,),
            "balance_": (layout.n_symbols, layout.arity),
            "agreement_": (layout.n_symbols, 2),
            "errors_": (layout.n_symbols,),
            "weights_": (layout.n_symbols,),
            "stream_": (2,),
        }
        shares = ("balance_", "agreement_", "errors_")
        return (
            all(name in arrays and arrays[name].shape == shapes[name] for name in self._side_arrays)
            and all((arrays[name] >= 0).all() and (arrays[name] <= 1).all() for name in shares)
            and all((arrays[name] > 0).all() for name in ("scale_", "weights_") if name in self._side_arrays)
            and len(arrays.get("projections_", ())) == layout.n_symbols * layout.arity
            and super()._fits(arrays, layout, n_features)
        )

    def report(self) -> str:
        """A table of the learned functions, one a line.

        ``agree`` is the share of similar and of dissimilar training pairs with equal symbols, ``error`` the
        share of wrong ones as they were weighted in training, ``weight`` the function's θ, ``effective`` the
        number of symbols that are really in use (the exponential of their entropy), ``symbols`` the share of
        training points that has each of them, in per cent.
        """
        check_is_fitted(self)
        weights = self.weights_ if "weights_" in self._side_arrays else np.ones(len(self.errors_))
        head = "function  error  weight  agree: similar  dissimilar  effective  symbols %"
        lines = [f"{type(self).__name__}: {self.layout_.n_symbols} symbols of arity {self.layout_.arity}", head]
        for function, balance in enumerate(self.balance_):
            shares = " ".join(f"{100 * share:.0f}" for share in balance)
            similar, dissimilar = self.agreement_[function]
            lines.append(
                f"{function:8d}  {self.errors_[function]:5.3f}  {weights[function]:6.3f}  {similar:14.3f}  "
                f"{dissimilar:10.3f}  {_effective(balance):9.2f}  {shares}"
            )
        mean = self.agreement_.mean(axis=0)
        lines.append(
            f"    mean  {self.errors_.mean():5.3f}  {weights.mean():6.3f}  {mean[0]:14.3f}  {mean[1]:10.3f}  "
            f"{np.mean([_effective(balance) for balance in self.balance_]):9.2f}"
        )
        return "\n".join(lines)


def _effective(balance: F32) -> float:
    used = balance[balance > 0].astype(np.float64)
    return float(np.exp(-(used * np.log(used)).sum()))


def _some_rows(rng: np.random.Generator, n: int, most: int) -> NDArray[np.int64] | None:
    return None if n <= most else np.sort(rng.choice(n, most, replace=False))


def _scaled(data: VectorBatches, rows: NDArray[np.int64] | None, center: F32, scale: float | None) -> tuple[F32, float]:
    """The rows around their centre divided by ``scale`` (None: the root of their mean square length)."""
    points = as_vectors(data.array if rows is None else data.array[rows], name=data.name)
    with np.errstate(over="ignore"):
        points = points - center
    largest = float(max(points.max(), -points.min()))
    if not np.isfinite(largest):
        raise InvalidInputError("X must fit into float32 after centring; scale it down")
    if largest <= 1e-6 * float(np.abs(center).max(initial=0.0)) or largest == 0:
        raise InvalidInputError("all vectors are the same, so that there is nothing to tell apart; is X constant?")
    if scale is None:
        parts = (points[start : start + 4096] / np.float32(largest) for start in range(0, len(points), 4096))
        scale = largest * float(np.sqrt(sum(np.square(part, dtype=np.float64).sum() for part in parts) / len(points)))
    points /= np.float32(scale)
    return points, scale
