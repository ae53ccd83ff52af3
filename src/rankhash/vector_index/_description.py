"""Facts of an index, for people."""

from __future__ import annotations

from typing import Any

from ._engine import Engine


def describe(engine: Engine) -> dict[str, Any]:
    """What an index has chosen and measured."""
    n = max(len(engine.ids), 1)
    facts: dict[str, Any] = {
        "n_features": engine.n_features,
        "vectors": engine.options.vectors,
        "exact": engine.cells is None,
        "bytes_per_vector_codes_and_ids": round(engine.index_bytes / n, 1),
        "bytes_per_vector_rows": round(engine.rows.nbytes / n, 1) if engine.keeps_rows else 0.0,
    }
    if engine.cells is not None:
        setting = engine.setting(10, engine.options.recall)
        facts |= {
            "n_cells": engine.cells.coder.n_cells,
            "bytes_per_vector": engine.cells.coder.n_bytes,
            "n_candidates": setting.n_candidates,
            "effort": round(setting.effort, 2),
            "exponent": setting.exponent,
            "recall_measured": round(setting.recall, 4),
            "microseconds_per_query": None if engine.microseconds is None else round(engine.microseconds, 1),
        }
    return facts
