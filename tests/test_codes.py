"""CodeLayout: packing, its documented bit order, binary embeddings, errors."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oracles import bit_distances, hamming, pack
from rankhash.codes import MAX_SYMBOLS, CodeLayout, embedding
from rankhash.errors import InvalidInputError, LayoutMismatchError

ARITIES = range(2, 17)
RAGGED = (1, 2, 3, 7, 8, 9, 63, 64, 65)


def draw_symbols(layout, n, seed=0):
    return np.random.default_rng(seed).integers(0, layout.arity, (n, layout.n_symbols)).astype(np.uint8)


@given(
    n_symbols=st.integers(1, 200),
    arity=st.integers(2, 16),
    n=st.integers(0, 9),
    seed=st.integers(0, 2**32 - 1),
)
@settings(max_examples=200)
def test_unpack_gives_back_what_was_packed(n_symbols, arity, n, seed):
    layout = CodeLayout(n_symbols, arity)
    symbols = draw_symbols(layout, n, seed)
    codes = layout.pack(symbols)
    assert codes.shape == (n, layout.n_bytes)
    assert codes.dtype == np.uint8
    np.testing.assert_array_equal(codes, pack(symbols, arity))
    np.testing.assert_array_equal(layout.unpack(codes), symbols)


@pytest.mark.parametrize("arity", ARITIES)
@pytest.mark.parametrize("n_symbols", [*RAGGED, MAX_SYMBOLS])
def test_packing_holds_for_ragged_sizes(n_symbols, arity):
    layout = CodeLayout(n_symbols, arity)
    symbols = draw_symbols(layout, 3)
    np.testing.assert_array_equal(layout.unpack(layout.pack(symbols)), symbols)


def test_bit_order_is_the_documented_one():
    codes = CodeLayout(5, 4).pack([[0, 1, 2, 3, 1]])
    assert codes.tolist() == [[0b11_10_01_00, 0b01]]
    codes = CodeLayout(3, 5).pack([[4, 3, 2]])
    assert codes.tolist() == [[0b10_011_100, 0b0]]
    codes = CodeLayout(9, 2).pack([[1, 0, 0, 0, 0, 0, 0, 0, 1]])
    assert codes.tolist() == [[0b00000001, 0b1]]
    codes = CodeLayout(2, 16).pack([[0xA, 0x5]])
    assert codes.tolist() == [[0x5A]]


@pytest.mark.parametrize(
    ("n_symbols", "arity", "bits", "n_bytes"),
    [(64, 2, 64, 8), (32, 4, 64, 8), (16, 16, 64, 8), (5, 3, 10, 2), (3, 9, 12, 2), (1, 2, 1, 1)],
)
def test_bits_and_bytes_count_whole_bits_of_a_symbol(n_symbols, arity, bits, n_bytes):
    layout = CodeLayout(n_symbols, arity)
    assert (layout.bits, layout.n_bytes) == (bits, n_bytes)


@pytest.mark.parametrize("dtype", [np.int8, np.uint16, np.int64])
def test_pack_takes_any_integers_in_any_order(dtype):
    layout = CodeLayout(10, 5)
    symbols = draw_symbols(layout, 12)
    np.testing.assert_array_equal(layout.pack(np.asfortranarray(symbols.astype(dtype))), layout.pack(symbols))


@pytest.mark.parametrize("arity", ARITIES)
@pytest.mark.parametrize("n_symbols", [1, 7, 16])
def test_one_hot_keeps_the_distance(n_symbols, arity):
    layout = CodeLayout(n_symbols, arity)
    symbols = draw_symbols(layout, 20)
    bits, scale = layout.one_hot(symbols)
    assert bits.shape == (20, -(-n_symbols * arity // 8))
    np.testing.assert_array_equal(bit_distances(bits, bits), scale * hamming(symbols, symbols))


@pytest.mark.parametrize("arity", [2, 4, 8, 16])
@pytest.mark.parametrize("n_symbols", [1, 7, 16])
def test_simplex_keeps_the_distance_in_fewer_bits(n_symbols, arity):
    layout = CodeLayout(n_symbols, arity)
    symbols = draw_symbols(layout, 20)
    bits, scale = layout.simplex(symbols)
    assert bits.shape == (20, -(-n_symbols * (arity - 1) // 8))
    np.testing.assert_array_equal(bit_distances(bits, bits), scale * hamming(symbols, symbols))


@pytest.mark.parametrize("arity", ARITIES)
@pytest.mark.parametrize("n_symbols", [1, 7, 8, 9, 17, 64])
def test_bits_are_the_rows_of_the_symbols_one_after_another(n_symbols, arity):
    layout = CodeLayout(n_symbols, arity)
    symbols = draw_symbols(layout, 20)
    rows, scale = embedding(arity)
    expected = np.packbits(rows[symbols].reshape(20, -1), axis=1, bitorder="little")
    bits, same = layout.embed(layout.pack(symbols))
    np.testing.assert_array_equal(bits, expected)
    assert (scale, len(rows[0])) == (same, arity - 1 if arity in (2, 4, 8, 16) else arity)


@pytest.mark.parametrize("arity", ARITIES)
@pytest.mark.parametrize("n_symbols", [1, 9, 40])
def test_words_keep_the_distance(n_symbols, arity):
    layout = CodeLayout(n_symbols, arity)
    symbols = draw_symbols(layout, 20)
    words, scale = layout.words(layout.pack(symbols))
    assert words.dtype == np.uint64
    differing = [[sum(int(a ^ b).bit_count() for a, b in zip(x, y, strict=True)) for y in words] for x in words]
    np.testing.assert_array_equal(differing, scale * hamming(symbols, symbols))


def test_no_code_has_no_bits():
    layout = CodeLayout(5, 3)
    none = np.empty((0, layout.n_bytes), np.uint8)
    assert layout.embed(none)[0].shape == (0, 2)
    assert layout.words(none)[0].shape == (0, 1)


def test_simplex_refuses_other_arities():
    with pytest.raises(InvalidInputError, match="power of two, not 6; use one_hot"):
        CodeLayout(4, 6).simplex(np.zeros((1, 4), np.uint8))


@pytest.mark.parametrize(
    ("n_symbols", "arity", "sentence"),
    [
        (0, 2, "n_symbols must be an integer from 1 to 4096, got 0"),
        (4097, 2, "n_symbols must be an integer from 1 to 4096"),
        (8, 1, "arity must be an integer from 2 to 16, got 1"),
        (8, 17, "arity must be an integer from 2 to 16, got 17"),
        (8.0, 2, "n_symbols must be an integer"),
        (True, 2, "n_symbols must be an integer"),
        ("8", 2, "n_symbols must be an integer"),
        (8, None, "arity must be an integer"),
    ],
)
def test_a_layout_refuses_impossible_sizes(n_symbols, arity, sentence):
    with pytest.raises(InvalidInputError, match=sentence):
        CodeLayout(n_symbols, arity)


def test_a_layout_is_equal_to_another_of_the_same_hasher_only():
    assert CodeLayout(8, 4, "a") == CodeLayout(np.int64(8), 4, "a")
    assert CodeLayout(8, 4, "a") != CodeLayout(8, 4, "b")
    with pytest.raises(InvalidInputError, match="fingerprint must be a string"):
        CodeLayout(8, 4, 7)


@pytest.mark.parametrize(
    ("symbols", "sentence"),
    [
        (np.zeros((2, 7), np.uint8), r"must have the shape \(n, 8\), got \(2, 7\)"),
        (np.zeros(8, np.uint8), r"must have the shape \(n, 8\), got \(8,\)"),
        (np.full((1, 8), 5, np.uint8), "between 0 and 4, got 5 to 5"),
        (np.full((1, 8), -1), "between 0 and 4, got -1 to -1"),
        (np.full((1, 8), 256), "between 0 and 4, got 256 to 256"),
        (np.zeros((1, 8)), "must be integers, got float64"),
        (np.zeros((1, 8), bool), "must be integers, got bool"),
    ],
)
def test_pack_refuses_what_are_no_symbols_of_the_layout(symbols, sentence):
    with pytest.raises(LayoutMismatchError, match=sentence):
        CodeLayout(8, 5).pack(symbols)


def test_unpack_refuses_codes_of_another_layout():
    layout = CodeLayout(5, 5)
    good = layout.pack(np.full((3, 5), 4, np.uint8))
    with pytest.raises(LayoutMismatchError, match=r"codes of 5 symbols of arity 5 must have the shape \(n, 2\)"):
        layout.unpack(good[:, :1])
    with pytest.raises(LayoutMismatchError, match="codes must be uint8, got int64"):
        layout.unpack(good.astype(np.int64))
    too_large, padded = good.copy(), good.copy()
    too_large[1] = 0xFF, 0x7F
    padded[2, 1] |= 0x80
    for bad, row in ((too_large, 1), (padded, 2)):
        with pytest.raises(LayoutMismatchError, match=f"row {row} is not a code of 5 symbols of arity 5"):
            layout.unpack(bad)
