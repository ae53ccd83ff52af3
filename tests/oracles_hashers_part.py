"""Slow, obvious NumPy twins of what the hashers and the code layout compute."""

import numpy as np


def pack_bits(symbols, arity):
    """Packed codes, one bit at a time: bit b of symbol s of width w is bit s·w + b of the row."""
    width = (arity - 1).bit_length()
    n, n_symbols = symbols.shape
    codes = np.zeros((n, -(-n_symbols * width // 8)), np.uint8)
    for row in range(n):
        for place in range(n_symbols * width):
            bit = (int(symbols[row, place // width]) >> (place % width)) & 1
            codes[row, place // 8] |= bit << (place % 8)
    return codes


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


def winners(scores):
    """The first of the largest, and by how much it leads."""
    ordered = np.sort(scores, axis=2)
    return scores.argmax(axis=2), ordered[:, :, -1] - ordered[:, :, -2]


def symbol_distances(a, b):
    """The number of differing symbols of every row of ``a`` to every row of ``b``."""
    return (a[:, None, :] != b[None, :, :]).sum(axis=2)


def bit_distances(a, b):
    """The number of differing bits of every row of ``a`` to every row of ``b``."""
    return np.unpackbits(a[:, None, :] ^ b[None, :, :], axis=2).sum(axis=2)


def order_agreement(x, y):
    """The share of ordered pairs of dimensions in which x and y have the same first maximum."""
    pairs = [(i, j) for i in range(len(x)) for j in range(len(x)) if i != j]
    return np.mean([(x[j] > x[i]) == (y[j] > y[i]) for i, j in pairs])
