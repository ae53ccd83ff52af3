"""How the defaults of RSH and SRSH compare with other values: cross-validation by `rankhash.tune` on training vectors.

Around a base one parameter at a time is varied, and a few together, on several sets, truths and lengths; then the
arity at equally many bits. No other benchmark draws its rows with this seed.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from harness.results import Facts, Row
from harness.running import Run
from harness.sets import load
from rankhash import RSH, SRSH, tune
from rankhash.evaluation import Protocol, split

SEED, N_POINTS = 77, 1600
LENGTHS = (8, 32)
PLACES = {
    "paper": ("mnist", "cifar10-gist", "trivia-text", "glove", "sift", "digits"),
    "raw": ("mnist", "cifar10-gist", "glove", "digits"),
    "classes": ("mnist", "trivia-text", "digits"),
}
"""Vectors by the paper's protocol, with the neighbours before PCA; vectors as they are, with their neighbours; vectors
as they are, with classes."""

METHODS: dict[str, tuple[Any, Facts, list[Facts]]] = {
    "RSH": (
        RSH(random_state=0),
        {"arity": 4, "rho": 0.7, "learning_rate": 0.075, "similar_share": 0.1, "max_pairs": 40_000},
        [
            {"arity": 2},
            {"arity": 8},
            {"rho": 0.35},
            {"rho": 1.4},
            {"learning_rate": 0.04},
            {"learning_rate": 0.15},
            {"similar_share": 0.05},
            {"similar_share": 0.2},
            {"max_pairs": 20_000},
            {"max_pairs": 80_000},
            {"rho": 1.4, "similar_share": 0.2},
            {"rho": 1.4, "learning_rate": 0.15},
        ],
    ),
    "SRSH": (
        SRSH(random_state=0),
        {
            "arity": 4,
            "rho": 1.0,
            "learning_rate": 0.06,
            "init_scale": 0.3,
            "similar_share": 0.6,
            "boost": 0.7,
            "max_pairs": 40_000,
        },
        [
            {"arity": 2},
            {"arity": 8},
            {"rho": 0.5},
            {"rho": 2.0},
            {"learning_rate": 0.03},
            {"learning_rate": 0.12},
            {"init_scale": 0.1},
            {"init_scale": 0.6},
            {"similar_share": 0.45},
            {"similar_share": 0.75},
            {"boost": 0.5},
            {"boost": 1.0},
            {"max_pairs": 20_000},
            {"max_pairs": 80_000},
        ],
    ),
}
EQUAL_BITS = [{"arity": 2, "n_symbols": 48}, {"arity": 4, "n_symbols": 24}, {"arity": 8, "n_symbols": 16}]
EQUAL_BITS.append({"arity": 16, "n_symbols": 12})


def rows(run: Run) -> Iterator[Row]:
    """One row per method, truth and set; a quick run has the digits and two trials only."""
    keys = (
        {"method": method, "truth": truth, "set": name}
        for method in METHODS
        for truth, names in PLACES.items()
        for name in (("digits",) if run.quick else names)
    )
    for key in run.wanted(keys):
        yield Row(key, {"trials": trials(run.data, key["set"], key["truth"], key["method"], quick=run.quick)})


def trials(folder: Path, name: str, truth: str, method: str, *, quick: bool) -> list[Facts]:
    """Parameters, scores of the folds and seconds of every candidate."""
    vectors, known = _training(folder, name, truth)
    hasher, base, changes = METHODS[method]
    candidates = [base | {"n_symbols": n} | change for n in LENGTHS for change in ({}, *changes)]
    candidates += [base | sizes for sizes in EQUAL_BITS]
    grid = [{key: [value] for key, value in candidate.items()} for candidate in candidates[: 2 if quick else None]]
    tuning = tune(hasher, vectors, grid=grid, cv=2, random_state=SEED, **known)
    return [{"parameters": t.parameters, "scores": t.scores, "seconds": t.seconds} for t in tuning.trials]


def _training(folder: Path, name: str, truth: str) -> tuple[Any, Facts]:
    """Vectors, and what the fit is told of them."""
    data = load(folder, name)
    if truth == "paper":
        folds = 2  # a fold learns from half of the vectors: 50 of 100 neighbours are among them
        chosen = split(data, Protocol(N_POINTS, 1, n_neighbors=folds * 50), SEED)
        return chosen.train, {"similarity": chosen.similarity}
    rows = np.random.default_rng(SEED).permutation(len(data.vectors))[:N_POINTS]
    labels = data.labels if truth == "classes" else None
    return data.vectors[rows].astype(np.float32), {} if labels is None else {"y": labels[rows]}
