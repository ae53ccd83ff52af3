"""Learns codes of the 1797 handwritten digits of scikit-learn, searches them, and says how good the answers are."""

from __future__ import annotations

import time

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from rankhash import LSH, RSH, SRSH, WTA, FlatIndex, Hasher, cpu_info

K = 10


def main() -> None:
    """Print one line for each hasher, then one query with its neighbours."""
    pixels, labels = load_digits(return_X_y=True)
    pixels = pixels.astype(np.float32)
    base, queries, base_labels, query_labels = train_test_split(pixels, labels, test_size=297, random_state=0)
    truth = nearest(base, queries)

    print(f"{len(base)} digits of 64 pixels, {len(queries)} queries, {K} neighbours; kernels: {cpu_info().isa}\n")
    print(f"{'hasher':42} {'bytes':>5} {'same digit':>10} {'true neighbours':>15} {'µs a query':>10}")
    found = None
    for hasher, learns_labels in hashers():
        found = report(hasher, base, queries, base_labels, query_labels, truth, learns_labels)

    print("\nOne query and what was found:\n")
    print(side_by_side([queries[0], *base[found[0, :5]]]))


def hashers() -> list[tuple[Hasher, bool]]:
    """What is compared, at 64 bits a digit, and whether it learns from the labels or from the pixels alone."""
    return [
        (WTA(n_symbols=32, arity=4, random_state=0), False),
        (LSH(n_symbols=64, center=True, random_state=0), False),
        (RSH(n_symbols=32, arity=4, random_state=0), False),
        (SRSH(n_symbols=32, arity=4, random_state=0), False),
        (SRSH(n_symbols=32, arity=4, random_state=0), True),
    ]


def report(hasher, base, queries, base_labels, query_labels, truth, learns_labels):
    """Fit, index, search, print one line; the ids that were found."""
    hasher.fit(base, base_labels if learns_labels else None)
    index = FlatIndex(hasher.layout_)
    index.add(hasher.encode(base))
    codes = hasher.encode(queries)
    start = time.perf_counter()
    found = index.search(codes, k=K)
    micros = (time.perf_counter() - start) / len(queries) * 1e6
    same = (base_labels[found.ids] == query_labels[:, None]).mean()
    recall = np.mean([len(np.intersect1d(a, b)) / K for a, b in zip(found.ids, truth, strict=True)])
    layout = hasher.layout_
    source = ", from labels" if learns_labels else ""
    name = f"{type(hasher).__name__}, {layout.n_symbols} symbols of arity {layout.arity}{source}"
    print(f"{name:42} {layout.n_bytes:5} {same:10.1%} {recall:15.1%} {micros:10.1f}")
    return found.ids


def nearest(base, queries):
    """The true neighbours by Euclidean distance."""
    distances = (base**2).sum(axis=1) - 2 * queries @ base.T
    return np.argsort(distances, axis=1, kind="stable")[:, :K]


def side_by_side(images) -> str:
    """Digits of 8 × 8 pixels as text."""
    shades = " .:oO@"
    rows = []
    for y in range(8):
        parts = ["".join(2 * shades[int(v * 5 // 16)] for v in image.reshape(8, 8)[y]) for image in images]
        rows.append("  │ ".join(parts))
    return "\n".join(rows)


if __name__ == "__main__":
    main()
