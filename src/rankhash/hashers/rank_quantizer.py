"""Rank quantisation: codes from which vectors can be decoded, for nearest-neighbour search by score tables."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .. import _kernels
from .._checks import check_integer, check_verbose
from .._types import F32, F64, U8
from ..codes import CodeLayout
from ._diagnostics import SymbolReport
from ._quantizer import decoder, refinement
from ._quantizer.refinement import Refinement
from .base import Arrays, Hasher
from .parameters import Callback, check_callback
from .progress import FitProgress
from .training import Training


class RankQuantizer(SymbolReport, Hasher):
    """Codes from which vectors can be decoded, so that score tables give squared distances to decoded vectors.

    Principal axes are rotated and divided into one subspace per symbol, each with ``arity`` centroids [1]_. A symbol is
    the nearest centroid c of its subspace: the argmax of c·x - |c|²/2, a rank function with a bias. Scans with
    ``score_tables`` find more of the nearest vectors than the codes of other methods. Codes are worse to compare with
    each other: use [`JRSH`][rankhash.JRSH] for Hamming distances. Learned without labels.

    Parameters
    ----------
    n_symbols
        Symbols per code, None by default; ``n_symbols * arity`` is at most 4096.
    n_bits, n_bytes
        The size of a code in bits or bytes instead; None by default. Without any of the three, a code has 64 bits.
    arity
        Centroids per symbol, 2 to 16; 16 by default.
    refine
        Descents that improve the symbols of a vector jointly, 0 (the default) to 10 000. 0 takes the nearest centroids.
        8 is enough for most data and takes tens of microseconds per vector; symbols are then no longer an argmax.
    max_points
        Largest number of vectors that centroids are learned from, 65 536 by default; of more, a random sample. The
        mean and the principal axes come from all vectors.
    random_state
        An integer for the same codes in every run, a RandomState, or None (the default).
    callback
        Called after each round of learning with a dict: step, error. None by default.
    verbose
        Whether a progress bar is shown on a terminal if learning takes longer than a second; True by default.

    Attributes
    ----------
    projections_, bias_, center_
        A symbol is the argmax of ``projections_ · (x - center_) + bias_`` over its rows; with ``refine`` this is where
        descents start.
    decoder_ : ndarray (n_symbols * arity, n_features_in_)
        A vector is about ``center_`` plus one row per symbol; see ``decode``.
    lengths_ : ndarray (n_symbols * arity,)
        The contribution of each row to the squared length of that sum, as used by ``score_tables``.
    crossing_, refinement_ : ndarray (n_symbols * arity,), ndarray (3,), or None
        Cross terms of the rows; number of descents, penalty and scale. None without ``refine``.
    balance_ : ndarray (n_symbols, arity)
        Fraction of the training vectors that have each value of each symbol.
    history_ : dict of lists
        ``step``, and ``error``: the mean squared error relative to the variance. It is not saved.
    layout_, n_features_in_, feature_names_in_
        As for every hasher.

    References
    ----------
    .. [1] T. Ge, K. He, Q. Ke, J. Sun, Optimized product quantization, TPAMI 36(4), 2014.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(500, 8)) * np.linspace(3, 1, 8)
    >>> quantizer = RankQuantizer(4, random_state=0).fit(X)
    >>> codes = quantizer.encode(X)
    >>> codes.shape, quantizer.decode(codes).shape, quantizer.score_tables(X[:2]).shape
    ((500, 2), (500, 8), (2, 4, 16))
    >>> bool(np.square(X - quantizer.decode(codes)).mean() < 0.2 * X.var())
    True
    """

    decoder_: F32
    lengths_: F32
    crossing_: F32 | None
    refinement_: F32 | None
    _refinement: Refinement | None

    _code_arrays: ClassVar[tuple[str, ...]] = (
        "projections_",
        "bias_",
        "center_",
        "decoder_",
        "crossing_",
        "refinement_",
    )
    _side_arrays: ClassVar[tuple[str, ...]] = ("balance_", "lengths_")

    _rotates = True
    _fingerprint_name = "JRSH"
    """The name in the method's first files, so that codes made with them stay comparable."""

    def __init__(
        self,
        n_symbols: int | None = None,
        arity: int = 16,
        *,
        n_bits: int | None = None,
        n_bytes: int | None = None,
        refine: int = 0,
        max_points: int = 65_536,
        random_state: Any = None,
        callback: Callback | None = None,
        verbose: bool = True,
    ) -> None:
        super().__init__(n_symbols, n_bits=n_bits, n_bytes=n_bytes, random_state=random_state)
        self.arity = arity
        self.refine = refine
        self.max_points = max_points
        self.callback = callback
        self.verbose = verbose

    def _check_parameters(self) -> None:
        check_integer("refine", self.refine, 0, refinement.MAX_DESCENTS)
        check_integer("max_points", self.max_points, 3, 2**31 - 1)
        check_verbose(self.verbose)
        check_callback(self.callback)

    def _learn(self, training: Training, rng: np.random.RandomState) -> Arrays:
        errors: list[float] = []
        n_rounds = decoder.N_ROUNDS + (refinement.N_ROUNDS if self.refine else 0)
        with FitProgress(n_rounds, "learning", shown=self.verbose) as progress:

            def on_round(error: float) -> None:
                errors.append(error)
                progress.advance()
                if self.callback is not None:
                    self.callback({"step": len(errors) - 1, "error": error})

            arrays = decoder.learn_decoder(
                training.vectors,
                self._n_symbols,
                self.arity,
                rng,
                max_points=self.max_points,
                refine=self.refine,
                n_rounds=decoder.N_ROUNDS,
                on_round=on_round,
            )
        self.history_ = {"step": list(range(len(errors))), "error": errors}
        return arrays

    def _adopt(self, arrays: Arrays, layout: CodeLayout, n_features: int, names: Any) -> None:
        super()._adopt(arrays, layout, n_features, names)
        refined = "refinement_" in arrays
        self._refinement = Refinement.from_arrays(arrays, layout.n_symbols) if refined else None

    def _encode_batch(self, batch: F32, n_threads: int) -> tuple[U8, int]:
        codes, bad = super()._encode_batch(batch, n_threads)
        if bad >= 0 or self._refinement is None:
            return codes, bad
        symbols = _kernels.unpack(codes, self.layout_.n_symbols, self.layout_.arity)
        refined = self._refinement.improve(batch, symbols, n_threads, self.center_)
        return _kernels.pack(refined, self.layout_.arity), bad

    def score_tables(self, Q: Any) -> F32:
        """Squared Euclidean distances to decoded vectors, as tables ``(n_queries, n_symbols, arity)``.

        ``search_scores`` of an index adds up the entries of a code's symbols. With ``refine`` the sum is approximate,
        since squared lengths of decoded vectors do not add up exactly.
        """
        queries = self._open(Q, name="Q").whole()
        return decoder.score_tables(queries, self._decoder_arrays(), self.layout_.n_symbols)

    def decode(self, codes: Any) -> F64:
        """The vectors ``(n, n_features_in_)`` that are decoded from ``codes`` ``(n, n_bytes)``."""
        check_is_fitted(self)
        return decoder.decode(self.layout_.unpack(codes), self._decoder_arrays())

    def _decoder_arrays(self) -> Arrays:
        return {name: getattr(self, name) for name in ("center_", "decoder_", "lengths_")}

    def _fits(self, arrays: Arrays, layout: CodeLayout, n_features: int) -> bool:
        required = {"projections_", "bias_", "center_", "decoder_", "lengths_", "balance_"}
        return (
            required <= arrays.keys()
            and super()._fits(arrays, layout, n_features)
            and arrays["balance_"].shape == (layout.n_symbols, layout.arity)
            and bool((arrays["balance_"] >= 0).all() and (arrays["balance_"] <= 1).all())
            and decoder.decoder_fits(arrays, layout.n_symbols * layout.arity)
        )
