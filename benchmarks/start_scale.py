"""Which size of the random start suits RSH: average precision over ``init_scale``, sets and lengths.

The rule in ``rankhash/hashers/_start.py`` was fitted before, on other splits of these sets; this is a check of it, not
its origin. Pairs are neighbours by the paper's protocol, or classes of the vectors as they are. Raw results go to
``results/start_scale.json``; ``--show`` prints what the rule loses against the best scale of each line, and what it
gains over no training.
"""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from machine import provenance, refuse_private_names
from quality_rsh import distances
from rankhash import RSH
from rankhash._ranking import average_precision
from sets import FILES, add_data_option, class_split, load, paper_split

RESULTS = Path(__file__).parent / "results" / "start_scale.json"
SCALES = (0.3, 0.6, 0.9, 1.3, 1.8, 2.4, 3.2)
LENGTHS = (8, 32, 128)
PLACES = {"neighbours": (*FILES, "digits"), "classes": ("mnist", "cifar10-gist", "trivia-text", "wiki-image", "digits")}


def main() -> int:
    parser = ArgumentParser(description=__doc__)
    add_data_option(parser)
    parser.add_argument("--seed", type=int, default=200)
    parser.add_argument("--show", action="store_true", help="print the kept results")
    options = parser.parse_args()
    if options.show:
        print(summary(json.loads(RESULTS.read_text())["rows"]))
        return 0
    origin = provenance()
    places = [(name, truth) for truth, names in PLACES.items() for name in names]
    with threadpool_limits(1):
        rows = [row for name, truth in places for row in run(options.data, name, truth, options.seed)]
    text = json.dumps({"provenance": origin, "rows": rows}, indent=1)
    refuse_private_names(text)
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(text + "\n")
    print(summary(rows))
    return 0


def run(folder: Path, name: str, truth: str, seed: int) -> list[dict[str, Any]]:
    X, y = load(folder, name)
    n_train = min(1000, len(X) * 2 // 3)
    split = paper_split(X, seed, n_train, 700) if truth == "neighbours" else class_split(X, y, seed, n_train, 700)
    rows = []
    for n_symbols in LENGTHS:
        candidates = {str(scale): {"init_scale": scale} for scale in SCALES}
        candidates |= {"rule": {}, "untrained": {"learning_rate": 0.0}}
        scores = {}
        for label, parameters in candidates.items():
            hasher = RSH(n_symbols, random_state=seed, **parameters)
            hasher.fit(split.train, similarity=split.neighbors)
            codes = hasher.transform(split.queries), hasher.transform(split.train)
            scores[label] = average_precision(distances(*codes), split.relevant)
        rows.append({"set": name, "truth": truth, "seed": seed, "n_symbols": n_symbols, "scores": scores})
        print(name, truth, n_symbols, {label: round(score, 3) for label, score in scores.items()}, flush=True)
    return rows


def summary(rows: list[dict[str, Any]]) -> str:
    """What the rule loses and gains, for each kind of pairs."""
    kinds = {truth: [row for row in rows if row["truth"] == truth] for truth in PLACES}
    return "\n".join(f"{truth}\n{losses(kind)}" for truth, kind in kinds.items() if kind)


def losses(rows: list[dict[str, Any]]) -> str:
    lost = [max(row["scores"].values()) - row["scores"]["rule"] for row in rows]
    gained = [row["scores"]["rule"] - row["scores"]["untrained"] for row in rows]
    tried = [scale for scale in SCALES if all(str(scale) in row["scores"] for row in rows)]
    fixed = {scale: np.mean([row["scores"][str(scale)] for row in rows]) for scale in tried}
    lines = [f"rule: mean {np.mean([row['scores']['rule'] for row in rows]):.4f}"]
    lines += [f"scale {scale}: mean {mean:.4f}" for scale, mean in fixed.items()]
    lines.append(f"rule below the best of a line: mean {np.mean(lost):.4f}, most {max(lost):.4f}")
    lines.append(f"rule above no training: mean {np.mean(gained):.4f}, least {min(gained):.4f}")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
