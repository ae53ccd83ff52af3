"""A hasher whose codes may have a decoder: :class:`DecoderHasher`.

::

    fit ─▶ learn_reconstruction ─▶ projections_, bias_, center_, decoder_, lengths_ (refined: crossing_, refinement_)
    X ─▶ winners ─▶ refined if asked for ─▶ codes           Q ─▶ score_tables: squared distances to decoded vectors
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from .. import _kernels
from ..codes import CodeLayout
from ._base import F32, F64, U8, Arrays, Hasher, Training
from ._reconstruction import Reconstruction, decode, learn_reconstruction, reconstruction_fits, reconstruction_tables
from ._refinement import Refinement

MAX_POINTS = 65_536
"""More points than this do not make better quantisers."""


class DecoderHasher(Hasher):
    """Adds a decoder to a hasher with projections; without one, it does what its base does."""

    max_points: int
    refine: int
    decoder_: F32 | None = None
    lengths_: F32 | None = None
    crossing_: F32 | None = None
    refinement_: F32 | None = None
    _improver: Refinement | None = None

    _decoder_code_arrays: ClassVar[tuple[str, ...]] = ("decoder_", "crossing_", "refinement_")
    _decoder_side_arrays: ClassVar[tuple[str, ...]] = ("lengths_",)

    def _learn_decoder(
        self, training: Training, rng: np.random.RandomState, layout: CodeLayout, tell: Callable[[], object]
    ) -> Reconstruction:
        most = min(self.max_points, MAX_POINTS)
        return learn_reconstruction(
            training.vectors, layout.n_symbols, layout.arity, rng, max_points=most, refine=self.refine, tell=tell
        )

    def _adopt(self, arrays: Arrays, layout: CodeLayout, *facts: Any) -> None:
        super()._adopt(arrays, layout, *facts)
        refined = "refinement_" in arrays
        self._improver = Refinement.from_arrays(arrays, layout.n_symbols) if refined else None

    def _encode_batch(self, batch: F32, n_threads: int) -> tuple[U8, int]:
        codes, bad = super()._encode_batch(batch, n_threads)
        if self._improver is not None and bad < 0:
            symbols = _kernels.unpack(codes, self.layout_.n_symbols, self.layout_.arity)
            symbols = self._improver.improve(batch, symbols, n_threads, self.center_)
            codes = _kernels.pack(symbols, self.layout_.arity)
        return codes, bad

    def score_tables(self, Q: Any) -> F32:
        """Distances ``(n_queries, n_symbols, arity)`` of the queries ``Q`` to each value of each symbol.

        The sum over a code's symbols, which ``search_tables`` of an index adds up, is the squared Euclidean distance of
        the query to the decoded vector, as far as it can be told symbol by symbol. With another objective than
        ``"reconstruction"`` a query is 0 away from its own symbol, and from any other by how far its score lies behind.
        """
        if self.decoder_ is None:
            return super().score_tables(Q)
        return reconstruction_tables(self._open(Q, name="Q").whole(), self._decoder_arrays(), self.layout_.n_symbols)

    def decode(self, symbols: U8) -> F64:
        """The vectors ``(n, n_features_in_)`` that ``symbols`` ``(n, n_symbols)`` stand for; needs a decoder."""
        return decode(self.layout_.unpack(self.layout_.pack(symbols)), self._decoder_arrays())

    def _decoder_arrays(self) -> Arrays:
        names = ("center_", *self._decoder_code_arrays, *self._decoder_side_arrays)
        return {name: array for name in names if (array := getattr(self, name)) is not None}

    def _fits(self, arrays: Arrays, layout: CodeLayout, n_features: int) -> bool:
        known = {*Hasher._code_arrays, *self._decoder_code_arrays, *self._decoder_side_arrays}
        if "decoder_" not in arrays:
            return not arrays.keys() & (known - {*Hasher._code_arrays}) and super()._fits(arrays, layout, n_features)
        return (
            arrays.keys() <= known
            and {"bias_", "center_", "lengths_"} <= arrays.keys()
            and Hasher._fits(self, arrays, layout, n_features)
            and reconstruction_fits(arrays, layout.n_symbols * layout.arity)
        )
