"""Labels of the pairs of a mini-batch, one byte per pair.

======  ==============  ========  ==============
label   name            similar   locally close
======  ==============  ========  ==============
0       DISSIMILAR      no        no
1       SIMILAR         yes       yes
2       CLOSE_ONLY      no        yes
3       SIMILAR_ONLY    yes       no
4       IGNORED         unknown, or a point with itself
======  ==============  ========  ==============

A source without local closeness gives the labels 0, 1 and 4 only.
"""

from __future__ import annotations

import numpy as np

from ..._types import I8, U8

DISSIMILAR, SIMILAR, CLOSE_ONLY, SIMILAR_ONLY, IGNORED = range(5)

SIMILARITY: U8 = np.array([DISSIMILAR, SIMILAR, DISSIMILAR, SIMILAR, IGNORED], np.uint8)
"""Similarity alone, by label: DISSIMILAR, SIMILAR or IGNORED."""

CLOSENESS: U8 = np.array([DISSIMILAR, SIMILAR, SIMILAR, DISSIMILAR, IGNORED], np.uint8)
"""Local closeness alone, by label: DISSIMILAR for distant, SIMILAR for close, or IGNORED."""


def pair_labels(similar: I8) -> U8:
    """Labels of a mini-batch from those of a source, whose -1 becomes IGNORED."""
    labels: U8 = np.minimum(similar.view(np.uint8), np.uint8(IGNORED))
    return labels


def joint_labels(similar: I8, close: I8) -> U8:
    """Labels of a mini-batch from those of similarity and of local closeness."""
    labels = pair_labels(similar)
    labels[(similar == 0) & (close == 1)] = CLOSE_ONLY
    labels[(similar == 1) & (close == 0)] = SIMILAR_ONLY
    return labels
