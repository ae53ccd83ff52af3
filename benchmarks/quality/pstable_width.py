"""The width of PStableLSH's slices: average precision at 64 bits of metric neighbours, compared with LSH.

``digits``: 1000 images of scikit-learn. ``gaussian``: 1000 normal vectors of 40 dimensions whose standard deviations
fall from 2 to 0.2. A width of None is the default of the arity.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import numpy as np
from sklearn.datasets import load_digits

from harness.results import Facts, Row
from harness.running import Run
from rankhash import LSH, Hasher, PStableLSH
from rankhash._types import F32

BITS, N, SEEDS = 64, 1000, range(3)
ARITIES = (2, 4, 16)
WIDTHS = (0.5, 0.75, 1, 1.5, 2, 3)


def rows(run: Run) -> Iterator[Row]:
    """One row per set, seed, arity and width; a quick run has the default widths only."""
    methods: list[Facts] = [{"arity": arity, "width": None} for arity in ARITIES]
    methods += [] if run.quick else [{"arity": arity, "width": width} for arity in ARITIES for width in WIDTHS]
    methods = [{"method": "PStableLSH", **one} for one in methods] + [{"method": "LSH", "arity": 2, "width": None}]
    keys = ({"set": name, "seed": seed, **one} for name in ("digits", "gaussian") for seed in SEEDS for one in methods)
    for key in run.wanted(keys):
        X = vectors(key["set"])
        yield Row(key, {"ap": round(float(_hasher(key).fit(X).score(X)), 5)})


def _hasher(key: Facts) -> Hasher:
    if key["method"] == "LSH":
        return LSH(n_bits=BITS, center=True, random_state=key["seed"])
    return PStableLSH(n_bits=BITS, arity=key["arity"], width=key["width"], random_state=key["seed"])


@lru_cache(maxsize=2)
def vectors(name: str) -> F32:
    """The vectors of a set."""
    if name == "digits":
        digits: F32 = load_digits().data[:N].astype(np.float32)
        return digits
    return (np.random.default_rng(0).normal(size=(N, 40)) * np.linspace(2, 0.2, 40)).astype(np.float32)
