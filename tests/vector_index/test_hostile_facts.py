"""Facts of a file that no search could use are refused when it is loaded."""

from __future__ import annotations

import pytest

from rankhash import FileFormatError, VectorIndex
from rankhash.vector_index._options import Options

from .test_files import head, put, replace

WRONG_OPTIONS = {
    "metric": "manhattan",
    "recall": "high",
    "bytes_per_vector": "many",
    "vectors": "float64",
    "n_cells": -3,
    "n_probes": "all",
    "n_candidates": "all",
    "random_state": -1,
    "verbose": "yes",
}


def test_every_option_has_a_wrong_value():
    assert WRONG_OPTIONS.keys() == Options.__dataclass_fields__.keys()


@pytest.mark.parametrize("name", WRONG_OPTIONS)
def test_options_out_of_range_are_refused(rewritten, name):
    with pytest.raises(FileFormatError, match="changed"):
        VectorIndex.load(rewritten(lambda header, _: header["options"].update({name: WRONG_OPTIONS[name]})))


@pytest.mark.parametrize(
    "change",
    [
        replace("calibration", lambda a: a[:0]),
        put("calibration", (slice(None), 3), 1e300),
        put("calibration", (slice(None), 2), 2**31 - 2),
        put("calibration", (slice(None), 2), 1e18),
        put("calibration", (slice(None), 2), 3),
        put("calibration", (slice(None), 1), -1.0),
        head(n_learned="x"),
        head(n_learned=-5),
        head(learned="no"),
    ],
    ids=["none", "candidates", "exponent", "large exponent", "odd exponent", "effort", "text", "negative", "learned"],
)
def test_a_calibration_out_of_range_is_refused(rewritten, change):
    with pytest.raises(FileFormatError, match="changed"):
        VectorIndex.load(rewritten(change))
