"""Codes across views on the Wikipedia set of pictures and texts: mean average precision in both directions.

The 2173 items of the training half are learned from, with their classes; the 693 items of the test half are queries.
The database is the training items, as in the figures published for this set, or (``unseen``) the test items themselves:
none of their codes was learned from. Pictures are 128 SIFT words; texts are 10 topics (LDA) or 1000 tf-idf weights.
Items of one of ten classes are relevant. The numbers are mAP over the whole database and of the first 50, ties
averaged, with Hamming distance for every method.

Constants of CrossJRSH were chosen on splits of the training half alone, 1673 items learned from and 500 held out.

Three sets whose vectors are cut in two halves confirm them: MNIST (upper and lower rows), Gist descriptors of CIFAR-10
and embeddings of trivia questions, with 2000 random items to learn from and 500 others as queries.

"CrossJRSH paired" learns from paired rows alone. CCA-ITQ and CMFH always do. They are judged by the other row of the
same item among the queries.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from time import process_time

import numpy as np

from harness.results import Facts, Row
from harness.running import Run
from harness.sets import load
from rankhash._types import Array
from rankhash.evaluation.cross_modal import evaluate_views, partner_directions
from rankhash.evaluation.view_runs import VIEW_METHODS
from rankhash.hashers import ViewHasher

TEXTS = ("lda", "tfidf")
BITS = (16, 32, 64)
SEEDS = range(5)
METHODS = tuple(VIEW_METHODS)
PAIRED = ("CrossJRSH paired", "CCAITQ", "CMFH")
"""Methods that learn from paired rows alone, judged by the recall of the partner."""
K = 50
HALVES = ("mnist", "cifar10-gist", "trivia-text")
"""Sets of one view, cut in two halves."""
HALF_SEEDS = SEEDS[:2]
N_TRAIN, N_TEST = 2000, 500

Part = tuple[Array, Array, Array]


def rows(run: Run) -> Iterator[Row]:
    """One row per text, method, length and seed; a quick run has made-up views."""
    bits, seeds = ((16,), SEEDS[:1]) if run.quick else (BITS, SEEDS)
    keys = [
        {"text": text, "bits": b, "method": method, "seed": seed}
        for text in reversed(TEXTS)
        for seed in seeds
        for b in bits
        for method in (*METHODS, "CrossJRSH paired")
    ]
    keys += [
        {"text": name, "bits": b, "method": method, "seed": seed}
        for name in HALVES[: 0 if run.quick else None]
        for seed in HALF_SEEDS
        for b in bits
        for method in (*METHODS, "CrossJRSH paired")
    ]
    for key in run.wanted(keys):
        if run.quick:
            train, test = _made_up()
        elif key["text"] in TEXTS:
            train, test = _wiki(run.data, key["text"])
        else:
            train, test = _halves(run.data, key["text"], key["seed"])
        yield Row(key, measure(key, train, test))


def measure(key: Facts, train: Part, test: Part) -> Facts:
    """The quality of one method's codes."""
    hasher, paired = method_of(key), key["method"] in PAIRED
    began = process_time()
    hasher.fit({"image": train[0], "text": train[1]}, None if paired else train[2])
    values: Facts = {"seconds": round(process_time() - began, 2)}
    databases = {} if key["method"] == "CrossJRSH paired" else {"": train, "unseen_": test}
    for name, database in databases.items():
        for one in evaluate_views(hasher, test[:2], test[2], database[:2], database[2]):
            direction = f"{one.source}_{one.target}"
            values[f"{name}map_{direction}"] = round(one.mean_average_precision(), 5)
            values[f"{name}map50_{direction}"] = round(one.mean_average_precision(K), 5)
    if paired:
        for one in partner_directions(hasher, test[:2]):
            for k in (1, 10):
                values[f"partner{k}_{one.source}_{one.target}"] = round(one.recall_at(k), 5)
    return values


def method_of(key: Facts) -> ViewHasher:
    """The hasher of a row."""
    return VIEW_METHODS[key["method"].removesuffix(" paired")](n_bits=key["bits"], random_state=key["seed"])


@lru_cache(maxsize=2)
def _wiki(folder: Path, text: str) -> tuple[Part, Part]:
    with np.load(folder / "wiki_crossmodal.npz") as arrays:
        name = {"lda": "txt", "tfidf": "tfidf"}[text]
        train, test = (
            (arrays[f"img_{part}"], arrays[f"{name}_{part}"], arrays[f"y_{part}"]) for part in ("train", "test")
        )
    return train, test


@lru_cache(maxsize=1)
def _halves(folder: Path, name: str, seed: int) -> tuple[Part, Part]:
    data = load(folder, name)
    assert data.labels is not None
    chosen = np.random.default_rng(seed).permutation(len(data.labels))[: N_TRAIN + N_TEST]
    vectors, labels = data.vectors[chosen].astype(np.float32), data.labels[chosen]
    views = vectors[:, : vectors.shape[1] // 2], vectors[:, vectors.shape[1] // 2 :]
    train, test = ((views[0][part], views[1][part], labels[part]) for part in (slice(N_TRAIN), slice(N_TRAIN, None)))
    return train, test


def _made_up() -> tuple[Part, Part]:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 4, 300)
    image, text = (rng.normal(size=(4, d))[y] + rng.normal(size=(300, d)) for d in (12, 8))
    return (image[:200], text[:200], y[:200]), (image[200:], text[200:], y[200:])
