"""A hasher whose codes may have a decoder: :class:`DecoderHasher`.

::

    fit ─▶ learn_reconstruction ─▶ projections_, bias_, center_, decoder_, lengths_ (refined: crossing_, refinement_)
    X ─▶ winners ─▶ refined if asked for ─▶ codes           Q ─▶ score_tables: squared distances to decoded vectors
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .. import _kernels
from ..codes import CodeLayout
from ..errors import InvalidInputError
from ._base import F32, F64, U8, Arrays, Hasher, Training
from ._pairs import Callback
from ._progress import FitProgress
from ._reconstruction import N_ROUNDS, decode, learn_reconstruction, reconstruction_fits, reconstruction_tables
from ._refinement import N_ROUNDS as N_REFITS
from ._refinement import Refinement

MAX_POINTS = 65_536
"""More points than this do not make better quantisers."""


class DecoderHasher(Hasher):
    """A hasher with projections that can also learn a decoder; without one, it does what its base does."""

    max_points: int
    refine: int
    callback: Callback | None
    verbose: bool
    history_: dict[str, list[float]]
    decoder_: F32 | None
    lengths_: F32 | None
    crossing_: F32 | None
    refinement_: F32 | None
    _refinement: Refinement | None

    _decoder_code_arrays: ClassVar[tuple[str, ...]] = ("decoder_", "crossing_", "refinement_")
    _decoder_side_arrays: ClassVar[tuple[str, ...]] = ("lengths_",)

    def _learn_decoder(self, training: Training, rng: np.random.RandomState, layout: CodeLayout) -> Arrays:
        errors: list[float] = []
        n_rounds = N_ROUNDS + (N_REFITS if self.refine else 0)
        with FitProgress(n_rounds, "learning", shown=self.verbose) as progress:

            def tell(error: float) -> None:
                errors.append(error)
                progress.advance()
                if self.callback is not None:
                    self.callback({"step": len(errors) - 1, "error": error})

            shape, most = (layout.n_symbols, layout.arity), min(self.max_points, MAX_POINTS)
            arrays = learn_reconstruction(
                training.vectors, *shape, rng, max_points=most, refine=self.refine, n_rounds=N_ROUNDS, tell=tell
            )
        self.history_ = {"step": list(map(float, range(len(errors)))), "error": errors}
        return arrays

    def _adopt(self, arrays: Arrays, layout: CodeLayout, n_features: int, names: Any) -> None:
        super()._adopt(arrays, layout, n_features, names)
        refined = "refinement_" in arrays
        self._refinement = Refinement.from_arrays(arrays, layout.n_symbols) if refined else None

    def _refined(self, batch: F32, codes: U8, n_threads: int) -> U8:
        """Better codes of a finite batch than those of winners, if the hasher makes such."""
        if self._refinement is None:
            return codes
        symbols = _kernels.unpack(codes, self.layout_.n_symbols, self.layout_.arity)
        return _kernels.pack(self._refinement.improve(batch, symbols, n_threads, self.center_), self.layout_.arity)

    def score_tables(self, Q: Any) -> F32:
        """Distances ``(n_queries, n_symbols, arity)`` of the queries ``Q`` to each value of each symbol.

        ``search_tables`` of an index adds them up over a code's symbols. With ``objective="reconstruction"`` the sum
        is the squared Euclidean distance to the decoded vector, as far as that can be told symbol by symbol. Else a
        query is 0 away from its own symbol, and from any other by how far that one lies behind.
        """
        check_is_fitted(self)
        if self.decoder_ is None:
            return super().score_tables(Q)
        return reconstruction_tables(self._open(Q, name="Q").whole(), self._decoder_arrays(), self.layout_.n_symbols)

    def decode(self, codes: Any) -> F64:
        """The vectors ``(n, n_features_in_)`` that ``codes`` ``(n, n_bytes)`` stand for.

        Only with ``objective="reconstruction"``.
        """
        check_is_fitted(self)
        if self.decoder_ is None:
            raise InvalidInputError("only codes learned with objective='reconstruction' can be decoded")
        return decode(self.layout_.unpack(codes), self._decoder_arrays())

    def _decoder_arrays(self) -> Arrays:
        names = ("center_", *self._decoder_code_arrays, *self._decoder_side_arrays)
        return {name: array for name in names if (array := getattr(self, name)) is not None}

    def _decoder_fits(self, arrays: Arrays, layout: CodeLayout, n_features: int) -> bool:
        """Whether arrays from a file make a hasher with a decoder."""
        own = {"projections_", "bias_", "center_", "decoder_", "lengths_", "balance_"}
        return (
            own <= arrays.keys() <= own | {"crossing_", "refinement_"}
            and Hasher._fits(self, arrays, layout, n_features)
            and arrays["balance_"].shape == (layout.n_symbols, layout.arity)
            and bool((arrays["balance_"] >= 0).all() and (arrays["balance_"] <= 1).all())
            and reconstruction_fits(arrays, layout.n_symbols * layout.arity)
        )
