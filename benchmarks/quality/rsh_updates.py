"""The update rules of RSH and SRSH: average precision of metric neighbours among digits that were not learned from.

Learned from the first 1000 images of scikit-learn's digits, arity 4; judged on the other 797 among each other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from time import process_time

from sklearn.datasets import load_digits

from harness.results import Row
from harness.running import Run
from rankhash import RSH, SRSH, Hasher

N_TRAIN, SEEDS, LENGTHS = 1000, range(3), (8, 32)
METHODS: dict[str, Callable[[int, int], Hasher]] = {
    "RSH": lambda n, seed: RSH(n, random_state=seed, verbose=False),
    'RSH "paper", η .03': lambda n, seed: RSH(n, update="paper", learning_rate=0.03, random_state=seed, verbose=False),
    "SRSH": lambda n, seed: SRSH(n, random_state=seed, verbose=False),
    'SRSH "bound"': lambda n, seed: SRSH(n, update="bound", random_state=seed, verbose=False),
    'SRSH "paper"': lambda n, seed: SRSH(n, update="paper", random_state=seed, verbose=False),
    'SRSH "paper-sampling"': lambda n, seed: SRSH(n, update="paper-sampling", random_state=seed, verbose=False),
}


def rows(run: Run) -> Iterator[Row]:
    """One row per length, seed and method; a quick run has RSH with 4 symbols only."""
    lengths, seeds, methods = ((4,), SEEDS[:1], ["RSH"]) if run.quick else (LENGTHS, SEEDS, [*METHODS])
    keys = ({"n_symbols": n, "seed": seed, "method": name} for seed in seeds for n in lengths for name in methods)
    X = load_digits().data
    for key in run.wanted(keys):
        start = process_time()
        hasher = METHODS[key["method"]](key["n_symbols"], key["seed"]).fit(X[:N_TRAIN])
        seconds = process_time() - start
        yield Row(key, {"ap": round(float(hasher.score(X[N_TRAIN:])), 5), "cpu_seconds": round(seconds, 2)})
