"""FlatIndex keeps the contract of all indexes."""

from rankhash import CodeLayout, FlatIndex

from .contract import IndexContract


class TestFlatIndex(IndexContract):
    make = FlatIndex


def test_repr_says_what_it_holds():
    assert repr(FlatIndex(CodeLayout(32, 4))) == "FlatIndex(0 codes of 32 symbols of arity 4)"
