"""The base of RSH and SRSH: `PairHasher`.

::

    X ─▶ labelled_points: at most max_points rows, (x - center) / scale ─▶ pool of labelled pairs ─▶ a draw per function
"""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ... import _kernels
from ..._checks import check_flag, check_integer, check_number, check_verbose
from ..._types import F32
from ...codes import CodeLayout
from ...errors import InvalidInputError
from .._diagnostics import effective_symbols, symbol_shares
from ..base import Arrays, Hasher
from ..parameters import Callback, check_callback
from ..training import PairPool, Training, labelled_points, new_generator, winners
from .rank_function import Trace, joined_history


class PairHasher(Hasher):
    """A hasher whose rank functions are learned from labelled pairs, one function at a time.

    Attributes
    ----------
    history_ : dict of lists
        One entry per block of pairs: ``step`` (the block of its function, from 0), ``function``, ``n_pairs`` (pairs
        seen so far), ``bound`` (mean loss bound), ``updated`` (fraction of pairs that moved the function) and
        ``changed`` (fraction of symbols that changed). It is not saved.
    n_iter_ : int
        Largest number of pairs that a function has seen.
    """

    center: bool
    n_neighbors: int
    max_pairs: int
    max_points: int
    tol: float
    similar_share: float
    update: str
    callback: Callback | None
    verbose: bool
    n_iter_: int
    scale_: F32
    balance_: F32
    agreement_: F32
    errors_: F32
    weights_: F32

    _code_arrays = ("projections_", "center_")
    _rotates = True
    _side_arrays: ClassVar[tuple[str, ...]] = ("scale_", "balance_", "agreement_", "errors_")

    def _check_parameters(self) -> None:
        check_flag("center", self.center)
        check_verbose(self.verbose)
        check_integer("n_neighbors", self.n_neighbors, 1, 2**31 - 1)
        check_integer("max_pairs", self.max_pairs, 1, 2**31 - 1)
        check_integer("max_points", self.max_points, 3, 2**31 - 1)
        check_number("tol", self.tol, 0, 1)
        check_number("similar_share", self.similar_share, 0, 1, open_interval=True)
        check_callback(self.callback)

    def _pool(self, training: Training, rng: np.random.RandomState, frame: tuple[F32, float] | None = None) -> PairPool:
        """The training points, padded for the kernels, and their pool of pairs.

        ``frame`` holds the centre and the scale of an earlier batch; None (the default) measures them.
        """
        draws = new_generator(rng)
        owner, sizes = type(self).__name__, (self.max_points, self.n_neighbors)
        points = labelled_points(training, owner, draws, *sizes, centered=self.center, frame=frame)
        pool = points.natural_pool(draws) if self._literal else points.pool(draws)
        return replace(pool, x=_kernels.pad_columns(pool.x))

    @property
    def _literal(self) -> bool:
        """Whether functions are learned by the paper's printed update."""
        return self.update.startswith("paper")

    def _share(self, pool: PairPool) -> float:
        """The fraction of similar pairs among the drawn training pairs."""
        return pool.similar_rate if self._literal else self.similar_share

    def _results(self, pool: PairPool, weights: list[F32], traces: list[Trace]) -> Arrays:
        """The arrays of a fit; sets ``history_`` and ``n_iter_``."""
        stacked = np.concatenate(weights)[:, : len(pool.center)]
        with np.errstate(over="ignore"):
            projections = (stacked / pool.scale).astype(np.float32)
        if not np.isfinite(projections).all() or not projections.any():
            raise InvalidInputError(f"X spreads by {pool.scale:g}, which float32 projections cannot undo; scale it")
        arrays: Arrays = {"projections_": projections, "scale_": np.array([pool.scale], np.float32)}
        if self.center:
            arrays["center_"] = pool.center
        arrays |= self._diagnose(pool, weights)
        self.history_ = joined_history(traces)
        self.n_iter_ = max(trace.n_pairs[-1] for trace in traces)
        return arrays

    def _diagnose(self, pool: PairPool, weights: list[F32]) -> Arrays:
        arity = len(weights[0])
        similar = pool.labels == 1
        balance = np.empty((len(weights), arity), np.float32)
        agreement = np.empty((len(weights), 2), np.float32)
        for function, w in enumerate(weights):
            balance[function] = symbol_shares(winners(pool.x, w)[:, None], arity)[0]
            agree = pool.agreement(w)
            agreement[function] = agree[similar].mean(), agree[~similar].mean()
        share = self._share(pool)
        errors = share * (1 - agreement[:, 0]) + (1 - share) * agreement[:, 1]
        return {"balance_": balance, "agreement_": agreement, "errors_": errors.astype(np.float32)}

    def _notify(self, function: int, trace: Trace, **facts: float) -> None:
        """Call the callback after a function was learned."""
        if self.callback is not None:
            progress = {"function": function, "n_functions": self._n_symbols, "n_pairs": trace.n_pairs[-1]}
            last = {"bound": trace.bound[-1], "changed": trace.changed[-1]}
            self.callback({**progress, **last, **facts})

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
        """A table of the learned functions, one line per function.

        ``error`` is the weighted fraction of training pairs that the function gets wrong, ``weight`` its θ, ``agree``
        the fraction of similar and of dissimilar training pairs with equal symbols, ``effective`` the effective
        number of symbols (the exponential of their entropy), and ``symbols`` the percentage of training points that
        have each symbol.
        """
        check_is_fitted(self)
        weights = self.weights_ if "weights_" in self._side_arrays else np.ones(len(self.errors_))
        used = effective_symbols(self.balance_)
        head = "function  error  weight  agree: similar  dissimilar  effective  symbols %"
        lines = [f"{type(self).__name__}: {self.layout_.n_symbols} symbols of arity {self.layout_.arity}", head]
        for function, balance in enumerate(self.balance_):
            shares = " ".join(f"{100 * share:.0f}" for share in balance)
            similar, dissimilar = self.agreement_[function]
            lines.append(
                f"{function:8d}  {self.errors_[function]:5.3f}  {weights[function]:6.3f}  {similar:14.3f}  "
                f"{dissimilar:10.3f}  {used[function]:9.2f}  {shares}"
            )
        mean = self.agreement_.mean(axis=0)
        lines.append(
            f"    mean  {self.errors_.mean():5.3f}  {weights.mean():6.3f}  {mean[0]:14.3f}  {mean[1]:10.3f}  "
            f"{used.mean():9.2f}"
        )
        return "\n".join(lines)
