"""Slow, obvious NumPy twins of learning: from pairs, and of decoders."""

from __future__ import annotations

import numpy as np

# ---- Learning from pairs ---------------------------------------------------------------------------------------------


def assignment(a, b, similar, rho, lam, hinge):
    """Rows that should win, largest rivals, and their difference, by a scan of all arity² assignments."""
    scores = a[:, None] + b[None, :]
    equal = np.eye(len(a), dtype=bool)
    error = np.where(equal, 0 if similar else lam, rho if similar else 0)
    rival = np.unravel_index(np.argmax(scores + error), scores.shape)
    winner = (a.argmax(), b.argmax())
    if hinge:
        right = np.where(equal == similar, scores, -np.inf)
        winner = np.unravel_index(np.argmax(right), scores.shape)
    return winner, rival, (scores + error)[rival] - scores[winner]


def train_pairs(x, pairs, labels, weights, hinge, rho, lam, rate, rate_step, average_from):
    """The weights after all pairs, and their mean after each pair from ``average_from`` on; the sum of bounds."""
    w, history, total = weights.astype(np.float64), [], 0.0
    for t, ((i, j), label) in enumerate(zip(pairs, labels, strict=True)):
        winner, rival, bound = assignment(w @ x[i], w @ x[j], bool(label), rho, lam, hinge)
        total += bound
        for member, point in enumerate((i, j)):
            w[winner[member]] += (rate + t * rate_step) * x[point]
            w[rival[member]] -= (rate + t * rate_step) * x[point]
        if t >= average_from:
            history.append(w.copy())
    return w, np.mean(history, axis=0) if history else w, total


def paper_error(h_i, h_j, s, rho, lam):
    """The paper's error e(h_i, h_j, s_ij)."""
    return rho * (h_i != h_j) if s == 1 else lam * (1 - (h_i != h_j))


def paper_step(w, x_i, x_j, s, rho, lam, rate):
    """One update of the paper's W: the largest entry of the K × K matrix m is the rival, the codes are the winners."""
    y_i, y_j = w @ x_i, w @ x_j
    m = [[y_i[k] + y_j[n] + (lam * (1 - s) if k == n else rho * s) for n in range(len(w))] for k in range(len(w))]
    k, n = np.unravel_index(np.argmax(m), np.shape(m))
    one = np.eye(len(w))
    step = np.outer(one[y_i.argmax()] - one[k], x_i) + np.outer(one[y_j.argmax()] - one[n], x_j)
    return w + rate * step


def algorithm_1(x, pairs, labels, picked, starts, rho, lam, rate):
    """The paper's Algorithm 1: the projections of each function, from its start and the pairs it picks."""
    learned = []
    for w, picks in zip(starts, picked, strict=True):
        w = w.astype(np.float64)
        for t in picks:
            w = paper_step(w, x[pairs[t][0]], x[pairs[t][1]], int(labels[t]), rho, lam, rate)
        learned.append(w)
    return learned


def algorithm_2(x, pairs, labels, picked, starts, rho, lam, rate, on_step=True):
    """The paper's Algorithm 2: the projections, the errors and the α before each function; α scales the step or not."""
    alpha = np.ones(len(pairs))
    learned, errors, alphas = [], [], []
    for w, picks in zip(starts, picked, strict=True):
        w = w.astype(np.float64)
        alphas.append(alpha)
        for t in picks:
            eta = rate * alpha[t] if on_step else rate
            w = paper_step(w, x[pairs[t][0]], x[pairs[t][1]], int(labels[t]), rho, lam, eta)
        h = [(w @ point).argmax() for point in x]
        e = np.array([paper_error(h[i], h[j], s, rho, lam) for (i, j), s in zip(pairs, labels, strict=True)])
        epsilon = (alpha * e).sum() / alpha.sum()
        theta = np.log((1 - epsilon) / epsilon)
        grown = alpha * np.exp(theta * e)
        alpha = grown * alpha.sum() / grown.sum()
        learned.append(w)
        errors.append(epsilon)
    return learned, errors, [*alphas, alpha]


def pair_histograms(agreement, labels, top, n_bins, n_kinds=2):
    """Histograms of the agreement of pairs i < j, one per label; a pair is shared by the bins around it."""
    histograms = np.zeros((n_kinds, n_bins))
    for i in range(len(agreement)):
        for j in range(i + 1, len(agreement)):
            if labels[i, j] < n_kinds:
                place = min(max(float(agreement[i, j]) * (n_bins - 1) / top, 0.0), n_bins - 1.0)
                below = min(int(place), n_bins - 2)
                histograms[labels[i, j], below] += 1 - (place - below)
                histograms[labels[i, j], below + 1] += place - below
    return histograms


def pair_slopes(agreement, labels, top, tables):
    """The entry of a pair's table for the bin below its agreement; 0 for pairs that are left out."""
    n_kinds, n_bins = tables.shape
    slopes = np.zeros(agreement.shape, np.float32)
    for pair, label in np.ndenumerate(labels):
        if label < n_kinds:
            place = np.float32(agreement[pair]) * (np.float32(n_bins - 1) / np.float32(top))
            slopes[pair] = tables[label, min(int(max(place, 0)), n_bins - 2)]
    return slopes


def worst_assignment(a, b, losses):
    """Loss-adjusted inference of minimal loss hashing by sorting; losses (t, q + 1) may be any."""
    both, apart = a + b, a - b
    gains = np.abs(apart) - np.abs(both)
    order = np.argsort(-gains, axis=1)
    totals = losses.copy()
    totals[:, 1:] += np.cumsum(np.take_along_axis(gains, order, axis=1), axis=1)
    differ = np.empty(gains.shape, bool)
    np.put_along_axis(differ, order, np.arange(gains.shape[1]) < totals.argmax(axis=1)[:, None], axis=1)
    first = np.where(differ, apart, both) > 0
    return first, first ^ differ


# ---- Decoders --------------------------------------------------------------------------------------------------------


def decoded(symbols, rows):
    """Σ over the symbols of the row that each of them chooses."""
    n_symbols = symbols.shape[1]
    blocks = rows.reshape(n_symbols, len(rows) // n_symbols, -1)
    return np.array([sum(blocks[place, symbol] for place, symbol in enumerate(code)) for code in symbols])


def refine_loss(x, symbols, rows, crossing, penalty):
    """|x - Σ c|² + penalty · (the products of all pairs of chosen rows, less what is taken for them)², less |x|²."""
    sums = decoded(symbols, rows)
    products = (sums**2).sum(axis=1) - decoded(symbols, (rows**2).sum(axis=1, keepdims=True))[:, 0]
    wrong = products - decoded(symbols, crossing[:, None])[:, 0]
    return ((x - sums) ** 2).sum(axis=1) + penalty * wrong**2


def refine_once(x, symbols, rows, crossing, penalty, n_sweeps):
    """One symbol after another takes the value of the smallest loss, if that is smaller than what it has."""
    symbols, arity = symbols.copy(), len(rows) // symbols.shape[1]
    for _ in range(n_sweeps):
        for i, code in enumerate(symbols):
            for place in range(len(code)):
                trials = np.repeat(code[None], arity, axis=0)
                trials[:, place] = np.arange(arity)
                losses = refine_loss(x[i], trials, rows, crossing, penalty)
                if losses.min() < losses[code[place]] - 1e-9:
                    code[place] = losses.argmin()
    return symbols
