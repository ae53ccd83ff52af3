"""Parameters that all hashers share: the size of a code."""

import pytest

from rankhash import LSH, SRSH, RankQuantizer
from rankhash.errors import InvalidInputError
from rankhash.hashers.parameters import symbols_of


@pytest.mark.parametrize(
    ("size", "arity", "n_symbols"),
    [((5, None, None), 7, 5), ((None, 12, None), 8, 4), ((None, None, 3), 16, 6), ((None, None, None), 4, 32)],
)
def test_sizes_are_given_in_symbols_bits_or_bytes(size, arity, n_symbols):
    assert symbols_of(*size, arity) == n_symbols


@pytest.mark.parametrize(
    ("size", "sentence"),
    [
        ((None, 64, None), r"symbols of arity 8 take 3 bits each, .* has 64 bits; 63 or 66 bits are possible"),
        ((None, 2, None), "3 or 3 bits are possible"),
        ((None, 0, None), "n_bits must be an integer from 1 to 16384, got 0"),
        ((None, None, 4097), "n_bytes must be an integer from 1 to 4096, got 4097"),
        ((None, 8, 1), "n_bits and n_bytes are both given"),
        ((1.5, None, None), "n_symbols must be an integer from 1 to 4096"),
    ],
)
def test_impossible_sizes_get_one_sentence(size, sentence):
    with pytest.raises(InvalidInputError, match=sentence):
        symbols_of(*size, 8)


def test_every_default_code_has_64_bits():
    assert {hasher._layout(None).bits for hasher in (LSH(), SRSH(), RankQuantizer())} == {64}
