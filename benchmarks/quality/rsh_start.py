"""Which size of the random start suits RSH: average precision over ``init_scale``, sets and lengths.

The rule in ``rankhash/hashers`` was fitted before, on other splits of these sets; this benchmark checks the rule, it is
not its origin. Similar are neighbours by the paper's protocol, or vectors of one class.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

from harness.results import Facts, Row
from harness.running import Run
from harness.sets import FILES, class_split, load, paper_split
from rankhash import RSH
from rankhash.evaluation import Split, count_codes

SEED = 200
SCALES = (0.3, 0.6, 0.9, 1.3, 1.8, 2.4, 3.2)
LENGTHS = (8, 32, 128)
CANDIDATES: dict[str, dict[str, Any]] = {
    **{str(scale): {"init_scale": scale} for scale in SCALES},
    "rule": {},
    "untrained": {"learning_rate": 0.0},
}
PLACES = {"neighbours": (*FILES, "digits"), "classes": ("mnist", "cifar10-gist", "trivia-text", "wiki-image", "digits")}


def rows(run: Run) -> Iterator[Row]:
    """One row per set, truth and number of symbols; a quick run has the digits only."""
    keys = (
        {"set": name, "truth": truth, "seed": SEED, "n_symbols": n_symbols}
        for truth, names in PLACES.items()
        for name in (("digits",) if run.quick else names)
        for n_symbols in (LENGTHS[:1] if run.quick else LENGTHS)
    )
    for key in run.wanted(keys):
        yield Row(key, scores(_split(run.data, key["set"], key["truth"]), key["n_symbols"]))


def scores(data: Split, n_symbols: int) -> Facts:
    """The average precision of every scale, of the rule, and without training."""
    found = {}
    for label, parameters in CANDIDATES.items():
        hasher = RSH(n_symbols, random_state=SEED, **parameters).fit(data.train, data.y, similarity=data.similarity)
        counts = count_codes(hasher.encode(data.queries), hasher.encode(data.train), hasher.layout_, data.truth)
        found[label] = counts.average_precision()
    return {"scores": found}


@lru_cache(maxsize=1)
def _split(folder: Path, name: str, truth: str) -> Split:
    data = load(folder, name)
    sizes = min(1000, len(data.vectors) * 2 // 3), 500 if name == "digits" else 700
    return (paper_split if truth == "neighbours" else class_split)(data, SEED, *sizes)
