"""Slow, obvious NumPy twins of what the native core computes."""

from __future__ import annotations

import re
from itertools import permutations, product

import numpy as np


def pack(symbols, arity):
    """Symbol s takes bits s·b … s·b+b-1 of its row, least significant first."""
    b = (arity - 1).bit_length()
    symbols = np.asarray(symbols)
    bits = (symbols[:, :, None] >> np.arange(b)) & 1
    return np.packbits(bits.reshape(len(symbols), symbols.shape[1] * b).astype(np.uint8), axis=1, bitorder="little")


def project(vectors, projections, bias, center):
    """Projections that are summed one dimension at a time, rounded to float32 after each."""
    x = vectors if center is None else (vectors - center).astype(np.float32)
    rows = len(projections)
    y = np.zeros((len(x), rows), np.float32) if bias is None else np.tile(np.float32(bias), (len(x), 1))
    for j in range(x.shape[1]):
        y = (x[:, j, None].astype(np.float64) * projections[:, j].astype(np.float64) + y).astype(np.float32)
    return y


def encode(vectors, projections, bias, center, n_symbols):
    """Winners of projections that are summed one dimension at a time, rounded to float32 after each."""
    y = project(vectors, projections, bias, center)
    if len(projections) == n_symbols:
        return (y > 0).astype(np.uint8)
    return y.reshape(len(y), n_symbols, -1).argmax(axis=2).astype(np.uint8)


def encode_windows(vectors, windows):
    """Winners among products of entries."""
    return vectors[:, windows].prod(axis=3, dtype=np.float32).argmax(axis=2).astype(np.uint8)


def hamming(queries, symbols):
    """How many symbols differ, (n_queries, n)."""
    return (queries[:, None, :] != symbols[None, :, :]).sum(axis=2).astype(np.float32)


def weighted(queries, symbols, weights):
    """The sum of the weights of the differing symbols."""
    weights = np.asarray(weights, np.float32).astype(np.float64)
    return ((queries[:, None, :] != symbols[None, :, :]) * weights).sum(axis=2).astype(np.float32)


def table_sums(tables, symbols):
    """The sum of the table entries of each code's symbols."""
    places = np.arange(symbols.shape[1])
    rows = [table.astype(np.float64)[places, symbols].sum(axis=1) for table in np.asarray(tables, np.float32)]
    return np.array(rows, dtype=np.float64).reshape(len(tables), len(symbols)).astype(np.float32)


def nearest(distances, ids, k):
    """Ids and distances (n_queries, k) in the order (distance, id), filled up with -1 and infinity."""
    found = np.full((len(distances), k), -1, np.int64), np.full((len(distances), k), np.inf, np.float32)
    for q, row in enumerate(distances):
        best = np.lexsort((ids, row))[:k]
        found[0][q, : len(best)] = ids[best]
        found[1][q, : len(best)] = row[best]
    return found


def within(distances, ids, radius):
    """Offsets, ids and distances of all pairs within the radius, in the order (distance, id)."""
    offsets, all_ids, all_distances = [0], [], []
    for row in distances:
        order = np.lexsort((ids, row))
        order = order[row[order] <= radius]
        all_ids.extend(ids[order])
        all_distances.extend(row[order])
        offsets.append(len(all_ids))
    return np.array(offsets), np.array(all_ids, np.int64), np.array(all_distances, np.float32)


# -- hashers ---------------------------------------------------------------------------------------------------------


def linear_scores(vectors, projections, bias, center, n_symbols, arity):
    """The competing values (n, n_symbols, arity) in float64; a single row stands for 0 against its value."""
    points = vectors.astype(np.float64) - (0 if center is None else center.astype(np.float64))
    scores = points @ projections.astype(np.float64).T + (0 if bias is None else bias)
    if len(projections) == n_symbols * arity:
        return scores.reshape(len(vectors), n_symbols, arity)
    return np.stack([np.zeros_like(scores), scores], axis=2)


def window_scores(vectors, windows):
    """The products (n, n_symbols, arity) of the entries that the windows name, in float64."""
    scores = np.empty((len(vectors), *windows.shape[:2]))
    for row, vector in enumerate(vectors.astype(np.float64)):
        for symbol, window in enumerate(windows):
            for place, dimensions in enumerate(window):
                scores[row, symbol, place] = np.prod(vector[dimensions])
    return scores


def slices(vectors, projections, bias, width, arity):
    """The number of the slice of each vector and direction, modulo the arity, and the distance to each number's slice.

    The distance is measured in widths, to the nearest of many slices on both sides.
    """
    symbols = np.empty((len(vectors), len(projections)), int)
    tables = np.empty((*symbols.shape, arity))
    for i, x in enumerate(vectors.astype(np.float64)):
        for j, (w, b) in enumerate(zip(projections.astype(np.float64), bias, strict=True)):
            position = (w @ x + b) / float(width)
            symbols[i, j] = np.floor(position) % arity
            for value in range(arity):
                near = [s for s in np.floor(position) + np.arange(-arity, arity + 1) if s % arity == value]
                tables[i, j, value] = min(max(s - position, position - s - 1, 0) for s in near)
    return symbols, tables


def winners(scores):
    """The first of the largest, and by how much it leads."""
    ordered = np.sort(scores, axis=2)
    return scores.argmax(axis=2), ordered[:, :, -1] - ordered[:, :, -2]


def bit_distances(a, b):
    """The number of differing bits of every row of ``a`` to every row of ``b``."""
    return np.unpackbits(a[:, None, :] ^ b[None, :, :], axis=2).sum(axis=2)


def order_agreement(x, y):
    """The share of ordered pairs of dimensions in which x and y have the same first maximum."""
    pairs = [(i, j) for i in range(len(x)) for j in range(len(x)) if i != j]
    return np.mean([(x[j] > x[i]) == (y[j] > y[i]) for i, j in pairs])


def average_precision(distances, relevant):
    """The area under the curve of precision over recall, one point per radius, by trapezoids."""
    area, last_recall, last_precision = 0.0, 0.0, None
    for radius in np.unique(distances):
        found = distances <= radius
        precision, recall = relevant[found].mean(), relevant[found].sum() / relevant.sum()
        area += (recall - last_recall) * (precision + (precision if last_precision is None else last_precision)) / 2
        last_recall, last_precision = recall, precision
    return area


# ---- Evaluation ------------------------------------------------------------------------------------------------------


def tie_orders(distances):
    """Every order of the items by ascending distance that the ties allow."""
    groups = [np.flatnonzero(distances == value) for value in np.unique(distances)]
    for parts in product(*(permutations(group) for group in groups)):
        yield [item for part in parts for item in part]


def over_orders(metric, distances, relevant):
    """The mean of a metric of one ranked list over all orders of the ties."""
    return np.mean([metric(np.asarray(relevant)[order]) for order in tie_orders(np.asarray(distances))])


def ranked_average_precision(relevant):
    """The mean of the precision at each relevant place of one ranked list."""
    places = np.flatnonzero(relevant)
    return np.mean([relevant[: place + 1].mean() for place in places])


def ranked_ndcg(gains, k):
    """Discounted gains of one ranked list over the best that the same gains could have."""
    best = sorted(gains, reverse=True)
    sums = [sum(gain / np.log2(i + 2) for i, gain in enumerate(row[:k])) for row in (list(gains), best)]
    return sums[0] / sums[1]


def ball_precision(distances, relevant, radius, empty):
    """The share of relevant items within a radius of one query."""
    inside = [bool(r) for d, r in zip(distances, relevant, strict=True) if d <= radius]
    return np.mean(inside) if inside else empty


def exact_neighbors(queries, database, k, metric):
    """Rows and distances of the k nearest, by a loop over all pairs."""
    ids, distances = [], []
    for q in queries.astype(np.float64):
        row = []
        for x in database.astype(np.float64):
            if metric == "euclidean":
                row.append(np.sqrt(((x - q) ** 2).sum()))
            elif metric == "cosine":
                row.append(1 - (x / np.linalg.norm(x) * (q / np.linalg.norm(q))).sum())
            else:
                row.append(-(x * q).sum())
        order = sorted(range(len(row)), key=lambda i: (row[i], i))[:k]
        ids.append(order)
        distances.append([row[i] for i in order])
    return np.array(ids), np.array(distances, np.float32)


# ---- Near-duplicates -------------------------------------------------------------------------------------------------


def near_pairs(distances, radius, same):
    """Positions and distances of all pairs within the radius, in the order (first, second)."""
    near = distances <= np.float32(radius)
    first, second = np.nonzero(np.triu(near, 1) if same else near)
    return first, second, distances[first, second]


def components(pairs):
    """The sets that the pairs connect, as sorted lists."""
    sets = []
    for pair in pairs:
        touched = [one for one in sets if one & set(pair)]
        sets = [one for one in sets if one not in touched] + [set(pair).union(*touched)]
    return sorted(sorted(one) for one in sets)


def complete_linkage(distances, radius):
    """Groups of two or more by complete linkage; of equal distances the groups with smaller members merge first."""
    groups = [[i] for i in range(len(distances))]
    while True:
        links = [
            (distances[np.ix_(a, b)].max(), a[0], b[0], i, j)
            for i, a in enumerate(groups)
            for j, b in enumerate(groups)
            if a[0] < b[0]
        ]
        best = min(links, default=None)
        if best is None or best[0] > radius:
            return sorted(group for group in groups if len(group) > 1)
        _, _, _, i, j = best
        merged = sorted(groups[i] + groups[j])
        groups = [group for place, group in enumerate(groups) if place not in (i, j)] + [merged]


def shingles(text, unit, size):
    """The set of all runs of characters or words of a text; a shorter text is one run."""
    text = " ".join(text.casefold().split())
    units = list(text) if unit == "character" else re.findall(r"\w+", text)
    runs = [tuple(units[i : i + size]) for i in range(len(units) - size + 1)]
    return set(runs or ([tuple(units)] if units else []))


def near_texts(texts, unit, size, threshold):
    """Jaccard similarities of at least the threshold by pair."""
    sets = [shingles(text, unit, size) for text in texts]
    found = {}
    for j, b in enumerate(sets):
        for i, a in enumerate(sets[:j]):
            if a and b and len(a & b) >= threshold * len(a | b):
                found[i, j] = len(a & b) / len(a | b)
    return found
