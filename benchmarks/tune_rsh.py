"""How the defaults of RSH and SRSH do beside their neighbours: cross-validation by ``rankhash.tune``.

Around the defaults one parameter at a time is varied, on every set and several lengths. The results are kept
in ``results/tune_rsh.json``; ``--show`` prints what they say.
"""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.decomposition import PCA
from threadpoolctl import threadpool_limits

from machine import provenance, refuse_private_names
from rankhash import RSH, SRSH, tune
from sets import FILES, add_data_option, load

RESULTS = Path(__file__).parent / "results" / "tune_rsh.json"
N_POINTS, N_DIMENSIONS = 1200, 40
LENGTHS = (8, 32)
CLASSES = ("mnist", "trivia-text")
GRIDS: dict[str, tuple[Any, list[dict[str, list[Any]]]]] = {
    "RSH": (
        RSH(random_state=0),
        [
            {"arity": [2, 4, 8]},
            {"rho": [0.35, 1.4]},
            {"learning_rate": [0.04, 0.15]},
            {"similar_share": [0.025, 0.1]},
            {"max_pairs": [20_000]},
        ],
    ),
    "SRSH hinge": (
        SRSH(random_state=0),
        [
            {"arity": [2, 4, 8]},
            {"rho": [0.5, 2.0]},
            {"learning_rate": [0.03, 0.12]},
            {"init_scale": [0.1, 0.6]},
            {"similar_share": [0.4, 0.75]},
            {"max_pairs": [20_000]},
        ],
    ),
}


def main() -> int:
    parser = ArgumentParser(description=__doc__)
    add_data_option(parser)
    parser.add_argument("--show", action="store_true", help="print what the kept results say")
    options = parser.parse_args()
    if options.show:
        print(summary(json.loads(RESULTS.read_text())["trials"]))
        return 0
    with threadpool_limits(1):
        trials = [trial for name in FILES for trial in run(options.data, name)]
    text = json.dumps({"provenance": provenance(), "trials": trials}, indent=1)
    refuse_private_names(text)
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(text + "\n")
    print(summary(trials))
    return 0


def run(folder: Path, name: str) -> list[dict[str, Any]]:
    X, y = load(folder, name)
    rows = np.random.default_rng(1).permutation(len(X))[:N_POINTS]
    vectors = X[rows].astype(np.float32)
    if vectors.shape[1] > N_DIMENSIONS:
        vectors = PCA(N_DIMENSIONS, svd_solver="full").fit_transform(vectors).astype(np.float32)
    truths = {"neighbours": None} | ({"classes": y[rows]} if y is not None and name in CLASSES else {})
    trials = []
    for truth, labels in truths.items():
        for method, (hasher, grids) in GRIDS.items():
            for n_symbols in LENGTHS:
                tuning = tune(hasher.set_params(n_symbols=n_symbols), vectors, labels, grid=grids, cv=2)
                where = {"set": name, "truth": truth, "method": method, "n_symbols": n_symbols}
                trials += [
                    where | {"parameters": t.parameters, "scores": t.scores, "seconds": t.seconds}
                    for t in tuning.trials
                ]
                print(*where.values(), tuning.best.parameters, round(tuning.best.mean, 4), flush=True)
    return trials


def summary(trials: list[dict[str, Any]]) -> str:
    """The mean gain over the default (arity 4) of every other value, over all sets and lengths."""
    default = {}
    for trial in trials:
        if trial["parameters"] == {"arity": 4}:
            default[place(trial)] = np.mean(trial["scores"])
    gains = defaultdict(list)
    for trial in trials:
        ((name, value),) = trial["parameters"].items()
        gains[trial["method"], trial["truth"], name, value].append(np.mean(trial["scores"]) - default[place(trial)])
    lines = [f"{'method':12}{'truth':12}{'parameter':>16}{'value':>8}{'mean gain':>11}{'worst':>9}{'best':>9}"]
    for (method, truth, name, value), values in sorted(gains.items(), key=str):
        lines.append(
            f"{method:12}{truth:12}{name:>16}{value!s:>8}{np.mean(values):11.4f}{min(values):9.4f}{max(values):9.4f}"
        )
    return "\n".join(lines)


def place(trial: dict[str, Any]) -> tuple[Any, ...]:
    return trial["set"], trial["truth"], trial["method"], trial["n_symbols"]


if __name__ == "__main__":
    sys.exit(main())
