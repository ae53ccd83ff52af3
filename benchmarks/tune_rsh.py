"""How the defaults of RSH and SRSH were chosen: cross-validation by ``rankhash.tune``, on training vectors only.

Around a base one parameter at a time is varied, and a few together, on several sets, truths and lengths; then the
arity at equally many bits. No other script draws its rows with this seed. The trials are kept in
``results/tune_rsh.json``; ``--show`` prints what they say.
"""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.decomposition import PCA
from threadpoolctl import threadpool_limits

from machine import provenance, refuse_private_names
from rankhash import RSH, SRSH, tune
from sets import add_data_option, given_neighbors, load, normalized

RESULTS = Path(__file__).parent / "results" / "tune_rsh.json"
SEED, N_POINTS, N_DIMENSIONS = 77, 1600, 40
LENGTHS = (8, 32)
PLACES = {
    "paper": ("mnist", "cifar10-gist", "trivia-text", "glove", "sift", "digits"),
    "raw": ("mnist", "cifar10-gist", "glove", "digits"),
    "classes": ("mnist", "trivia-text", "digits"),
}
"""Vectors of one length, reduced to 40 dimensions, with their original neighbours; vectors as they are, with theirs;
vectors as they are, with classes."""

Trial = dict[str, Any]
METHODS: dict[str, tuple[Any, Trial, list[Trial]]] = {
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


def main() -> int:
    parser = ArgumentParser(description=__doc__)
    add_data_option(parser)
    parser.add_argument("--method", choices=METHODS, help="run one of the methods, keep the trials of the other")
    parser.add_argument("--truth", choices=PLACES, help="run one kind of truth, keep the trials of the others")
    parser.add_argument("--set", help="run one set, keep the trials of the others")
    parser.add_argument("--show", action="store_true", help="print what the kept results say")
    options = parser.parse_args()
    kept = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    if options.show:
        print(summary(kept))
        return 0
    for method in [options.method] if options.method else METHODS:
        for truth in [options.truth] if options.truth else PLACES:
            for name in PLACES[truth] if options.set is None else [options.set]:
                kept[f"{method} {truth} {name}"] = {"provenance": provenance()} | run(options.data, name, truth, method)
    text = json.dumps(kept, indent=1)
    refuse_private_names(text)
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(text + "\n")
    print(summary(kept))
    return 0


def run(folder: Path, name: str, truth: str, method: str) -> dict[str, Any]:
    X, y = load(folder, name)
    rows = np.random.default_rng(SEED).permutation(len(X))[:N_POINTS]
    vectors, known = X[rows].astype(np.float64), {}
    if truth == "paper":
        vectors = normalized(vectors)
        known = {"similarity": given_neighbors(vectors, 2 * 50)}  # 50 among the half that a fold learns from
        if vectors.shape[1] > N_DIMENSIONS:
            vectors = PCA(N_DIMENSIONS, svd_solver="full").fit_transform(vectors)
    if truth == "classes":
        known = {"y": y[rows]}
    hasher, base, changes = METHODS[method]
    candidates = [base | {"n_symbols": n} | change for n in LENGTHS for change in ({}, *changes)]
    candidates += [base | sizes for sizes in EQUAL_BITS]
    grid = [{key: [value] for key, value in candidate.items()} for candidate in candidates]
    with threadpool_limits(1):
        tuning = tune(hasher, vectors.astype(np.float32), grid=grid, cv=2, random_state=SEED, **known)
    print(method, name, truth, tuning.best.parameters, round(tuning.best.mean, 4), flush=True)
    trials = [{"parameters": t.parameters, "scores": t.scores, "seconds": t.seconds} for t in tuning.trials]
    return {"method": method, "set": name, "truth": truth, "trials": trials}


def summary(kept: dict[str, Any]) -> str:
    """The mean gain over the base of every change, over sets and lengths, and the arity at equally many bits."""
    lines = [f"{'method':6}{'truth':9}{'mean gain':>10}{'worst':>9}{'best':>9}  change"]
    for method, (_, base, changes) in METHODS.items():
        for truth in (*PLACES, "all"):
            places = [scores(k) for k in kept.values() if k["method"] == method and truth in (k["truth"], "all")]
            if not places:
                continue
            for change in changes:
                gains = [
                    place[key(base | {"n_symbols": n} | change)] - place[key(base | {"n_symbols": n})]
                    for place in places
                    for n in LENGTHS
                ]
                label = ", ".join(f"{name}={value}" for name, value in change.items())
                lines.append(f"{method:6}{truth:9}{np.mean(gains):10.4f}{min(gains):9.4f}{max(gains):9.4f}  {label}")
            for sizes in EQUAL_BITS:
                mean = np.mean([place[key(base | sizes)] for place in places])
                lines.append(f"{method:6}{truth:9}{mean:10.4f} with 48 bits: {sizes}")
    return "\n".join(lines)


def scores(place: dict[str, Any]) -> dict[Any, float]:
    return {key(t["parameters"]): float(np.mean(t["scores"])) for t in place["trials"]}


def key(parameters: Trial) -> tuple[Any, ...]:
    return tuple(sorted(parameters.items()))


if __name__ == "__main__":
    sys.exit(main())
