"""A folder with files of vectors, and a collection in it."""

from __future__ import annotations

import json

import numpy as np
import pytest

from .running import fine


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with vectors, labels, queries and items."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(120, 4)).astype(np.float32)
    np.save("vectors.npy", vectors)
    np.save("queries.npy", vectors[:3])
    np.save("labels.npy", rng.integers(0, 3, 120))
    with open("items.jsonl", "w", encoding="utf-8") as file:
        for i in range(20):
            fields = {"price": i * 5, "colour": ["red", "green", "blue"][i % 3]}
            item = {"id": f"item-{i}", "vector": rng.normal(size=4).tolist(), "metadata": fields}
            file.write(json.dumps(item) + "\n")
    return tmp_path


@pytest.fixture
def collection(folder):
    fine("fit", "vectors.npy", "--out", "h.safetensors", "--method", "lsh", "--n-symbols", 16)
    fine("create", "c.rankhash", "--hasher", "h.safetensors", "--store-vectors", "float32")
    fine("add", "c.rankhash", "items.jsonl")
    return "c.rankhash"
