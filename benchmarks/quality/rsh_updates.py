"""The update rules of RSH and SRSH: average precision of metric neighbours among digits that were not learned from.

Learned from the first 1000 images of scikit-learn's digits, arity 4; judged on the other 797 among each other. Direct
loss, `TowardsBetter`, is no update of the library; its settings are the best of 19 by 8 symbols on these very images.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from time import process_time

import numpy as np
from sklearn.datasets import load_digits

from harness.results import Row
from harness.running import Run
from rankhash import RSH, SRSH, Hasher
from rankhash._types import F32
from rankhash.hashers._pairwise.rank_function import Trace
from rankhash.hashers.base import Arrays
from rankhash.hashers.training import PairPool

N_TRAIN, SEEDS, LENGTHS = 1000, range(3), (8, 32)


class TowardsBetter(RSH):
    """RSH by direct loss minimisation: a step from the winners towards the best symbols with their loss subtracted.

    All functions take their steps side by side. The rate falls, and the result is the mean of the second half.
    """

    def _learn_all(
        self, pool: PairPool, starts: list[F32], rng: np.random.RandomState, rate: float, n_pairs: int
    ) -> Arrays:
        seeds = rng.randint(0, 2**31 - 1, size=(len(starts), 2))
        drawn = [pool.draw(np.random.default_rng(seed), n_pairs, self.similar_share) for seed in seeds]
        pairs, labels = (np.stack(parts, axis=1) for parts in zip(*drawn, strict=True))
        equal = np.eye(self.arity)
        losses = np.stack([self.lam * equal, self.rho * (1 - equal)])
        weights, functions = np.array(starts, np.float64), np.arange(len(starts))
        total = np.zeros_like(weights)
        for t in range(n_pairs):
            ends = pool.x[pairs[t]].astype(np.float64)
            scores = np.einsum("lkd,led->lek", weights, ends)
            joint = scores[:, 0, :, None] + scores[:, 1, None, :] - losses[labels[t]]
            better = np.unravel_index(joint.reshape(len(starts), -1).argmax(axis=1), equal.shape)
            step = rate * (1 - t / n_pairs)
            for end in range(2):
                weights[functions, better[end]] += step * ends[:, end]
                weights[functions, scores[:, end].argmax(axis=1)] -= step * ends[:, end]
            total += weights * (t >= n_pairs // 2)
        learned = (total / (n_pairs - n_pairs // 2)).astype(np.float32)
        return self._results(pool, [*learned], [Trace([n_pairs], [0.0], [0.0], [0.0])] * len(learned))


METHODS: dict[str, Callable[[int, int], Hasher]] = {
    "RSH": lambda n, seed: RSH(n, random_state=seed, verbose=False),
    'RSH "paper", η .03': lambda n, seed: RSH(n, update="paper", learning_rate=0.03, random_state=seed, verbose=False),
    "RSH, direct loss": lambda n, seed: TowardsBetter(
        n, learning_rate=0.01, similar_share=0.5, init_scale=0.3, random_state=seed, verbose=False
    ),
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
