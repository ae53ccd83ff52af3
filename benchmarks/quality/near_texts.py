"""Near-copies among real film reviews with planted copies: MinHash codes and datasketch, and vectors through cells.

The true pairs are those whose exact Jaccard similarity reaches the threshold, among those that were planted, that a
search with longer codes and a lower threshold finds, and that the contender itself finds.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from harness.processes import in_new_process, resident_megabytes
from harness.results import Row
from harness.running import Run
from rankhash import VectorIndex, near_texts

FILE = "sentences100k_minilm384.npz"
THRESHOLD = 0.8
COSINE = 0.95
SHINGLE = 5
COPIES = 0.2
NOISE = 0.35  # of a vector's length; a cosine of 0.95 is one of 0.33
Found = set[tuple[int, int]]


def rows(run: Run) -> Iterator[Row]:
    """One row per method."""
    texts, n_vectors = (400, 2000) if run.quick else (None, 20_000)
    methods = ["rankhash", "datasketch, 128 permutations", "datasketch, 256 permutations"]
    keys = [{"task": f"texts, Jaccard ≥ {THRESHOLD}", "method": method} for method in methods]
    keys.append({"task": f"{n_vectors} vectors, cosine ≥ {COSINE}", "method": "VectorIndex.near_pairs"})
    for key in run.wanted(keys):
        if key["method"] == "VectorIndex.near_pairs":
            yield Row(key, in_new_process(vectors_row, str(run.data), n_vectors))
            continue
        path = str(run.data)
        values, found = in_new_process(texts_row, path, texts, key["method"])
        truth = true_pairs(path, texts)
        right = exact(found, path, texts)
        values |= {
            "n_items": len(load_texts(path, texts)[0]),
            "n_found": len(found),
            "precision": len(right) / max(1, len(found)),
            "recall": len(right) / len(truth | right),
        }
        if key["method"] == "rankhash":
            values["agree"] = right == found  # its pairs are confirmed, so that none may be wrong
        yield Row(key, values)


@lru_cache(maxsize=1)
def load_texts(folder: str, n: int | None) -> tuple[list[str], int]:
    """Reviews, then copies of some of them in which a few words were changed; and the number of reviews."""
    with np.load(f"{folder}/{FILE}") as file:
        sentences = file["text"].tobytes().decode("utf-8").splitlines()
        review = file["review"]
    starts = np.flatnonzero(np.r_[True, review[1:] != review[:-1]])
    reviews = [" ".join(sentences[a:b]) for a, b in zip(starts, [*starts[1:], len(sentences)], strict=True)][:n]
    rng = np.random.default_rng(0)
    copies = []
    for number in range(int(COPIES * len(reviews))):
        words = reviews[number].split()
        for place in rng.integers(0, len(words), max(1, len(words) // rng.integers(20, 80))):
            words[place] = words[int(rng.integers(0, len(words)))]
        copies.append(" ".join(words))
    return reviews + copies, len(reviews)


def texts_row(folder: str, n: int | None, method: str) -> tuple[dict[str, Any], Found]:
    """Seconds of CPU time, memory beyond the texts, and the pairs."""
    texts, _ = load_texts(folder, n)
    held, start = resident_megabytes(), time.process_time()
    found = _ours(texts) if method == "rankhash" else _datasketch(texts, int(method.split()[1]))
    seconds = time.process_time() - start
    return {"seconds": seconds, "megabytes": max(0.0, _peak() - held)}, found


def _peak() -> float:
    """The most memory of this program, in millions of bytes; getrusage would count that of the parent process, too."""
    (line,) = [line for line in Path("/proc/self/status").read_text("ascii").splitlines() if line.startswith("VmHWM")]
    return int(line.split()[1]) * 1024 / 1e6


def _ours(texts: list[str]) -> Found:
    pairs = near_texts(texts, THRESHOLD, size=SHINGLE, n_threads=1)
    return set(zip(pairs.first.tolist(), pairs.second.tolist(), strict=True))


def _datasketch(texts: list[str], n_permutations: int) -> Found:
    """MinHash and MinHashLSH as its documentation has them; candidates are not confirmed."""
    from datasketch import MinHash, MinHashLSH

    index = MinHashLSH(threshold=THRESHOLD, num_perm=n_permutations)
    found: Found = set()
    for number, text in enumerate(texts):
        sketch = MinHash(num_perm=n_permutations)
        sketch.update_batch([one.encode() for one in shingles(text)])
        found.update((int(other), number) for other in index.query(sketch))
        index.insert(str(number), sketch)
    return found


def shingles(text: str) -> set[str]:
    """The runs of characters of a text, as `near_texts` has them."""
    text = " ".join(text.casefold().split())
    return {text[i : i + SHINGLE] for i in range(max(1, len(text) - SHINGLE + 1))}


def exact(pairs: Found, folder: str, n: int | None) -> Found:
    """The pairs whose similarity reaches the threshold."""
    texts, _ = load_texts(folder, n)
    sets = {i: shingles(texts[i]) for pair in pairs for i in pair}
    return {(i, j) for i, j in pairs if len(sets[i] & sets[j]) >= THRESHOLD * len(sets[i] | sets[j])}


@lru_cache(maxsize=1)
def true_pairs(folder: str, n: int | None) -> Found:
    """Planted pairs, and what a search with much longer codes and a lower threshold finds."""
    texts, n_reviews = load_texts(folder, n)
    planted = {(i, n_reviews + i) for i in range(len(texts) - n_reviews)}
    wide = near_texts(texts, THRESHOLD - 0.1, size=SHINGLE, n_symbols=256, recall=0.999, random_state=1)
    return exact(planted | set(zip(wide.first.tolist(), wide.second.tolist(), strict=True)), folder, n)


def vectors_row(folder: str, n: int) -> dict[str, Any]:
    """Pairs of stored vectors found through cells, compared with all products."""
    with np.load(f"{folder}/{FILE}") as file:
        X = file["X"][:n].astype(np.float32) * file["scale"][:n, None]
    rng, n_copies = np.random.default_rng(0), int(COPIES * n)
    noise = rng.normal(size=(n_copies, X.shape[1])) * rng.uniform(0, NOISE, (n_copies, 1)) / np.sqrt(X.shape[1])
    X[-n_copies:] = X[:n_copies] + noise
    index = VectorIndex(verbose=False)
    index.add(X)
    held, start = resident_megabytes(), time.process_time()
    pairs = index.near_pairs(COSINE, n_threads=1)
    seconds, megabytes = time.process_time() - start, max(0.0, _peak() - held)
    found = set(zip(pairs.first.tolist(), pairs.second.tolist(), strict=True))
    start = time.process_time()
    truth = _all_products(X / np.linalg.norm(X, axis=1, keepdims=True))
    brute = time.process_time() - start
    right = len(found & truth)
    return {
        "seconds": seconds,
        "megabytes": megabytes,
        "n_items": n,
        "n_found": len(found),
        "precision": right / max(1, len(found)),
        "recall": right / max(1, len(truth)),
        "seconds_of_all_products": brute,
    }


def _all_products(X: Any, block: int = 1000) -> Found:
    found: Found = set()
    for start in range(0, len(X), block):
        first, second = np.nonzero(X[start : start + block] @ X[start:].T >= COSINE)
        found.update((start + i, start + j) for i, j in zip(first.tolist(), second.tolist(), strict=True) if i < j)
    return found
