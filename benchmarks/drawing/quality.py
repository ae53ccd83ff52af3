"""Tables of the benchmarks of ``quality/``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from statistics import mean

from drawing.markdown import SETS, heading, line, spread, with_origin
from harness.results import Facts, Results

LENGTHS = (8, 16, 32, 64)
METHODS = {
    "LSH": "LSH",
    "WTA": "WTA",
    "RSH untrained": "RSH, not trained",
    "RSH": "RSH",
    "SRSH bound": 'SRSH, `update="bound"`',
    "SRSH hinge": "SRSH",
}
ORDER = ("WTA", "RSH", "SRSH")
CLASS_BITS = (16, 32, 64)
LABELLED = SETS | {
    "cifar10-gist, all labels": "CIFAR-10 Gist, all 59 000 labels",
    "mnist, unseen database": "MNIST, database of unseen images",
}
VECTORS = {
    "trivia": "trivia, text, 10k × 1536",
    "glove": "GloVe, words, 100k × 50",
    "sift": "SIFT, patches, 93k × 128",
    "sentences": "MiniLM sentences, 100k × 384",
}
FEW = SETS | {"trivia-text": "trivia", "fashion_mnist": "Fashion-MNIST"}
EMBEDDINGS = {
    "sentences": "all-MiniLM-L6-v2, 100k sentences × 384",
    "trivia-text": "trivia, 10k texts × 1536",
}
MANY = {
    ("mnist", 1): "MNIST",
    ("cifar10-gist", 1): "CIFAR-10 Gist",
    ("glove", 1): "GloVe",
    ("sift", 1): "SIFT",
    ("sift", 0): "SIFT, other photographs",
    ("trivia-text", 1): "trivia",
}
"""Sets and the seeds of their splits."""
VIEW_TEXTS = {"tfidf": "texts by tf-idf", "lda": "texts by LDA"}
VIEW_HALVES = {"mnist": "MNIST", "cifar10-gist": "CIFAR-10 Gist", "trivia-text": "trivia"}
MANY_METRICS = ("pairs", "queries", "recall", "ball")
DEFAULT_METHODS, DEFAULT_METRICS = ("ITQ", "JRSH"), ("recall", "pairs", "queries")
DEFAULT_SETS = FEW | {"glove": "GloVe", "sentences": "MiniLM sentences", "sift": "SIFT"}


def rsh_paper(results: Results) -> str:
    """Average precision by the paper's protocol, mean ± standard deviation over the splits."""
    return _of_rsh(results, "ap", "n_symbols", LENGTHS)


def rsh_bits(results: Results) -> str:
    """The same at equal bits."""
    return _of_rsh(results, "ap", "bits", (8, 16, 32, 64, 128))


def rsh_balls(results: Results) -> str:
    """Precision within 2 differing symbols, empty balls counting 0."""
    return _of_rsh(results, "precision_2", "n_symbols", LENGTHS)


def permutations(results: Results) -> str:
    """Average precision of full orders of pivots by the footrule, mean ± standard deviation over the splits."""
    pivots = sorted({row["n_pivots"] for row in results.rows})
    bits = {row["n_pivots"]: row["bits"] for row in results.rows}
    lines = heading("pivots (bits)", (f"{n} ({bits[n]:.0f})" for n in pivots))
    for name, title in SETS.items():
        cells = (spread([row["ap"] for row in results.having(set=name, n_pivots=n)]) for n in pivots)
        lines.append(line(title, cells))
    return with_origin(lines, results.rows)


def _of_rsh(results: Results, value: str, axis: str, lengths: tuple[int, ...]) -> str:
    lines: list[str] = []
    for name, title in SETS.items():
        lines += heading(title, lengths)
        for method, label in METHODS.items():
            cells = [results.having(set=name, method=method, **{axis: length}) for length in lengths]
            lines.append(line(label, (spread([row[value] for row in cell]) for cell in cells)))
        lines.append("")
    splits = len(results.having(set="mnist", method="WTA", n_symbols=8))
    return with_origin(lines[:-1], results, f"{splits} splits")


def rsh_sets(results: Results) -> str:
    """WTA, RSH and SRSH on more sets; bold where they are not in this order."""
    lines = ["| set | truth | " + " | ".join(map(str, LENGTHS)) + " |", "|---" * (2 + len(LENGTHS)) + "|"]
    for name, truth in dict.fromkeys((row["set"], row["truth"]) for row in results):
        cells = []
        for n_symbols in LENGTHS:
            chosen = results.having(set=name, truth=truth, n_symbols=n_symbols)
            means = [mean(row["scores"][method] for row in chosen) for method in ORDER]
            shown = " ".join(f"{value:.3f}" for value in means)
            cells.append(shown if means == sorted(means) else f"**{shown}**")
        lines.append(line(f"{name} | {truth}", cells))
    return with_origin(lines, results, f"{len(results.values_of('seed'))} splits")


def rsh_start(results: Results) -> str:
    """Mean average precision of every size of the start, of the rule, and without training."""
    candidates = [*results.rows[0]["scores"]]
    lines = heading("similar are", [*candidates, "most that the rule loses", "least that it gains"])
    for truth in results.values_of("truth"):
        scores = [row["scores"] for row in results.having(truth=truth)]
        cells = [f"{mean(one[name] for one in scores if name in one):.4f}" for name in candidates]
        cells.append(f"{max(max(one.values()) - one['rule'] for one in scores):.4f}")
        cells.append(f"{min(one['rule'] - one['untrained'] for one in scores):.4f}")
        lines.append(line(truth, cells))
    return with_origin(lines, results)


def rsh_defaults(results: Results) -> str:
    """The mean, smallest and largest gain of every change of a default, over sets and lengths."""
    lines = heading("method, truth, change", ["mean gain", "worst", "best"])
    for method in results.values_of("method"):
        for truth in (*results.values_of("truth"), None):
            rows = [row for row in results.having(method=method) if truth in (row["truth"], None)]
            for change, gains in _gains([row["trials"] for row in rows]).items():
                label = f"{method}, {truth or 'all'}, {change}"
                lines.append(line(label, (f"{value:+.4f}" for value in (mean(gains), min(gains), max(gains)))))
    return with_origin(lines, results)


def _gains(places: list[list[Facts]]) -> dict[str, list[float]]:
    """What each change of parameters gains over the base, which is the first trial of its length."""
    gains: dict[str, list[float]] = {}
    for trials in places:
        bases: dict[int, Facts] = {}
        for trial in trials:
            base = bases.setdefault(trial["parameters"]["n_symbols"], trial)
            change = {k: v for k, v in trial["parameters"].items() if base["parameters"].get(k) != v}
            if change:
                name = ", ".join(f"{key}={value}" for key, value in change.items())
                gains.setdefault(name, []).append(mean(trial["scores"]) - mean(base["scores"]))
    return gains


def classes(results: Results) -> str:
    """Mean average precision of classes."""
    lines: list[str] = []
    for name, title in LABELLED.items():
        lines += ["", *heading(f"{title}, bits", CLASS_BITS)]
        for method in sorted(results.values_of("method"), key=str.lower):
            cells = [results.having(set=name, method=method, bits=bits) for bits in CLASS_BITS]
            if any(cells):
                lines.append(line(method, (spread([row["map"] for row in cell]) for cell in cells)))
    return with_origin(lines[1:], results, "one thread")


def few_labels(results: Results) -> str:
    """Mean average precision of classes with 1000 labels: mean over the splits, and their standard deviation."""
    lines: list[str] = []
    for place, title in (("learned", "1000 labelled vectors are the database"), ("unseen", "the database is unseen")):
        lines += ["", *heading(f"{title}, bits", (f"{m}, {bits}" for bits in CLASS_BITS for m in ("JRSH", "SDH")))]
        for name in results.values_of("set"):
            cells = []
            for bits in CLASS_BITS:
                for method in ("JRSH", "SDH"):
                    found = results.having(set=name, method=method, bits=bits)
                    cells.append(spread([row[place] for row in found]))
            lines.append(line(FEW.get(name, name), cells))
    return with_origin(lines[1:], results, "one thread")


def recall(results: Results) -> str:
    """How many of the ten nearest vectors are found, by bytes of a code."""
    wanted = [(n_bytes, depth) for n_bytes in sorted(results.values_of("bytes")) for depth in (10, 100)]
    lines: list[str] = []
    for name in results.values_of("set"):
        columns = (f"{n_bytes} bytes, of {depth}" for n_bytes, depth in wanted)
        lines += ["", *heading(VECTORS.get(name, name), columns)]
        for method in results.values_of("method"):
            found = {row["bytes"]: row for row in results.having(set=name, method=method)}
            cells = [f"{found[b][f'recall_{depth}']:.3f}" if b in found else "–" for b, depth in wanted]
            lines.append(line(method, cells))
    return with_origin(lines[1:], results)


def sentences(results: Results) -> str:
    """How many of the ten most similar embeddings sign bits and codes find, alone and with re-ranking."""
    columns = {"recall_codes": "alone", "recall_4": "best 40 re-ranked", "recall_10": "best 100 re-ranked"}
    lines: list[str] = []
    for name in results.values_of("set"):
        found = results.having(set=name)
        full = max(row["bytes_per_embedding"] for row in found if row["method"] == "sign bits")
        lines += ["", *heading(EMBEDDINGS.get(name, name), ("bytes", "of sign bits", *columns.values()))]
        for row in sorted(found, key=lambda row: -row["bytes_per_embedding"]):
            size = row["bytes_per_embedding"]
            label = "`quantize`" if row["method"] == "quantize" else row["method"]
            lines.append(line(label, (f"{size:g}", f"{size / full:.2f}", *(f"{row[name]:.3f}" for name in columns))))
    return with_origin(lines[1:], results)


def many(results: Results) -> str:
    """The quality of codes that are learned from many vectors, by set, length and method."""
    lines: list[str] = []
    for bits in sorted(results.values_of("bits")):
        lines += ["", *heading(f"{bits} bits", MANY.values())]
        for method in results.values_of("method"):
            cells = []
            for name, seed in MANY:
                found = results.having(set=name, seed=seed, bits=bits, method=method)
                values = [f"{row[metric]:.3f}"[1:] for row in found for metric in MANY_METRICS]
                cells.append(" / ".join(values) or "–")
            lines.append(line(method, cells))
    return with_origin(lines[1:], results)


def defaults(results: Results) -> str:
    """JRSH and ITQ of as many bytes, by number of vectors and set: recall / pooled / mean average precision."""
    lines: list[str] = []
    for n in sorted(results.values_of("n")):
        sizes = sorted({row["bytes"] for row in results.having(n=n)})
        columns = [f"{method}, {n_bytes} bytes" for n_bytes in sizes for method in DEFAULT_METHODS]
        lines += ["", *heading(f"{n:,} vectors", columns)]
        for name in results.values_of("set"):
            cells = [
                " / ".join(f"{row[metric]:.3f}".removeprefix("0") for row in found for metric in DEFAULT_METRICS) or "–"
                for n_bytes in sizes
                for method in DEFAULT_METHODS
                for found in [results.having(n=n, set=name, bytes=n_bytes, method=method)]
            ]
            if {*cells} != {"–"}:
                lines.append(line(DEFAULT_SETS.get(name, name), cells))
    return with_origin(lines[1:], results)


def cross_modal(results: Results) -> str:
    """Mean average precision across views, image → text / text → image."""
    return _across(results, ("map_image_text", "map_text_image"))


def cross_modal_unseen(results: Results) -> str:
    """The same where no item of the database was learned from."""
    return _across(results, ("unseen_map_image_text", "unseen_map_text_image"))


def cross_modal_halves(results: Results) -> str:
    """The same for halves of vectors, first → second / second → first."""
    return _across(results, ("unseen_map_image_text", "unseen_map_text_image"), sets=VIEW_HALVES)


def cross_modal_half_partners(results: Results) -> str:
    """Recall of the other half among the first ten."""
    return _across(results, ("partner10_image_text", "partner10_text_image"), sets=VIEW_HALVES)


def cross_modal_partners(results: Results) -> str:
    """Recall of the partner among the first and the first ten."""
    first = _across(results, ("partner1_image_text", "partner1_text_image"), "recall at 1")
    return first + "\n" + _across(results, ("partner10_image_text", "partner10_text_image"), "recall at 10")


def _across(results: Results, names: tuple[str, str], title: str = "", sets: Mapping[str, str] = VIEW_TEXTS) -> str:
    lines: list[str] = []
    for text in sets:
        rows = [row for row in results.having(text=text) if names[0] in row.values]
        lengths = sorted({row["bits"] for row in rows})
        if rows:
            lines += ["", *heading(f"{sets[text]}, bits" + (f", {title}" if title else ""), lengths)]
        for method in dict.fromkeys(row["method"] for row in rows):
            cells = []
            for bits in lengths:
                found = [row for row in rows if row.matches(method=method, bits=bits)]
                means = [f"{mean(row[name] for row in found):.3f}".removeprefix("0") for name in names if found]
                cells.append(f"{' / '.join(means)} ({len(found)})" if found else "–")
            lines.append(line(method.removesuffix(" paired"), cells))
    return with_origin(lines[1:], results, "in brackets the number of seeds")


TABLES: dict[str, tuple[str, Callable[[Results], str]]] = {
    "rsh_paper": ("rsh_paper", rsh_paper),
    "rsh_bits": ("rsh_paper", rsh_bits),
    "rsh_balls": ("rsh_paper", rsh_balls),
    "permutations": ("permutations", permutations),
    "rsh_sets": ("rsh_sets", rsh_sets),
    "rsh_start": ("rsh_start", rsh_start),
    "rsh_defaults": ("rsh_defaults", rsh_defaults),
    "classes": ("classes", classes),
    "few_labels": ("few_labels", few_labels),
    "recall": ("recall", recall),
    "sentences": ("sentences", sentences),
    "many": ("many", many),
    "defaults": ("defaults", defaults),
    "cross_modal": ("cross_modal", cross_modal),
    "cross_modal_unseen": ("cross_modal", cross_modal_unseen),
    "cross_modal_halves": ("cross_modal", cross_modal_halves),
    "cross_modal_half_partners": ("cross_modal", cross_modal_half_partners),
    "cross_modal_partners": ("cross_modal", cross_modal_partners),
}
