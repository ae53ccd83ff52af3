"""Codes as 64-bit words."""

from __future__ import annotations

import numpy as np
import pytest

from rankhash import CodeLayout, LayoutMismatchError
from rankhash.engines._words import from_words, n_words, to_words

LAYOUTS = [CodeLayout(32, 4), CodeLayout(33, 4), CodeLayout(1, 2), CodeLayout(16, 16), CodeLayout(13, 7)]


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
@pytest.mark.parametrize("n", [0, 1, 65])
def test_words_and_codes_are_the_same_bits(layout, n, rng):
    codes = layout.pack(rng.integers(0, layout.arity, (n, layout.n_symbols)))
    words = to_words(codes)
    assert words.shape == (n, n_words(layout))
    assert words.dtype == np.uint64
    np.testing.assert_array_equal(from_words(words, layout), codes)
    for t in range(layout.bits):
        bit = (words[:, t // 64] >> np.uint64(t % 64)) & np.uint64(1)
        np.testing.assert_array_equal(bit, codes[:, t // 8] >> (t % 8) & 1)


def test_words_of_another_layout_are_refused():
    layout = CodeLayout(4, 4)
    with pytest.raises(LayoutMismatchError, match="1 words"):
        from_words(np.zeros((2, 2), np.uint64), layout)
    with pytest.raises(LayoutMismatchError, match="beyond"):
        from_words(np.array([[256]], np.uint64), layout)
