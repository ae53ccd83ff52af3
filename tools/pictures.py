"""Draw the pictures of the documentation: ``python tools/pictures.py [NAME…]``; needs matplotlib (the extra ``docs``).

``quality`` is drawn from the raw results of ``rankhash reproduce``; the others are computed from fixed seeds, those
of the tutorials by the code of their pages. The pictures are committed, so that the docs build without any of it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import tutorial_pictures
from matplotlib import pyplot as plt
from matplotlib.colors import ListedColormap
from numpy.typing import NDArray
from scipy.spatial import Voronoi, voronoi_plot_2d
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits, make_blobs

from rankhash import JRSH, LSH, RSH, SRSH, Hasher

ROOT = Path(__file__).parents[1]
IMAGES = ROOT / "docs" / "images"
BITS = (8, 16, 32, 64)
METHODS = {
    "JRSH": ("#000000", "o"),
    "ITQ": ("#0072b2", "s"),
    "MLH": ("#009e73", "^"),
    "SRSH": ("#d55e00", "v"),
    "RSH": ("#e69f00", "D"),
    "SpectralHashing": ("#cc79a7", "P"),
    "LSH": ("#56b4e9", "X"),
    "WTA": ("#999999", "*"),
}
"""What the picture of quality compares, with a colour and a mark."""
COLOURS = ["#0072b2", "#e69f00", "#009e73", "#cc79a7"]
"""Colours that colour-blind people can tell apart (Okabe and Ito)."""

F64 = NDArray[np.float64]


def main() -> int:
    """Draw all pictures."""
    style: dict[Any, Any] = {"axes.spines.top": False, "axes.spines.right": False}
    mpl.rcParams.update(style | {"svg.hashsalt": "rankhash", "font.size": 9})
    IMAGES.mkdir(exist_ok=True)
    wanted = sys.argv[1:] or list(PICTURES)
    for name in wanted:
        figure = PICTURES[name]()
        figure.savefig(IMAGES / f"{name}.svg", metadata={"Date": None}, bbox_inches="tight")
        plt.close(figure)
        print(f"docs/images/{name}.svg")
    return 0


def regions() -> Any:
    """Where each of three projections wins: random ones and learned ones, beside two random lines."""
    X, classes = make_blobs(300, centers=[(-3, -1), (0, 2.5), (3, -1)], cluster_std=0.9, random_state=2)
    panels: dict[str, Hasher] = {
        "2 random lines: 2 bits": LSH(2, random_state=3).fit(X),
        "3 random projections: 1 symbol": RSH(1, 3, learning_rate=0.0, random_state=6).fit(X, classes),
        "3 learned projections: 1 symbol": RSH(1, 3, random_state=6).fit(X, classes),
    }
    figure, axes = plt.subplots(1, 3, figsize=(10, 3.2), sharex=True, sharey=True)
    x, y = np.meshgrid(np.linspace(-6, 6, 300), np.linspace(-5, 5, 250))
    grid = np.column_stack([x.ravel(), y.ravel()]).astype(np.float32)
    for axis, (title, hasher) in zip(axes, panels.items(), strict=True):
        value = _value(hasher, grid).reshape(x.shape)
        axis.contourf(x, y, value, levels=np.arange(-0.5, 4), cmap=ListedColormap(COLOURS), alpha=0.35)
        for label, marker in enumerate("os^"):
            axis.scatter(*X[classes == label].T, s=7, marker=marker, c="#333333", linewidths=0)
        axis.set(title=title, xticks=[], yticks=[])
    return figure


def _value(hasher: Hasher, points: NDArray[np.float32]) -> NDArray[np.int64]:
    """The code of a point as one number from 0 to 3."""
    symbols = hasher.transform(points).astype(np.int64)
    return symbols @ (hasher.layout_.arity ** np.arange(symbols.shape[1]))


def cells() -> Any:
    """Which cells a search scans: one query in the middle of a cell, and one between cells."""
    X, _ = make_blobs(700, centers=14, cluster_std=1.1, random_state=5)
    centroids = KMeans(24, n_init=1, random_state=0).fit(X).cluster_centers_
    x, y = np.meshgrid(np.linspace(-13, 13, 300), np.linspace(-13, 13, 300))
    owner = _distances(np.column_stack([x.ravel(), y.ravel()]), centroids).argmin(axis=1).reshape(x.shape)
    apart = np.sort(_distances(X, centroids), axis=1)
    clear = apart[:, 3] / apart[:, 0]  # how much farther away the fourth centroid is
    figure, axes = plt.subplots(1, 2, figsize=(9, 4.4), sharex=True, sharey=True)
    for axis, row, title in zip(
        axes, (clear.argmax(), clear.argmin()), ("in the middle of a cell", "between cells"), strict=True
    ):
        query = X[row]
        far = _distances(query[None], centroids)[0]
        order = far.argsort()
        scanned = order[(np.arange(len(order)) + 1) * (far[order] / far[order[0]]) ** 4 <= 16]
        axis.contourf(x, y, np.isin(owner, scanned), levels=[0.5, 1.5], colors=[COLOURS[0]], alpha=0.25)
        voronoi_plot_2d(
            Voronoi(centroids), axis, show_points=False, show_vertices=False, line_colors="#999999", line_width=0.5
        )
        near = _distances(query[None], X)[0].argsort()[1:11]
        axis.scatter(*X.T, s=3, c="#999999", linewidths=0)
        axis.scatter(*X[near].T, s=12, c=COLOURS[2], label="ten nearest")
        axis.scatter(*centroids.T, s=18, marker="+", c="#333333", linewidths=0.8, label="centroids")
        axis.scatter(*query, s=60, marker="*", c="#d55e00", label="query")
        axis.set(
            title=f"a query {title}: {len(scanned)} of 24 cells", xticks=[], yticks=[], xlim=(-13, 13), ylim=(-13, 13)
        )
    axes[0].legend(loc="lower left", fontsize=8)
    return figure


def _distances(points: F64, others: F64) -> F64:
    distances: F64 = np.linalg.norm(points[:, None] - others, axis=2)
    return distances


def boosting() -> Any:
    """In how many symbols pairs of one digit and of two digits differ, with and without boosting."""
    X, y = load_digits(return_X_y=True)
    hashers = {
        "RSH: each function by itself": RSH(24, 4, random_state=0).fit(X, y),
        "SRSH: each after the others": SRSH(24, 4, random_state=0).fit(X, y),
    }
    rng = np.random.default_rng(0)
    first, second = rng.integers(0, len(X), (2, 40_000))
    same = (y[first] == y[second]) & (first != second)
    figure, axes = plt.subplots(1, 2, figsize=(9, 3.2), sharex=True, sharey=True)
    for axis, (title, hasher) in zip(axes, hashers.items(), strict=True):
        symbols = hasher.transform(X)
        apart = (symbols[first] != symbols[second]).sum(axis=1)
        for chosen, colour, label in ((same, COLOURS[0], "same digit"), (~same, COLOURS[1], "other digit")):
            share = np.bincount(apart[chosen], minlength=25) / chosen.sum()
            axis.bar(np.arange(25), share, color=colour, alpha=0.65, label=label)
        axis.set(title=title, xlabel="differing symbols of 24")
    axes[0].set_ylabel("share of pairs")
    axes[0].legend(frameon=False)
    return figure


def hardening() -> Any:
    """How JRSH's soft symbols become hard while the average precision of the hard codes rises."""
    X, _ = load_digits(return_X_y=True)
    history = JRSH(32, random_state=0).fit(X).history_
    steps = history["step"]
    figure, axes = plt.subplots(1, 3, figsize=(10, 2.8))
    panels = {
        "average_precision": "average precision of hard codes",
        "sharpness": "sharpness of soft symbols",
        "balance": "values of a symbol in use",
    }
    for axis, (key, title), colour in zip(axes, panels.items(), COLOURS, strict=False):
        axis.plot(steps, history[key], color=colour, linewidth=2)
        axis.set(title=title, xlabel="step")
    axes[1].set_ylim(bottom=0)
    return figure


def quality() -> Any:
    """Average precision at equal bits by the paper's protocol: mean and standard deviation over the runs."""
    sys.path.insert(0, str(ROOT / "benchmarks"))
    from drawing.markdown import SETS
    from drawing.reproduced import Runs

    figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), sharey=True)
    for axis, (name, title) in zip(axes, SETS.items(), strict=True):
        for method, (colour, marker) in METHODS.items():
            kept = Runs(ROOT / "benchmarks" / "results" / "reproduce").of(name, method)
            found = {bits: [run["ap"] for run in kept if run["bits"] == bits] for bits in BITS}
            shown = [bits for bits in BITS if found[bits]]
            means, spread = ([f(found[bits]) for bits in shown] for f in (np.mean, np.std))
            axis.errorbar(shown, means, spread, color=colour, marker=marker, markersize=4, label=method)
        axis.set_xscale("log", base=2)
        axis.set_xticks(BITS, [str(bits) for bits in BITS])
        axis.set(title=title, xlabel="bits")
        axis.grid(alpha=0.3)
    axes[0].set_ylabel("average precision")
    axes[1].legend(frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
    return figure


PICTURES: dict[str, Callable[[], Any]] = {
    "regions": regions,
    "cells": cells,
    "boosting": boosting,
    "hardening": hardening,
    "quality": quality,
    "first": tutorial_pictures.first,
    "text": tutorial_pictures.text,
    "neighbors": tutorial_pictures.neighbors,
    "images": tutorial_pictures.images,
    "labels": tutorial_pictures.labels,
    "views": tutorial_pictures.views,
    "copies": tutorial_pictures.copies,
}

if __name__ == "__main__":
    sys.exit(main())
