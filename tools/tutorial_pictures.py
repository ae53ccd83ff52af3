"""The pictures of the tutorials, computed from the code of their pages; tools/pictures.py draws them."""

from __future__ import annotations

import contextlib
import io
import os
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import pyplot as plt
from numpy.typing import NDArray
from sklearn.datasets import load_digits
from sklearn.manifold import TSNE
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import normalize

from rankhash import Collection, CrossJRSH, FlatIndex, near_texts
from rankhash.evaluation import exact_neighbors, neighbor_recall

TUTORIALS = Path(__file__).parents[1] / "docs" / "tutorial"
BLUE, RED, GREY = "#0072b2", "#d55e00", "#999999"
"""Colours that colour-blind people can tell apart (Okabe and Ito)."""
QUESTIONS = ("catch an exception and clean up afterwards", "what happens when a class is created")


@contextlib.contextmanager
def code_of(tutorial: str, n_blocks: int) -> Iterator[dict[str, Any]]:
    """The names that the first blocks of Python code of a page define; its files are in a temporary folder."""
    names: dict[str, Any] = {}
    page = (TUTORIALS / f"{tutorial}.md").read_text(encoding="utf-8")
    before = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                for part in page.split("```python\n")[1 : n_blocks + 1]:
                    exec(part.split("```")[0], names)
            yield names
        finally:
            os.chdir(before)


def show_row(axes: Any, images: Sequence[tuple[Any, bool]], shape: tuple[int, int] = (8, 8)) -> None:
    """Draw images with whether they are right; wrong ones get a frame, None leaves a gap."""
    for axis, (image, right) in zip(axes, images, strict=True):
        axis.set(xticks=[], yticks=[])
        axis.spines[:].set(visible=not right, color=RED, linewidth=2)
        if image is not None:
            raw = "none" if min(shape) > 8 else None  # as they are, which takes less space; small ones would be blurred
            axis.imshow(image.reshape(shape), cmap="gray_r", interpolation=raw)


def split_digits() -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Digits to store and 300 queries, then the classes of both."""
    X, y = load_digits(return_X_y=True)
    base, queries, classes, wanted = train_test_split(X, y, test_size=300, random_state=0)
    return base, queries, classes, wanted


def labels() -> Any:
    """Photographs of clothes, and what codes of 4 bytes find first without and with labels; wrong ones in a frame."""
    with code_of("labels", 2) as page:
        base, queries, classes, wanted = (page[name] for name in ("base", "queries", "classes", "wanted"))
        found = [page["find"](page[name], 6) for name in ("plain", "labelled")]
    hard = np.flatnonzero((classes[found[0]] != wanted[:, None]).sum(axis=1) >= 3)[:4]
    figure, axes = plt.subplots(4, 14, figsize=(10, 3), width_ratios=[1, *[0.8] * 6, 0.3, *[0.8] * 6])
    for row, query in zip(axes, hard, strict=True):
        shown = [(queries[query], True), *((base[i], classes[i] == wanted[query]) for i in found[0][query])]
        shown += [(None, True), *((base[i], classes[i] == wanted[query]) for i in found[1][query])]
        show_row(row, shown, (28, 28))
    for place, title in ((0, "query"), (3, "without labels"), (10, "with labels")):
        axes[0, place].set_title(title)
    return figure


def views() -> Any:
    """Upper halves of handwritten digits, and the lower halves that their codes find first; wrong ones in a frame."""
    base, queries, classes, wanted = split_digits()
    hasher = CrossJRSH(n_bits=32, random_state=0).fit({"upper": base[:, :32], "lower": base[:, 32:]}, classes)
    index = FlatIndex(hasher.layout_)
    index.add(hasher.encode(base[:, 32:], view="lower"))
    found = index.search(hasher.encode(queries[:4, :32], view="upper"), k=10).ids
    figure, axes = plt.subplots(4, 11, figsize=(9, 2.4))
    for row, query in zip(axes, range(4), strict=True):
        shown = [(queries[query, :32], True)]
        shown += [(base[i, 32:], classes[i] == wanted[query]) for i in found[query]]
        show_row(row, shown, (4, 8))
    axes[0, 0].set_title("query")
    axes[0, 5].set_title("lower halves, nearest codes first")
    return figure


def copies() -> Any:
    """How similar the docstrings of NumPy are, of the pairs that share half of their runs of five characters."""
    with code_of("duplicates", 1) as page:
        texts = page["texts"]
    similarity = 1 - near_texts(texts.values(), threshold=0.5).distances
    figure, axis = plt.subplots(figsize=(7, 2.4))
    bins = np.linspace(0.5, 1, 26)
    for part, colour in ((similarity < 0.8, GREY), (similarity >= 0.8, BLUE)):
        axis.hist(similarity[part], bins, color=colour, rwidth=0.9)
    axis.axvline(0.8, color="#000000", linestyle="--", linewidth=1)
    axis.set(xlabel="Jaccard similarity of two docstrings; the threshold is 0.8", ylabel="pairs", yscale="log")
    return figure


def images() -> Any:
    """First queries of six digits in the tutorial, and the ten images with the nearest codes; wrong ones in a frame."""
    with code_of("images", 2) as page:
        base, queries, shown, wanted, found = (page[name] for name in ("base", "queries", "shown", "wanted", "found"))
    figure, axes = plt.subplots(6, 11, figsize=(8, 4.4), width_ratios=[1.3, *[1] * 10])
    for row, query in zip(axes, np.sort(np.unique(wanted, return_index=True)[1])[:6], strict=True):
        right = shown[found[query]] == wanted[query]
        show_row(row, [(queries[query], True), *zip(base[found[query]], right, strict=True)])
    axes[0, 0].set_title("query")
    axes[0, 5].set_title("digits with the nearest codes of 8 bytes, nearest first")
    return figure


def first() -> Any:
    """A query of the tutorial, and the nearest without and with its filter, with what the table says of them."""
    figure, axes = plt.subplots(2, 7, figsize=(10, 3.6))
    with code_of("first", 2) as page, page["items"] as items:
        for row, where in zip(axes, (None, "price < 50 and sold >= 2024-06-01"), strict=True):
            ids = items.search(page["vectors"][7], k=7, where=where).ids[0]
            show_row(row, [(items[name].vector, True) for name in ids])
            for axis, name in zip(row, ids, strict=True):
                fields = items[name].metadata
                axis.set_xlabel(f"{name}\nprice {fields['price']}\n{fields['sold']}", fontsize=8)
            row[0].set_title(where or "without a filter", loc="left")
    figure.tight_layout()
    return figure


def neighbors() -> Any:
    """How near the found lines are compared with others, and the recall found over the recall asked for."""
    with code_of("neighbors", 2) as page:
        index, stored, queries = page["index"], page["stored"], page["queries"]
    truth = index.search(queries, k=10, exact=True)
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.4))
    others = np.random.default_rng(0).choice(stored, 1000, replace=False)
    away = 1 - normalize(queries) @ normalize(others).T
    for distances, colour, label in ((away, GREY, "other lines"), (truth.distances, BLUE, "the ten nearest")):
        weights = np.full(distances.size, 1 / distances.size)
        left.hist(distances.ravel(), np.linspace(0, 1.2, 61), weights=weights, color=colour, alpha=0.7, label=label)
    left.set(xlabel="cosine distance from a query", ylabel="share of lines")
    left.legend(frameon=False)
    asked = (0.7, 0.8, 0.9, 0.95, 0.98, 0.99)
    found = [neighbor_recall(index.search(queries, k=10, recall=share).ids, truth.ids).mean() for share in asked]
    right.plot([0.65, 1], [0.65, 1], color=GREY, linestyle="--", linewidth=1, label="as much as asked for")
    right.plot(asked, found, "o-", color=BLUE, label="200 lines that were held out")
    right.set(xlabel="recall asked for", ylabel="recall found", xlim=(0.65, 1.01), ylim=(0.65, 1.01))
    right.legend(frameon=False, loc="lower right")
    return figure


def text() -> Any:
    """A map of the manual with questions and their answers, and the recall over the number of re-ranked candidates."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), width_ratios=[1.4, 1])
    with code_of("text", 2) as page, page["manual"] as manual:
        draw_map(left, page["encoder"].transform(QUESTIONS), page["vectors"], manual)
        queries = page["vectors"][::10]
        truth = exact_neighbors(queries, page["vectors"], 10).ids
        candidates = (10, 15, 20, 30, 50, 100)
        ids = [manual.search(queries, 10, rerank=n).ids.astype(np.int64) for n in candidates]
    right.plot(candidates, [neighbor_recall(each, truth).mean() for each in ids], "o-", color=BLUE)
    right.set(xlabel="candidates re-ranked", title="share of the ten nearest that is found", ylim=(0.65, 1.01))
    right.grid(alpha=0.3)
    return figure


def draw_map(axis: Any, asked: NDArray[Any], vectors: NDArray[Any], manual: Collection) -> None:
    """Draw the stored paragraphs in two dimensions, with the questions and the ten answers to each."""
    places = TSNE(random_state=0, metric="cosine").fit_transform(np.vstack([vectors, asked]))
    axis.scatter(*places[: len(vectors)].T, s=5, c=GREY, alpha=0.6, linewidths=0, rasterized=True)
    found = manual.search(asked, 10).ids.astype(np.int64)
    for question, ids, place, colour in zip(QUESTIONS, found, places[len(vectors) :], (BLUE, RED), strict=True):
        axis.scatter(*places[ids].T, s=22, c=colour, linewidths=0)
        axis.scatter(*place, s=130, marker="*", c=colour, edgecolors="#000000", linewidths=0.7, label=question)
    axis.set(title="paragraphs, two questions (stars) and their ten answers", xticks=[], yticks=[])
    axis.spines[:].set_visible(False)
    axis.legend(frameon=False, loc="upper center", bbox_to_anchor=(0.5, 0), fontsize=8)
